"""The compile cache: what names it, who shares it, and what is kept out of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba import int64
from numba.core import config
from numba.core.registry import cpu_target

from ssdgym.baselines.orders import both
from ssdgym.engine import entries
from ssdgym.engine.compiler import cache as door
from ssdgym.engine.core.kernel import entry
from ssdgym.errors import SsdgymError
from ssdgym.policy import blocks_of, eligible, is_closed


@pytest.fixture
def own_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the engine's sources to change."""
    folder = tmp_path / "engine"
    shutil.copytree(door.ENGINE_FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(door, "ENGINE_FOLDER", folder)
    door.engine_hash.cache_clear()
    yield folder
    door.engine_hash.cache_clear()


def test_compile_cache__any_engine_source_changes__another_folder(own_engine: Path) -> None:
    """numba itself does not notice that an imported kernel has changed."""
    before = door.compile_cache_folder()
    names = {before}
    sources = sorted(own_engine.rglob("*.py"))
    for source in sources:
        source.write_text(source.read_text() + "\n# changed\n")
        door.engine_hash.cache_clear()
        names.add(door.compile_cache_folder())
    assert len(names) == 1 + len(sources) > 10


def test_compile_cache__same_sources__same_folder(own_engine: Path) -> None:
    before = door.compile_cache_folder()
    for source in own_engine.rglob("*.py"):
        os.utime(source, (1, 1))
    door.engine_hash.cache_clear()
    assert door.compile_cache_folder() == before


def test_compile_cache__bounds_checked_build__folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "BOUNDSCHECK", None)
    plain = door.compile_cache_folder()
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert door.compile_cache_folder() != plain


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"SSDGYM_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/ssdgym"),
        ({"HOME": "/c"}, "/c/.cache/ssdgym"),
    ],
    ids=["chosen", "of the desktop", "of the user"],
)
def test_cache_folder(environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSDGYM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert door.cache_folder() == Path(folder)


def doubled(x):
    return 2 * x


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path))
    return tmp_path


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def test_entry__compiled_before__read_from_the_cache(own_cache: Path) -> None:
    assert entry(doubled)(3) == 6
    again = entry(doubled)
    assert again(3) == 6
    assert hits(again) == 1
    assert len(kept(own_cache)) == 1


def test_entry__other_types__a_file_of_their_own(own_cache: Path) -> None:
    compiled = entry(doubled)
    assert (compiled(3), compiled(1.5)) == (6, 3.0)
    again = entry(doubled)
    assert (again(1.5), again(3)) == (3.0, 6)
    assert hits(again) == len(kept(own_cache)) == 2


@pytest.mark.parametrize("keep", [0, 20, 32, 300], ids=lambda size: f"{size} bytes left")
def test_entry__damaged_file__compiled_again(keep: int, own_cache: Path) -> None:
    assert entry(doubled)(3) == 6
    (file,) = kept(own_cache)
    whole = file.read_bytes()
    for damaged in (whole[:keep], whole[:keep] + bytes([whole[keep] ^ 1]) + whole[keep + 1 :]):
        file.write_bytes(damaged)
        again = entry(doubled)
        assert again(3) == 6
        assert hits(again) == 0
        assert len(file.read_bytes()) > 300


def test_entry__the_same_sources_in_another_folder__share_the_code(own_cache: Path, tmp_path: Path) -> None:
    """Two checkouts of one version compile once."""
    outcomes = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "twice.py").write_text("def twice(x):\n    return x + x\n")
        script = (
            "from ssdgym.engine.core.kernel import entry; from twice import twice; compiled = entry(twice); "
            "print(compiled(3), sum(compiled.stats.cache_hits.values()))"
        )
        done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True)
        outcomes.append(done.stdout.split())
    assert outcomes == [["6", "0"], ["6", "1"]], done.stderr


@pytest.mark.parametrize("folder", ["a", "b"], ids=["beside it", "in another folder of the package"])
def test_entry__a_source_of_its_package_changes__compiled_again(
    folder: str, own_cache: Path, tmp_path: Path
) -> None:
    for name in ("", "a", "b"):
        (tmp_path / "own" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name / "__init__.py").touch()
    factors, times = tmp_path / "own" / folder / "factor.py", tmp_path / "own" / "a" / "times.py"
    times.write_text(f"from own.{folder}.factor import FACTOR\ndef times(x):\n    return FACTOR * x\n")
    script = (
        "from ssdgym.engine.core.kernel import entry; from own.a.times import times; print(entry(times)(3))"
    )
    answers = []
    for factor in (2, 12):  # of another length: Python compares the size and the second of a source
        factors.write_text(f"FACTOR = {factor}\n")
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
        answers.append(done.stdout.strip())
    assert answers == ["6", "36"], done.stderr


