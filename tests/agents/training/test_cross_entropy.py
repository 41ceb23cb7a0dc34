"""The search before training finds the feature that pays, by whole episodes."""

import numpy as np
import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.config import CrossEntropyConfig
from ssdgym.agents.training.starts import search_weights
from ssdgym.agents.training.train import train
from ssdgym.envs.features import Setting, select
from ssdgym.envs.sb3 import SB3VecEnv


@pytest.fixture
def start() -> np.ndarray:
    """Cost-benefit."""
    names = select("default", Setting(())).features.names()["candidates"]
    return np.array([float(name in ("log_benefit", "log_age")) for name in names])


def test_search__visible_payoff__weighed_most(toy, start: np.ndarray) -> None:
    env = SB3VecEnv(type(toy)(32, horizon=64))
    found, decisions = search_weights(env, start, CrossEntropyConfig(generations=15), seed=0)
    assert np.argmax(np.abs(found)) == toy.payoff
    assert found[toy.payoff] > 0
    assert decisions == 32 * 64 * (1 + 15)  # every episode of every environment, and those for the scale
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(start))


def test_search__same_seed__same_weights(toy, start: np.ndarray) -> None:
    config = CrossEntropyConfig(generations=3)
    first, again, other = (search_weights(SB3VecEnv(toy), start, config, seed=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_search__of_two_weights__takes_both_as_the_best(toy, start: np.ndarray) -> None:
    """Of one alone there is no spread. So it does not matter which one has the higher return."""

    class Reversed(type(toy)):
        def step(self, actions):
            observation, rewards, *rest = super().step(actions)
            return observation, -rewards, *rest

    config = CrossEntropyConfig(generations=1)
    found = [search_weights(SB3VecEnv(kind(2)), start, config, seed=0)[0] for kind in (type(toy), Reversed)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("algorithm", ["ppo", "fast_ppo"])
def test_train__with_search__begins_where_it_ended(make_config, tmp_path, algorithm: str) -> None:
    config = make_config(algorithm, n_envs=32, total_decisions=1, cross_entropy={"generations": 15})
    best = Agent.load(train(config, tmp_path / "run", progress=False))
    rows = (tmp_path / "run/evaluations.csv").read_text().splitlines()
    stages, decisions, returns = zip(*(row.split(",")[:3] for row in rows[1:3]), strict=True)
    assert stages == ("untrained", "search")
    assert (decisions[0], int(decisions[1])) == ("0", best.card.trained_by[0].decisions)
    assert float(returns[1]) > float(returns[0]) + 1.0
    assert best.scorer.linear.weights.detach().abs().max() > 0
