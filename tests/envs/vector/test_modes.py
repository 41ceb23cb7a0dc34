"""Native vector environment, Gymnasium's over single environments, and single ones: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

from ssdgym.envs import EraseVictimVectorEnv
from ssdgym.errors import SsdgymError
from tests.envs.vector.compare import assert_same, row
from tests.envs.vector.conftest import ARGUMENTS, COUNT, draw, native, single, sync

STEPS = 150
SAME_STEP, NEXT_STEP, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED
ENV_ID = next(iter(ARGUMENTS))


def test_native__returns_what_sync_returns__infos_included(env_id: str, mode: AutoresetMode) -> None:
    ours, theirs = native(env_id, mode), sync(env_id, mode)
    assert ours.metadata == theirs.metadata
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    rng = np.random.default_rng(0)
    results = [env.reset(seed=[5, None, 9]) for env in (ours, theirs)]
    assert results[0][1]["episode_seed"][[0, 2]].tolist() == [5, 9]
    seeds = [[5, drawn, 9] for drawn in (3, 3)]
    results = [env.reset(seed=own) for env, own in zip((ours, theirs), seeds, strict=True)]
    assert_same(*results)
    ends = 0
    for _ in range(STEPS):
        masks = results[0][0]["action_mask"]
        actions = np.array([draw(mask, rng) for mask in masks])
        results = [env.step(actions) for env in (ours, theirs)]
        assert_same(*results)
        over = results[0][3]
        ends += over.sum()
        if mode is DISABLED and over.any():
            results = [env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs)]
            assert_same(*results)
    assert ends >= 2 * COUNT


def test_native__each_environment_is_the_single_one(env_id: str, mode: AutoresetMode) -> None:
    """Decision by decision, whatever the steps in which nothing is decided."""
    vector = native(env_id, mode)
    played: list[list[Any]] = [[] for _ in range(COUNT)]
    rngs = [np.random.default_rng(i) for i in range(COUNT)]
    observation, _ = vector.reset(seed=20)
    over = np.zeros(COUNT, bool)
    for _ in range(STEPS):
        resting = over if mode is NEXT_STEP else np.zeros(COUNT, bool)
        actions = np.full(COUNT, -1)
        for i in np.flatnonzero(~resting):
            actions[i] = draw(observation["action_mask"][i], rngs[i])
        observation, rewards, _, over, infos = vector.step(actions)
        for i in np.flatnonzero(~resting):
            apart = over[i] and mode is SAME_STEP
            seen = infos["final_obs"][i] if apart else {key: x[i] for key, x in observation.items()}
            info = row(infos["final_info"], i) if apart else row(infos, i)
            played[i].append((seen, rewards[i], over[i], info))
        if mode is DISABLED and over.any():
            observation, _ = vector.reset(options={"reset_mask": over})
    for i, steps in enumerate(played):
        alone, rng = single(env_id), np.random.default_rng(i)
        observation, _ = alone.reset(seed=20 + i)
        for seen, reward, ended, info in steps:
            observation, own_reward, _, truncated, own_info = alone.step(
                draw(observation["action_mask"], rng)
            )
            assert_same(seen, observation)
            assert (reward, ended) == (own_reward, truncated)
            np.testing.assert_equal(info, own_info)
            if truncated:
                observation, _ = alone.reset()


def test_final_info__has_all_that_the_single_environment_s_last_info_has(env_id: str) -> None:
    env = native(env_id, SAME_STEP)
    observation, infos = env.reset(seed=0)
    while "final_info" not in infos:
        observation, _, _, over, infos = env.step(observation["action_mask"].argmax(1))
    (i, *_) = np.flatnonzero(over)
    final = row(infos["final_info"], i)
    assert set(final) == {
        "episode_seed",
        "proposed",
        "host_pages",
        "host_pages_written",
        "relocated_pages",
        "terms",
        "metrics",
    }
    assert final["metrics"]["lost_pages"] == 0
    assert final["metrics"]["latency_ns"]["count"] >= 0
    assert final["episode_seed"] == i != infos["episode_seed"][i]
    assert "terms" not in row(infos, i), "no decision of the new episode has been rewarded"


def test_next_step__the_step_after_the_end__begins_an_episode_and_looks_at_no_action() -> None:
    env = native(ENV_ID, NEXT_STEP)
    observation, _ = env.reset(seed=0)
    over = np.zeros(COUNT, bool)
    while not over.any():
        observation, _, _, over, infos = env.step(observation["action_mask"].argmax(1))
    before = infos["episode_seed"]
    actions = np.where(over, -1, observation["action_mask"].argmax(1))
    _, rewards, _, still, infos = env.step(actions)
    assert not rewards[over].any() and not still[over].any()
    assert (infos["episode_seed"][over] != before[over]).all()
    assert (infos["host_pages_written"][over] < 80).all()


def test_disabled__step_after_the_end__refused_until_a_reset() -> None:
    env = native(ENV_ID, DISABLED)
    observation, _ = env.reset(seed=0)
    over = np.zeros(COUNT, bool)
    while not over.any():
        observation, _, _, over, _ = env.step(observation["action_mask"].argmax(1))
    with pytest.raises(SsdgymError, match=r"the episodes of environments \[.*\] are over; call reset with"):
        env.step(observation["action_mask"].argmax(1))
    options = {"reset_mask": over}
    observation, infos = env.reset(options=options)
    assert list(options) == ["reset_mask"], "the caller's options stay as they are"
    np.testing.assert_array_equal(infos["_episode_seed"], over)
    env.step(observation["action_mask"].argmax(1))


@pytest.mark.parametrize(
    "mask", [[True, False, False], np.ones(2, bool), np.ones(3), np.zeros(3, bool)], ids=repr
)
def test_reset_mask__not_a_truth_value_each__refused(mask: Any) -> None:
    env = native(ENV_ID, DISABLED)
    env.reset(seed=0)
    with pytest.raises(SsdgymError, match=r"options\['reset_mask'\]"):
        env.reset(options={"reset_mask": mask})


def test_reset_mask__before_the_first_episode__refused() -> None:
    with pytest.raises(SsdgymError, match="reset all first"):
        native(ENV_ID, DISABLED).reset(options={"reset_mask": np.array([True, False, False])})


@pytest.mark.parametrize("mode", AutoresetMode)
def test_autoreset_mode__as_a_string__is_the_mode(mode: AutoresetMode) -> None:
    env: VectorEnv = native(ENV_ID, mode.value)
    assert env.metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("wrong", ["next_step", None, 3])
def test_autoreset_mode__unknown__refused(wrong: Any) -> None:
    with pytest.raises(SsdgymError, match="autoreset_mode must be one of 'NextStep', 'SameStep', 'Disabled'"):
        EraseVictimVectorEnv(2, device="tiny", autoreset_mode=wrong)