def test_entry__full_disk__warns_and_works(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise SsdgymError(f"{path}: cannot be written (No space left on device); free some space")

    monkeypatch.setattr(door, "write_atomically", refuse)
    with pytest.warns(RuntimeWarning, match="cannot be kept: .* free some space"):
        assert entry(doubled)(3) == 6


def test_key__of_the_engine__is_the_same_where_a_signature_says_what_is_returned() -> None:
    """A loop that is called, and passed by address, is compiled once."""
    said, found = int64(int64), (int64,)
    codegen = cpu_target.target_context.codegen()
    key = entries._count_lost._cache._key
    assert key(said, codegen) == key(found, codegen)
    of_a_rule = entry(doubled)._cache._key
    assert of_a_rule(said, codegen) != of_a_rule(found, codegen)


def test_key__of_a_rule_around_kernels__is_that_of_equal_ones_of_another_process() -> None:
    """Kernels made anew have other numbers, as those of another process."""

    def key(*kernels: Any) -> Any:
        rule = entry(both(both(*kernels), blocks_of).py_func)
        return rule._cache._key((int64, int64), cpu_target.target_context.codegen())

    assert key(is_closed, eligible) == key(is_closed, eligible) != key(eligible, is_closed)


def test_progress__says_that_the_engine_compiles_and_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(door, "say", said.append)
    monkeypatch.setattr(door, "_started", {})
    monkeypatch.setattr(door, "_LONG", 0.0)
    for entry_point in ("_loop", "step"):
        door.begin(entry_point)
        door.end(entry_point)
    assert said[0].startswith("ssdgym compiles its engine, once per machine")
    assert said[1:] == ["compiled loop in 0 s", "compiled step in 0 s"]


FIRST_RUN = (
    "from ssdgym.simulator.build import make_state, Recording; from tests.engine.devices import device; "
    "make_state([device()], [0], Recording())"
)


def test_entry__of_the_engine__says_so_when_it_is_compiled_and_never_again(own_cache: Path) -> None:
    def first_run() -> str:
        root = Path(__file__).parents[2]
        done = subprocess.run([sys.executable, "-c", FIRST_RUN], cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "compiles its engine" in first_run()
    assert first_run() == ""


CHECKED_RUN = """
import numpy as np
import gymnasium as gym
import ssdgym.envs
from numba import int64
from numba.core import config
from numba.core.registry import cpu_target
from ssdgym.engine.entries import advance
from ssdgym.simulator import Simulator
from tests.engine.devices import POLICIES, device, full_device, mixed_requests

assert config.BOUNDSCHECK
for timing in ("none", "event"):
    for allocation in ("static", "dynamic"):
        ftl = {"timing": timing, "allocation": allocation}
        for policy in POLICIES:
            sim = Simulator(full_device(ftl=ftl), policy=policy)
            sim.run(mixed_requests(1500, sim.logical_pages))
            assert sim.metrics()["lost_pages"] == 0
        for placement in ("hot_to_victims", "hotness_groups"):
            for rule, unit, isolation in (
                ("gsm", "sub_block_run", "software"),
                ("pb", "sub_block_set", "hardware"),
            ):
                geometry = {"sub_blocks_per_block": 4, "pages_per_block": 16, "layers_per_block": 8}
                hotness = {"counters": 64, "thresholds": [2, 4, 9]}
                described = full_device(
                    geometry,
                    {**ftl, "placement": placement, "hotness": hotness},
                    erase_unit=unit,
                    isolation=isolation,
                )
                sim = Simulator(described, policy=rule)
                sim.run(mixed_requests(1500, sim.logical_pages))
                metrics = sim.metrics()
                assert metrics["lost_pages"] == 0
                assert metrics["hot_pages_written"] > 0 and metrics["erases"] > 0
        for candidates in (9, "all"):
            geometry = {"sub_blocks_per_block": 4, "planes_per_die": 2}
            env = gym.make(
                "ssdgym/EraseVictim-v0",
                device=device(geometry, ftl, erase_unit="sub_block_run"),
                horizon=300,
                candidates=candidates,
            )
            env.reset(seed=0)
            over = False
            while not over:
                over = env.step(int(np.flatnonzero(env.unwrapped.action_masks())[-1]))[3]
print("no index out of bounds")
"""


@pytest.mark.slow
def test_bounds_checked_build__runs_and_keeps_its_own_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "SSDGYM_CACHE_DIR": str(tmp_path)}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", CHECKED_RUN],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "no index out of bounds\n", done.stderr
    folders = [folder.name for folder in (tmp_path / "numba").iterdir()]
    assert folders == [door.engine_hash() + "-boundscheck"]
