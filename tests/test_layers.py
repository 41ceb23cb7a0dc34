"""The layers: which module may import which, what it may assign, how long it may be."""

from __future__ import annotations

import ast
import configparser
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ssdgym.engine
from ssdgym.engine.block.state import BlockState
from ssdgym.engine.page.state import PageState
from ssdgym.engine.subpage.state import SubpageState
from tests.ownership import Assignment, assignments

ROOT = Path(__file__).parents[1]

#: From the bottom to the top. A module may import from its own layer and from those before it.
LAYERS = (
    (
        "ssdgym.enums",
        "ssdgym.errors",
        "ssdgym.files",
        "ssdgym.garbage",
        "ssdgym.own_code",
        "ssdgym.registration",
        "ssdgym.requests",
        "ssdgym.threads",
        "ssdgym.types",
        "ssdgym.unread",
    ),
    ("ssdgym.config", "ssdgym.configs"),
    ("ssdgym.engine",),
    ("ssdgym.workloads",),
    ("ssdgym.policy",),
    ("ssdgym.simulator",),
    ("ssdgym.envs",),
    ("ssdgym.baselines",),
    ("ssdgym.agents",),
    ("ssdgym.experiments",),
    ("ssdgym.cli",),
    ("ssdgym.bench",),
)
FOLDERS = {"ssdgym": "ssdgym", **{name: f"ssdgym.{name}" for name in ("agents", "baselines", "configs")}}

_COMPILING = ("kernel", "pointer", "handle")
#: Heavy packages, and the only modules that may import them.
CONFINED = {
    # Compiling is the business of these modules alone; other engine modules may name numba's types.
    "numba": ("ssdgym.engine.compiler", *(f"ssdgym.engine.core.{name}" for name in _COMPILING)),
    "torch": ("ssdgym.agents",),
    "stable_baselines3": ("ssdgym.agents", "ssdgym.envs.sb3"),
    "sb3_contrib": ("ssdgym.agents", "ssdgym.envs.sb3"),
}


@cache
def _sources() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def _module_name(path: Path) -> str:
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    return ".".join([FOLDERS[folder], *(part for part in rest if part != "__init__")])


