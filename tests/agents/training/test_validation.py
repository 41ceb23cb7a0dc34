"""Validation plays one whole episode per environment, and the same ones every time."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from ssdgym.agents.training.validation import EVALUATIONS, Validations, mean_metrics, validate
from ssdgym.envs.sb3 import SB3VecEnv


class FirstValid:
    """Chooses the first valid candidate, and keeps what the toy will pay for it."""

    def __init__(self, payoff: int) -> None:
        self.payoff = payoff
        self.rewards: list[np.ndarray] = []

    def act(self, observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        actions = observation["action_mask"].argmax(axis=1)
        self.rewards.append(observation["candidates"][np.arange(8), actions, self.payoff])
        return actions


def test_validate__returns_and_infos__of_one_episode_each(toy) -> None:
    agent = FirstValid(toy.payoff)
    row = validate(agent, [SB3VecEnv(toy)], first_seed=11)
    returns = np.sum(agent.rewards, axis=0, dtype=np.float64)
    assert len(agent.rewards) == toy.horizon
    assert row == {
        "return_mean": pytest.approx(returns.mean()),
        "return_min": pytest.approx(returns.min()),
        "reward_mean": pytest.approx(returns.mean() / toy.horizon),
        "last_reward": pytest.approx(agent.rewards[-1].mean()),
    }


def test_validate__same_seed__same_episodes(toy) -> None:
    env = SB3VecEnv(toy)
    first, again, other = (validate(FirstValid(toy.payoff), [env], seed) for seed in (5, 5, 6))
    assert first == again != other


def test_mean_metrics__of_those_that_not_every_episode_has__are_over_those_that_have_them() -> None:
    episodes = [
        {"metrics": {"erases": 0, "mean_run": None, "name": "log"}},
        {"metrics": {"erases": 4, "mean_run": 3.0}},
    ]
    assert mean_metrics(episodes) == {"erases": 2.0, "mean_run": 3.0}


def test_table__of_rows_with_other_columns__has_them_all(tmp_path: Path) -> None:
    rows = [{"stage": "untrained", "decisions": 0}, {"stage": "ppo", "decisions": 8, "mean_run": 0.1}]
    agent = Mock()
    Validations(tmp_path, rows=rows, best=agent).save(agent)
    assert (tmp_path / EVALUATIONS).read_bytes() == b"stage,decisions,mean_run\nuntrained,0,\nppo,8,0.1\n"
