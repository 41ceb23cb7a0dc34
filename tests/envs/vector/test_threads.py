"""A step shared out to threads: the same bits whatever their number, and nothing left behind."""

from __future__ import annotations

import copy
import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv, PlacementVectorEnv, SubpageRegionVectorEnv
from ssdgym.envs.batch import threads_for
from ssdgym.envs.features import feature
from ssdgym.errors import SsdgymError
from tests.engine.devices import device, full_device
from tests.envs.vector.compare import assert_same
from tests.envs.vector.conftest import MODES, draw
from tests.simulator.test_subpage import tiny

THREADS = (1, 2, 3)
COUNT = 5
SMALL = {"device": full_device(), "workload": "zipf80", "horizon": 60}
#: With room for the open blocks of six streams.
ROOMY = device({"blocks_per_plane": 64}, {"gc": {"free_blocks": 3}})
MAKERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "erases": (EraseVictimVectorEnv, {**SMALL, "candidates": 6}),
    "erases in time": (EraseVictimVectorEnv, {**SMALL, "candidates": 6, "ftl": {"timing": "event"}}),
    "several terms": (
        EraseVictimVectorEnv,
        {**SMALL, "ftl": {"timing": "event", "queue_depth": 4}, "objective": {"tail": 1.0, "wear": 0.1}},
    ),
    "streams": (PlacementVectorEnv, {**SMALL, "device": ROOMY}),
    "regions": (SubpageRegionVectorEnv, {"device": tiny(), "workload": "small_mixed", "horizon": 60}),
}


def play(env: Any, steps: int, seed: int, resets: list[int]) -> list[Any]:
    """Take random actions; where nothing begins episodes anew, begin those that are over."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    seen: list[Any] = [observation, info]
    for step in range(steps):
        actions = np.array([draw(mask, rng) for mask in observation["action_mask"]])
        observation, *rest = env.step(actions)
        over = rest[2]
        seen += [observation, *rest]
        if (env.autoreset_mode is AutoresetMode.DISABLED and over.any()) or step in resets:
            mask = over | (np.arange(COUNT) == step % COUNT)
            observation, info = env.reset(options={"reset_mask": mask})
            seen += [observation, info]
    return seen


@pytest.mark.parametrize("kind", MAKERS)
def test_results__do_not_depend_on_the_number_of_threads(kind: str) -> None:
    make, arguments = MAKERS[kind]
    runs = [play(make(COUNT, threads=threads, **arguments), 120, 3, [40]) for threads in THREADS]
    assert_same(runs[1], runs[0])
    assert_same(runs[2], runs[0])


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(MODES), st.integers(0, 2**20), st.lists(st.integers(0, 60), max_size=6))
def test_results__with_any_seed_reset_and_mode__do_not(
    mode: AutoresetMode, seed: int, resets: list[int]
) -> None:
    arguments = {**SMALL, "candidates": 6, "autoreset_mode": mode}
    runs = [play(EraseVictimVectorEnv(COUNT, threads=t, **arguments), 60, seed, resets) for t in THREADS]
    assert_same(runs[1], runs[0])
    assert_same(runs[2], runs[0])


def test_devices_in_several_batches__each_have_threads() -> None:
    devices = [{**dict(ROOMY), "ftl": {"placement": rule}} for rule in ("dac", "sepbit")]
    arguments = {**SMALL, "device": devices, "streams": 6}
    envs = [PlacementVectorEnv(COUNT, threads=threads, **arguments) for threads in THREADS]
    assert [len(batch.devices) for batch in envs[0].episodes.batches] == [3, 2]
    runs = [play(env, 60, 1, []) for env in envs]
    assert_same(runs[1], runs[0])
    assert_same(runs[2], runs[0])


def test_copy_in_the_middle__goes_on_alike_with_threads_of_its_own() -> None:
    env = EraseVictimVectorEnv(COUNT, threads=2, **SMALL)
    play(env, 20, 1, [])
    other = copy.deepcopy(env)
    actions = env.action_masks().argmax(1)
    for _ in range(30):
        assert_same(other.step(actions), env.step(actions))
        actions = env.action_masks().argmax(1)


def test_code_of_a_user_that_fails_in_a_thread__named_and_the_devices_go_on_after_a_reset(
    own_registrations: None,
) -> None:
    @feature(low=-1e9, high=1e9)
    def brittle(view, candidate, decision):
        return view.block[10**7 if view.control[0].rounds % 16 == 15 else 0].invalid

    env = EraseVictimVectorEnv(COUNT, threads=2, **SMALL, features=["brittle"])
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        with pytest.raises(SsdgymError, match="feature brittle failed: IndexError"):
            for _ in range(300):
                observation, *_ = env.step(observation["action_mask"].argmax(1))
        with pytest.raises(SsdgymError, match="reset the environment"):
            env.step(observation["action_mask"].argmax(1))


def with_threads() -> tuple[EraseVictimVectorEnv, set[threading.Thread]]:
    """An environment, and the two threads that help."""
    before = set(threading.enumerate())
    env = EraseVictimVectorEnv(COUNT, threads=3, **SMALL)
    env.reset(seed=0)
    own = set(threading.enumerate()) - before
    assert sorted(thread.name for thread in own) == ["ssdgym-1", "ssdgym-2"]
    return env, own


def test_threads__end_with_their_environment() -> None:
    env, own = with_threads()
    del env
    gc.collect()
    for thread in own:
        thread.join(20)
    assert not any(thread.is_alive() for thread in own)


def test_threads__end_when_their_environment_is_closed__and_steps_go_on_without() -> None:
    env, own = with_threads()
    env.close()
    for thread in own:
        thread.join(20)
    assert not any(thread.is_alive() for thread in own)
    env.step(env.action_masks().argmax(1))


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_threads__no_number_from_1_up__refused(threads: Any) -> None:
    with pytest.raises(SsdgymError, match="threads must be a whole number from 1 up"):
        EraseVictimVectorEnv(COUNT, threads=threads, **SMALL)


def test_close__of_an_environment_that_was_refused__has_nothing_to_end() -> None:
    """Some versions of gymnasium close what they collect as garbage, made or not."""
    EraseVictimVectorEnv.__new__(EraseVictimVectorEnv).close()


def test_threads__by_themselves__are_cores_with_eight_devices_each() -> None:
    assert threads_for(1) == threads_for(15) == 1
    assert 1 <= threads_for(10**6) <= threads_for(10**9)


@pytest.mark.parametrize("make", [EraseVictimEnv, lambda **options: EraseVictimVectorEnv(2, **options)])
def test_second_thread_of_python__is_refused_and_changes_nothing(make: Callable[..., Any]) -> None:
    """It used to corrupt the state of a device, or to wait for good."""
    env, other = (make(**SMALL) for _ in range(2))
    action = np.zeros(2, np.int64) if isinstance(env, EraseVictimVectorEnv) else 0
    for one in (env, other):
        one.reset(seed=1)
    inside, done, step = threading.Event(), threading.Event(), env.episodes.step

    def slow(which: np.ndarray) -> None:
        inside.set()
        assert done.wait(60)
        step(which)

    env.episodes.step = slow
    thread = threading.Thread(target=lambda: env.step(action))
    thread.start()
    assert inside.wait(60)
    for call in (lambda: env.step(action), lambda: env.reset(seed=2)):
        with pytest.raises(SsdgymError, match="is in use by another thread; make one for each thread"):
            call()
    done.set()
    thread.join(60)
    env.episodes.step = step
    other.step(action)
    mine, theirs = env.step(action), other.step(action)
    np.testing.assert_array_equal(mine[0]["candidates"], theirs[0]["candidates"])