@cache
def _imports(path: Path) -> list[str]:
    """Everything `path` imports, wherever in the file, by its full dotted name."""
    found: list[str] = []
    package = _module_name(path) if path.name == "__init__.py" else _module_name(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found += (f"{module}.{alias.name}" for alias in node.names)
    return found


def _layer(name: str) -> int | None:
    """The layer of a module or of a name in it; `None` for the package itself and its version."""
    for height, prefixes in enumerate(LAYERS):
        if any(_within(name, prefix) for prefix in prefixes):
            return height
    return None


def _within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def test_every_module__has_a_layer() -> None:
    names = {_module_name(path) for path in _sources()} - {"ssdgym", "ssdgym.__main__"}
    assert {name for name in names if _layer(name) is None} == set(), "give new modules a place in LAYERS"


def _imported() -> Iterator[tuple[str, str]]:
    """Every module with each name that it imports."""
    return ((_module_name(path), name) for path in _sources() for name in _imports(path))


def test_imports__point_down() -> None:
    heights = [(module, name, _layer(module), _layer(name)) for module, name in _imported()]
    upward = [
        (module, name) for module, name, own, below in heights if None not in (own, below) and below > own
    ]
    assert upward == []


def test_imports__never_use_the_bare_folder_names() -> None:
    bare = {"agents", "baselines", "configs", "tests"}
    assert [pair for pair in _imported() if pair[1].partition(".")[0] in bare] == []


def test_imports__keep_heavy_packages_where_they_belong() -> None:
    for module, name in _imported():
        if name in ("numba.types", "numba.typeof") and _within(module, "ssdgym.engine"):
            continue
        allowed = CONFINED.get(name.partition(".")[0])
        assert allowed is None or any(_within(module, prefix) for prefix in allowed), (
            f"{module} imports {name}, which only {allowed} may"
        )


def _module_of(name: str, modules: set[str]) -> str | None:
    """The module that an imported name is, or is in."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def test_imports__have_no_circles_not_even_in_functions() -> None:
    modules = {_module_name(path) for path in _sources()}
    graph = {
        module: {_module_of(name, modules) for name in _imports(path)} - {module, None}
        for path in _sources()
        for module in [_module_name(path)]
    }
    TopologicalSorter(graph).prepare()  # names the modules of a circle


ENGINE = ROOT / "ssdgym" / "engine"
#: The rooms of the engine, from the top to the bottom, with what they own: as its map says.
ROOMS = {
    room: re.findall(r"`([\w.*]+)`", text.partition("Owns")[2])
    for room, text in re.findall(r"^\* `(\w+)`: (.*?)(?=^\* |^$)", ssdgym.engine.__doc__ or "", re.M | re.S)
    if (ENGINE / room).is_dir() or (ENGINE / f"{room}.py").is_file()
}
#: FTL families, whose arrays of the same name are the business of each.
FAMILIES = {
    "block": frozenset(BlockState._fields),
    "page": frozenset(PageState._fields),
    "subpage": frozenset(SubpageState._fields),
}
ARRAYS = frozenset().union(*FAMILIES.values())
#: Arrays that no room owns: counted and noted in all of them, or written by the simulator or by rules.
COMMON = {"control", "counters", "params", "page_memory", "block_memory", "stream_memory", "memory", "table"}
#: Assignments by others than the owner: where, of what, and why.
EXCEPTIONS = {
    ("blocks/index.py", "plane.round_leader"): "makes empty devices",
    ("entries.py", "logical.ppn"): "likewise",
    ("loop.py", "in_flight.*"): "promises a version that a family programs",
    ("page/family.py", "*"): "likewise",
    ("subpage/family.py", "*"): "likewise",
    ("block/family.py", "*"): "likewise",
    ("block/bundles.py", "block.*"): "counts pages that are programmed in any order",
    ("block/bundles.py", "plane.*"): "counts them, and lists bundles in place of blocks",
    ("block/host.py", "plane.valid"): "counts valid pages",
    ("time/transactions.py", "region.write_*"): "appends to the queue that it is given",
}


def _room(module: str) -> str:
    return module.removeprefix("ssdgym.engine.").partition(".")[0]


def _engine_sources() -> dict[str, str]:
    files = sorted(ENGINE.rglob("*.py"))
    return {path.relative_to(ENGINE).as_posix(): path.read_text(encoding="utf-8") for path in files}


@cache
def _assigned() -> set[Assignment]:
    return assignments(_engine_sources(), ARRAYS)


def _foreign(found: set[Assignment]) -> list[Assignment]:
    """Return the assignments by others than the owners: of the field, if one is named, else of the array."""
    foreign = []
    for one in sorted(found):
        place = f"{one.array}.{one.field}"
        fields = [room for room, own in ROOMS.items() if any("." in p and fnmatch(place, p) for p in own)]
        allowed = any(one.file == file and fnmatch(place, pattern) for file, pattern in EXCEPTIONS)
        owners = fields or [room for room, own in ROOMS.items() if one.array in own]
        if one.array not in COMMON and not allowed and one.room not in owners:
            foreign.append(one)
    return foreign


def test_engine_map__names_every_room() -> None:
    assert set(ROOMS) == {_room(_module_name(path)) for path in ENGINE.rglob("*.py")} - {"ssdgym"}


@pytest.mark.parametrize("family", FAMILIES)
def test_engine_map__gives_every_array_one_owner(family: str) -> None:
    others = FAMILIES.keys() - {family}
    owned = Counter(
        place for room, places in ROOMS.items() if room not in others for place in places if "." not in place
    )
    assert owned & Counter(FAMILIES[family]) == Counter(FAMILIES[family] - COMMON)


def test_engine_imports__point_down_its_map() -> None:
    rooms = list(ROOMS)
    for module, name in _imported():
        if module != "ssdgym.engine" and _within(module, "ssdgym.engine") and _within(name, "ssdgym.engine"):
            assert rooms.index(_room(name)) >= rooms.index(_room(module)), f"{name} lies above {module}"


def test_engine_arrays__are_assigned_in_the_room_that_owns_them() -> None:
    assert _foreign(_assigned()) == []


def test_exceptions__are_still_needed() -> None:
    for file, pattern in EXCEPTIONS:
        assert any(one.file == file and fnmatch(f"{one.array}.{one.field}", pattern) for one in _assigned())


FOREIGN = """
from ssdgym.engine.core.bits import queue_kernels

_push, _pop = queue_kernels("head", "tail", "next_age")

def _by_parameter(n, x):
    x.op = n

def _returned(dev, b):
    return dev.die[b]

def change(dev, b):
    {}
"""


@pytest.mark.parametrize(
    ("lines", "array", "field"),
    [
        ("dev.block[b].written = 1", "block", "written"),
        ("dev.open_sub_block[b] = 1", "open_sub_block", ""),
        ("record = dev.block[b]; record.invalid += 1", "block", "invalid"),
        ("plane = dev.plane[b]; plane.valid, x = 1, 2", "plane", "valid"),
        ("a, b = dev.plane[b], dev.physical[b]; b.lpn = 1", "physical", "lpn"),
        ("_push(dev.block, dev.bucket[b], 1)", "block", "next_age"),
        ("_push(dev.block, dev.bucket[b], 1)", "bucket", "tail"),
        ("_by_parameter(1, dev.slot[b])", "slot", "op"),
        ("_returned(dev, b).stage = 1", "die", "stage"),
        ("for record in dev.sub_block: record.erases += 1", "sub_block", "erases"),
    ],
)
def test_engine_arrays__when_a_foreign_room_assigns_one__it_is_found(
    lines: str, array: str, field: str
) -> None:
    sources = {
        "core/bits.py": (ENGINE / "core" / "bits.py").read_text(encoding="utf-8"),
        "erase/foreign.py": FOREIGN.format("\n    ".join(lines.split("; "))),
    }
    found = assignments(sources, ARRAYS)
    assert Assignment("erase/foreign.py", array, field) in _foreign(found)


def test_files__are_about_one_thing() -> None:
    lengths = {_module_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in _sources()}
    assert {module: lines for module, lines in lengths.items() if lines > 450} == {}


#: The most lines of Python that each package may have. A change lowers numbers, or moves lines to another
#: package; a feature brings the removal that pays for it. The sum only falls.
MOST_LINES = {
    "ssdgym.engine": 12_985,
    "ssdgym.simulator": 3_040,
    "ssdgym.policy": 1_916,
    "ssdgym.config": 1_785,
    "ssdgym.baselines": 4_419,
    "ssdgym.agents": 4_682,
    "ssdgym.experiments": 8_070,
    "ssdgym.workloads": 8_312,
    "ssdgym.envs": 6_075,
    "ssdgym.cli": 1_850,
    "ssdgym": 1_011,  # the modules beside the packages
}


def test_packages__do_not_grow() -> None:
    lines: Counter[str] = Counter()
    for path in _sources():
        packages = [name for name in MOST_LINES if _within(_module_name(path), name)]
        lines[max(packages, key=len)] += len(path.read_text(encoding="utf-8").splitlines())
    grown = {name: count for name, count in lines.items() if count > MOST_LINES[name]}
    assert grown == {}, "remove as many lines as a feature brings, or lower another package's number by them"


def test_folders__but_those_of_rules__can_be_taken_in_at_a_glance() -> None:
    counted = Counter(path.parent for path in _sources() if ROOT / "baselines" not in path.parents)
    assert {folder: count for folder, count in counted.items() if count > 16} == {}, "divide these folders"


def test_setup_cfg__lists_every_package() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    assert listed == {_module_name(path) for path in _sources() if path.name == "__init__.py"}
