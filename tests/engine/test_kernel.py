"""The door to numba: options, caches, and what happens when numba changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core import config
from numba.core.cpu import CPUTargetOptions

from ssdgym.engine.core import kernel as door
from ssdgym.engine.page.family import PAGE


def three() -> int:
    return 3


def test_kernel__compiled_without_reference_counting() -> None:
    """Passing a device between functions can cost thirty times the work otherwise."""
    assert hasattr(CPUTargetOptions, "_nrt"), f"numba {numba.__version__} has dropped the option _nrt"
    assert all(loop.targetoptions["_nrt"] is False for loop in PAGE.loops)
    assert door.kernel(three)() == 3


def test_kernel__a_numba_without_that_option__warns_and_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "CPUTargetOptions", object)
    with pytest.warns(RuntimeWarning, match="no longer knows the option _nrt"):
        compiled = door.kernel(three)
    assert "_nrt" not in compiled.targetoptions
    assert compiled() == 3


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


def test_entry__leaves_the_cache_settings_of_others_alone() -> None:
    before = config.CACHE_DIR
    door.entry(three)
    assert before == config.CACHE_DIR


def test_entry__typed_at_a_prompt__works_without_a_cache() -> None:
    namespace: dict[str, object] = {}
    exec("def four():\n    return 4\n", namespace)
    assert door.entry(namespace["four"])() == 4


def twice(x):
    return x + x


def test_shared__plain_python_for_python_and_compiled_for_kernels() -> None:
    helper = door.shared(twice)
    assert helper is twice

    @door.kernel
    def fourfold(x):
        return helper(helper(x))

    assert fourfold(3) == 12
    assert helper("ab") == "abab"


CHECKED_RUN = """
import numpy as np
import gymnasium as gym
import ssdgym.envs
from numba.core import config
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
                    erase_disturbs=True,
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
