"""An environment of one's own: a class in another package, registered with Gymnasium."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from ssdgym.agents.training.config import check_arguments, decision_arguments, default_of
from ssdgym.envs import DecisionEnv
from ssdgym.errors import SsdgymError
from tests.engine.devices import full_device

SOURCE = '''
"""Choose between two rules only."""

from dataclasses import dataclass

from ssdgym.envs import DecisionEnv, EraseDecision, Options, vectorized


@dataclass(frozen=True, kw_only=True)
class DuelOptions(Options):
    challenger: str = "cost_benefit"

    def decision(self):
        return EraseDecision(2, ("greedy", self.challenger))


class DuelEnv(DecisionEnv):
    """Choose between greedy's pick and the challenger's."""

    options_type = DuelOptions


DuelVectorEnv = vectorized(DuelEnv)
'''
ENV_ID = "elsewhere/Duel-v0"


@pytest.fixture
def duel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The id of an environment of another package."""
    (tmp_path / "elsewhere_duel.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    gym.register(
        ENV_ID,
        entry_point="elsewhere_duel:DuelEnv",
        vector_entry_point="elsewhere_duel:DuelVectorEnv",
    )
    yield ENV_ID
    del gym.registry[ENV_ID]
    sys.modules.pop("elsewhere_duel", None)


def test_environment_of_ones_own__single_and_vector__the_same_episode(duel: str) -> None:
    arguments = {"device": full_device(), "workload": "zipf80", "horizon": 200, "challenger": "fifo"}
    env, vector = gym.make(duel, **arguments), gym.make_vec(duel, num_envs=2, **arguments)
    assert isinstance(env.unwrapped, DecisionEnv) and env.action_space == gym.spaces.Discrete(2)
    observation, _ = env.reset(seed=3)
    observations, info = vector.reset(seed=3)
    over = False
    while not over:
        for key, array in observation.items():
            np.testing.assert_array_equal(array, observations[key][0])
        actions = info["proposed"][:, 1]
        observation, reward, _, over, _ = env.step(actions[0])
        observations, rewards, _, _, info = vector.step(actions)
        assert reward == rewards[0]


def test_environment_of_ones_own__its_arguments_are_known_to_agents(duel: str) -> None:
    assert decision_arguments(duel) == ("features", "challenger")
    assert default_of(duel, "challenger") == "cost_benefit"
    check_arguments(duel, {"challenger": "fifo", "warmup": 5})
    with pytest.raises(SsdgymError, match=r"environment.kwargs.candidates: elsewhere/Duel-v0 has no such"):
        check_arguments(duel, {"candidates": 5})
