"""The layers: which module may import which, and where third-party packages may be used."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: From the bottom to the top. A module may import from its own layer and from those before it.
LAYERS = (
    (
        "ssdgym.deprecation",
        "ssdgym.enums",
        "ssdgym.errors",
        "ssdgym.files",
        "ssdgym.registration",
        "ssdgym.requests",
        "ssdgym.types",
    ),
    ("ssdgym.config", "ssdgym.configs"),
    ("ssdgym.workloads",),
    ("ssdgym.engine",),
    ("ssdgym.policy",),
    ("ssdgym.baselines",),
    ("ssdgym.simulator",),
    ("ssdgym.envs",),
    ("ssdgym.agents",),
    ("ssdgym.experiments", "ssdgym.bench"),
    ("ssdgym.cli",),
)
FOLDERS = {"ssdgym": "ssdgym", **{name: f"ssdgym.{name}" for name in ("agents", "baselines", "configs")}}

#: Heavy packages, and the only modules that may import them.
CONFINED = {
    # Compiling is the business of the kernel module alone; other engine modules may name numba's types.
    "numba": ("ssdgym.engine.core.kernel", "ssdgym.engine.core.handle"),
    "torch": ("ssdgym.agents",),
    "stable_baselines3": ("ssdgym.agents", "ssdgym.envs.sb3"),
    "sb3_contrib": ("ssdgym.agents", "ssdgym.envs.sb3"),
}


def _sources() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def _module_name(path: Path) -> str:
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    return ".".join([FOLDERS[folder], *(part for part in rest if part != "__init__")])


def _imports(path: Path) -> Iterator[str]:
    """Everything `path` imports, wherever in the file, by its full dotted name."""
    package = _module_name(path) if path.name == "__init__.py" else _module_name(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _layer(name: str) -> int | None:
    """The layer of a module or of a name in it; `None` for the package itself and its version."""
    for height, prefixes in enumerate(LAYERS):
        if any(_within(name, prefix) for prefix in prefixes):
            return height
    return None


def _within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


@pytest.fixture(params=_sources(), ids=_module_name)
def source(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_every_module__has_a_layer(source: Path) -> None:
    if _module_name(source) not in ("ssdgym", "ssdgym.__main__"):
        assert _layer(_module_name(source)) is not None, "give the new module a place in LAYERS"


def test_imports__point_down(source: Path) -> None:
    own = _layer(_module_name(source))
    if own is None:
        return
    for name in _imports(source):
        below = _layer(name)
        assert below is None or below <= own, f"{name} lies above {_module_name(source)}"


def test_imports__never_use_the_bare_folder_names(source: Path) -> None:
    bare = {"agents", "baselines", "configs", "tests"}
    assert not bare & {name.partition(".")[0] for name in _imports(source)}


def test_imports__keep_heavy_packages_where_they_belong(source: Path) -> None:
    for name in _imports(source):
        if name in ("numba.types", "numba.typeof") and _within(_module_name(source), "ssdgym.engine"):
            continue
        allowed = CONFINED.get(name.partition(".")[0])
        assert allowed is None or any(_within(_module_name(source), prefix) for prefix in allowed), (
            f"{name} may be imported only in {allowed}"
        )


#: Pairs of modules that still import each other; none may be added.
CIRCLES_LEFT = {
    ("ssdgym.policy.registry", "ssdgym.policy.policy"),
}


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
    for one, other in CIRCLES_LEFT:
        if one in graph:
            graph[one].discard(other)
    TopologicalSorter(graph).prepare()  # names the modules of a circle


def test_setup_cfg__lists_every_package() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    assert listed == {_module_name(path) for path in _sources() if path.name == "__init__.py"}
