"""What a loop that stores transitions gets hold of is its own, and does not change afterwards."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from ssdgym.envs import EraseVictimVectorEnv
from tests.envs.vector.compare import assert_same
from tests.envs.vector.conftest import ARGUMENTS, COUNT, Make, single

STEPS = 120


def arrays(value: Any) -> list[np.ndarray]:
    """All arrays in a result, dictionaries and arrays of objects included."""
    if isinstance(value, dict):
        return [array for part in value.values() for array in arrays(part)]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [array for part in value for array in arrays(part)]
    return [value] if isinstance(value, np.ndarray) else []


def test_vector__stored_transitions__keep_what_they_were(
    make: Make, env_id: str, mode: AutoresetMode
) -> None:
    env = make(env_id, mode)
    observation, _ = env.reset(seed=0)
    stored, kept = [], []
    for _ in range(STEPS):
        following, reward, terminated, truncated, info = env.step(observation["action_mask"].argmax(1))
        assert following is not observation
        transition = (observation, reward, terminated, truncated, following, info)
        stored.append(transition)
        kept.append(copy.deepcopy(transition))
        observation = following
        if mode is AutoresetMode.DISABLED and truncated.any():
            observation, _ = env.reset(options={"reset_mask": truncated.copy()})
    for transition, then in zip(stored, kept, strict=True):
        assert_same(transition, then)
    changed = sum((t[0]["candidates"] != t[4]["candidates"]).any() for t in stored)
    assert changed > STEPS / 2, "a decision changes what is seen"


def test_vector__results_of_two_steps__share_no_memory(make: Make, env_id: str, mode: AutoresetMode) -> None:
    env = make(env_id, mode)
    results = [env.reset(seed=0)]
    for _ in range(3):
        results.append(env.step(results[-1][0]["action_mask"].argmax(1)))
    first, *others = [[array for part in result for array in arrays(part)] for result in results]
    for later in others:
        assert not any(np.shares_memory(one, other) for one in first for other in later)
        first = later


def test_vector__writing_to_what_was_handed_out__changes_no_environment(make: Make, env_id: str) -> None:
    spoiled, untouched = (make(env_id, AutoresetMode.SAME_STEP) for _ in range(2))
    results = [env.reset(seed=0) for env in (spoiled, untouched)]
    for _ in range(40):
        actions = results[1][0]["action_mask"].argmax(1)
        for part in results[0]:
            for array in arrays(part):
                array[...] = 1
        results = [env.step(actions) for env in (spoiled, untouched)]
        assert_same(*results)


def test_single__stored_transitions__keep_what_they_were(env_id: str) -> None:
    env = single(env_id)
    observation, _ = env.reset(seed=0)
    stored, kept = [], []
    for _ in range(STEPS):
        following, _, _, truncated, info = env.step(observation["action_mask"].argmax())
        stored.append((observation, following, info))
        kept.append(copy.deepcopy(stored[-1]))
        observation = env.reset()[0] if truncated else following
    assert_same(stored, kept)


def test_single__results_of_two_steps__share_no_memory(env_id: str) -> None:
    env = single(env_id)
    first = env.reset(seed=0)
    second = env.step(first[0]["action_mask"].argmax())
    assert not any(
        np.shares_memory(one, other)
        for one in [array for part in first for array in arrays(part)]
        for other in [array for part in second for array in arrays(part)]
    )


@pytest.mark.parametrize("copies", [True, False])
def test_copy__false__hands_out_the_buffers(copies: bool) -> None:
    arguments = next(iter(ARGUMENTS.values()))
    env = EraseVictimVectorEnv(COUNT, **arguments, copy=copies)
    first, _ = env.reset(seed=0)
    second, *_ = env.step(first["action_mask"].argmax(1))
    assert np.shares_memory(first["candidates"], second["candidates"]) is not copies
