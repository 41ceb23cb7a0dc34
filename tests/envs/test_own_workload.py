"""A workload of one's own in an environment: a trace on a small device, and requests made in Python."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import ssdgym  # noqa: F401
from ssdgym.errors import SsdgymError
from ssdgym.requests import Requests
from ssdgym.workloads import page_writes
from tests.engine.devices import full_device
from tests.envs.cases import always, play

ENV_ID = "ssdgym/EraseVictim-v0"
SMALL = full_device()
PAGE = 4096


def moving(seed: int, logical_pages: int) -> Iterator[Requests]:
    """Writes to a hot tenth of the pages, which moves on; it goes on for ever."""
    rng = np.random.default_rng(seed)
    hot = max(logical_pages // 10, 1)
    while True:
        first = int(rng.integers(logical_pages))
        yield page_writes((first + rng.integers(0, hot, 100)) % logical_pages)


@pytest.fixture
def trace(tmp_path: Path, own_cache: Path) -> Path:
    """A trace of 600 writes to 150 pages."""
    path = tmp_path / "mine.csv"
    pages = np.random.default_rng(1).integers(0, 150, 600)
    path.write_text("".join(f"{1000 + 10 * n},h,0,Write,{p * PAGE},{PAGE},1\n" for n, p in enumerate(pages)))
    return path


def made(**changes: Any) -> gym.Env:
    return gym.make(ENV_ID, **{"device": SMALL, "candidates": 6, "horizon": 200, **changes})


def episode(env: gym.Env, seed: int) -> tuple[list[float], dict[str, Any]]:
    """The rewards of an episode that always takes candidate 0, and its metrics."""
    played = play(env, seed, always(0))
    return played.rewards.tolist(), played.metrics


def test_trace__on_a_device_of_its_size__two_seeds_differ_and_the_same_seed_does_not(trace: Path) -> None:
    env = made(workload=str(trace), size_to_trace=True)
    assert env.unwrapped.episodes.devices[0].logical_pages == len(np.unique(pages_of(trace)))
    first, metrics = episode(env, 3)
    assert metrics["host_pages_written"] == 200
    assert episode(env, 4)[0] != first
    assert episode(made(workload=str(trace), size_to_trace=True), 3)[0] == first


def pages_of(trace: Path) -> list[str]:
    return [line.split(",")[4] for line in trace.read_text().splitlines()]


def test_trace__start_first__every_seed_plays_the_same_requests(trace: Path) -> None:
    env = made(workload={"kind": "trace", "path": str(trace), "start": "first"}, proposers=("greedy",))
    erases = [episode(env, seed)[1]["erases"] for seed in (3, 4)]
    assert erases[0] == erases[1]


def test_trace__shorter_than_the_horizon__wraps_or_truncates(trace: Path) -> None:
    workload = {"kind": "trace", "path": str(trace), "window": [0.7, 1.0], "start": "first"}
    assert episode(made(workload=workload), 1)[1]["host_pages_written"] == 200
    ended = made(workload=workload, at_end="truncate")
    for seed in (1, 2):
        assert episode(ended, seed)[1]["host_pages_written"] == 180


@pytest.mark.parametrize(
    "workload", [moving, page_writes(range(50)), lambda seed, pages: page_writes([1, 2])]
)
def test_python__the_seed_repeats_an_episode_and_no_error_ends_it(workload: Any) -> None:
    env = made(workload=workload)
    first, metrics = episode(env, 7)
    assert metrics["host_pages_written"] == 200
    assert episode(env, 7)[0] == first
    assert episode(made(workload=workload), 7)[0] == first


def test_python__two_seeds_differ() -> None:
    env = made(workload=moving)
    assert episode(env, 7)[0] != episode(env, 8)[0]


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync", "async"])
@pytest.mark.parametrize("source", ["trace", "array", "function"])
def test_vector__every_mode_plays_what_the_single_environment_does(
    mode: str, source: str, trace: Path
) -> None:
    workload = {"trace": str(trace), "array": page_writes(range(0, 100, 3)), "function": moving}[source]
    arguments: dict[str, Any] = {"device": SMALL, "candidates": 6, "horizon": 60, "workload": workload}
    envs = gym.make_vec(ENV_ID, num_envs=2, vectorization_mode=mode, **arguments)
    singles = [gym.make(ENV_ID, **arguments) for _ in range(2)]
    seen, _ = envs.reset(seed=[5, 6])
    expected = [env.reset(seed=seed)[0] for env, seed in zip(singles, (5, 6), strict=True)]
    for _ in range(4):
        for key, array in seen.items():
            np.testing.assert_array_equal(array, np.stack([one[key] for one in expected]))
        seen, rewards, _, truncated, _ = envs.step(np.zeros(2, np.int64))
        steps = [env.step(0) for env in singles]
        assert rewards.tolist() == [step[1] for step in steps]
        assert not truncated.any()
        expected = [step[0] for step in steps]
    envs.close()


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_function__a_copy_in_mid_episode_goes_on_like_the_original(clone: Any) -> None:
    env = made(workload=moving).unwrapped
    env.reset(seed=1)
    for _ in range(5):
        env.step(0)
    twin = clone(env)
    for _ in range(20):
        _, reward, _, over, _ = env.step(0)
        assert (reward, over) == (twin.step(0)[1], twin.episodes.over[0])
        if over:
            break


def test_function__asks_for_pages_that_the_device_lacks__one_sentence() -> None:
    with pytest.raises(SsdgymError, match=r"it reaches outside the \d+ logical pages"):
        made(workload=lambda seed, pages: page_writes([pages])).reset(seed=0)


def test_device__another_one_but_for_some_fields() -> None:
    env = made(device={"base": "tiny", "geometry.blocks_per_plane": 20}, ftl={"gc.free_blocks": 2})
    (config,) = env.unwrapped.episodes.devices
    assert (config.geometry.blocks_per_plane, config.ftl.gc.free_blocks) == (20, 2)


@pytest.mark.skipif("SSDGYM_TRACES" not in os.environ, reason="SSDGYM_TRACES names no folder of traces")
def test_real_trace__as_written_in_the_documentation() -> None:
    path = Path(os.environ["SSDGYM_TRACES"]) / "cloudphysics-w92.csv.gz"
    if not path.exists():
        pytest.skip(f"there is no {path.name}")
    parts = {"kind": "trace", "path": str(path), "transforms": [{"kind": "only", "ops": "write"}]}
    envs = [
        gym.make(
            ENV_ID,
            device="demo",
            ftl={"timing": "none", "gc.free_blocks": 2},
            workload={**parts, "window": window},
            size_to_trace=True,
            horizon=2000,
        )
        for window in ([0, 0.7], [0.7, 0.85], [0.85, 1])
    ]
    assert len({env.unwrapped.episodes.devices[0].logical_pages for env in envs}) == 1
    for env in envs:
        first, metrics = episode(env, 1)
        assert metrics["host_pages_written"] == 2000
        assert episode(env, 2)[0] != first
