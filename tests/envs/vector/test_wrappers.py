"""Gymnasium's vector wrappers over the native vector environment, each in the modes that it takes."""

from __future__ import annotations

import copy
from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import vector as wrappers

from tests.envs.vector.compare import assert_same
from tests.envs.vector.conftest import ARGUMENTS, COUNT, MODES, draw, native, sync

ENV_ID = next(iter(ARGUMENTS))
SAME_STEP, NEXT_STEP, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED
#: Gymnasium transforms observations in these only: it would leave `final_obs` as it is.
OBSERVATION_MODES = [NEXT_STEP, DISABLED]


def features_only(env: VectorEnv) -> VectorEnv:
    return wrappers.FilterObservation(env, filter_keys=["candidates"])


def flat(env: VectorEnv) -> VectorEnv:
    return wrappers.FlattenObservation(env)


def doubled(observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {**observation, "context": 2 * observation["context"]}


#: Name -> what wraps, and the modes in which Gymnasium lets it.
WRAPPERS: dict[str, tuple[Callable[[VectorEnv], VectorEnv], list[AutoresetMode]]] = {
    "flatten": (flat, OBSERVATION_MODES),
    "filter": (features_only, OBSERVATION_MODES),
    "normalize observation": (lambda env: wrappers.NormalizeObservation(flat(env)), [NEXT_STEP]),
    "dtype": (lambda env: wrappers.DtypeObservation(flat(env), np.float64), OBSERVATION_MODES),
    "transform": (lambda env: wrappers.TransformObservation(env, doubled), OBSERVATION_MODES),
    "statistics": (wrappers.RecordEpisodeStatistics, MODES),
    "normalize reward": (wrappers.NormalizeReward, MODES),
    "transform reward": (lambda env: wrappers.TransformReward(env, lambda reward: reward + 1), MODES),
    "clip reward": (lambda env: wrappers.ClipReward(env, -0.1, 0.0), MODES),
    "transform action": (
        lambda env: wrappers.TransformAction(env, lambda action: action, env.action_space),
        MODES,
    ),
    "list of infos": (wrappers.DictInfoToList, MODES),
}
#: Only statistics look at what follows the end of an episode.
CASES = [
    (name, mode)
    for name, (_, modes) in WRAPPERS.items()
    for mode in modes[: 3 if name == "statistics" else 1]
]


def play(env: VectorEnv, mode: AutoresetMode, steps: int = 100) -> list[tuple]:
    """Take valid actions, the same in every environment of the same seeds; return all results."""
    rng = np.random.default_rng(0)
    results = [env.reset(seed=3)]
    for _ in range(steps):
        masks = env.unwrapped.call("action_masks")
        result = env.step(np.array([draw(mask, rng) for mask in masks]))
        # `RecordEpisodeStatistics` writes to the flags that it has handed out.
        results.append(copy.deepcopy(result))
        if mode is DISABLED and results[-1][3].any():
            results.append(env.reset(options={"reset_mask": np.ones(COUNT, bool)}))
    return results


def without_time(results: list[tuple]) -> list[tuple]:
    """Leave out the seconds that `RecordEpisodeStatistics` measures."""
    for *_, info in results:
        if isinstance(info, dict) and "episode" in info:
            del info["episode"]["t"]
    return results


@pytest.mark.parametrize(("name", "mode"), CASES, ids=str)
def test_wrapper__over_native__as_over_sync(name: str, mode: AutoresetMode) -> None:
    wrap, _ = WRAPPERS[name]
    ours, theirs = (without_time(play(wrap(make(ENV_ID, mode)), mode)) for make in (native, sync))
    assert_same(ours, theirs)
    assert sum(result[3].any() for result in ours if len(result) == 5) >= 2


def test_statistics__after_a_reset_of_some__count_those_anew_and_no_others() -> None:
    env = wrappers.RecordEpisodeStatistics(native(ENV_ID, DISABLED))
    observation, _ = env.reset(seed=0)
    for _ in range(5):
        observation, *_ = env.step(observation["action_mask"].argmax(1))
    env.reset(options={"reset_mask": np.array([True, False, False])})
    assert env.episode_lengths.tolist() == [0, 5, 5]


def test_statistics__return_of_an_episode__is_the_sum_of_its_rewards(mode: AutoresetMode) -> None:
    env = wrappers.RecordEpisodeStatistics(native(ENV_ID, mode))
    observation, _ = env.reset(seed=0)
    total, over = np.zeros(COUNT), np.zeros(COUNT, bool)
    while not over.any():
        observation, rewards, _, over, infos = env.step(observation["action_mask"].argmax(1))
        total += rewards
    np.testing.assert_allclose(infos["episode"]["r"][over], total[over])


def test_make_vec__remakes_the_environment_from_its_spec() -> None:
    env = native(ENV_ID, NEXT_STEP)
    again = gym.make_vec(env.unwrapped.spec)
    assert again.metadata["autoreset_mode"] is NEXT_STEP and again.num_envs == COUNT
