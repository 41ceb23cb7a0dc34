"""CMA-ES over whole episodes: it learns, goes on from a checkpoint, and lets members play the same seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.training.checkpoint import Checkpoint
from ssdgym.agents.training.cmaes import CmaesLearner, fitness_of
from ssdgym.agents.training.train import train
from ssdgym.errors import SsdgymError
from tests.agents.toy import ToyVectorEnv, train_to_a_checkpoint

SETTINGS = {"n_envs": 8, "cmaes": {"members": 4, "spread": 0.5}, "scorer": {"hidden": [4], "start": "none"}}


def last(folder: Path) -> dict[str, torch.Tensor]:
    return Agent.load(folder / "agent-last.zip").scorer.state_dict()


@pytest.mark.parametrize("network", [False, True])
def test_search__finds_the_feature_that_pays(make_config: Any, tmp_path: Path, network: bool) -> None:
    settings = {**SETTINGS, "cmaes": {"members": 8, "spread": 0.5, "network": network}}
    config = make_config("cmaes", **settings, total_decisions=4096, checkpoint_decisions=2048)
    train(config, tmp_path, progress=False)
    rows = Checkpoint.load(tmp_path).evaluations
    assert rows[-1]["return_mean"] > rows[0]["return_mean"] + 2
    assert "CMA-ES" in Agent.load(tmp_path / "agent.zip").card.how_trained


def test_search__ended_at_a_checkpoint_and_resumed__equals_one_that_was_not(
    make_config: Any, tmp_path: Path
) -> None:
    config = make_config("cmaes", **SETTINGS)
    train(config, tmp_path / "whole", progress=False)
    train_to_a_checkpoint(config, tmp_path / "half")
    train(config, tmp_path / "rest", resume=tmp_path / "half", progress=False)
    whole, rest = last(tmp_path / "whole"), last(tmp_path / "rest")
    assert all(torch.equal(weights, rest[name]) for name, weights in whole.items())


def test_members__play_the_same_seeds__each_its_own_weights(make_config: Any) -> None:
    env = ToyVectorEnv(8)
    learner = CmaesLearner(make_config("cmaes", **SETTINGS), env, FeatureNames.of(env))
    start = learner._search.mean
    alike = learner._play(np.stack([start] * 4)).mean(axis=1)
    assert np.ptp(alike) == 0 and learner.decisions == 8 * env.horizon
    learner.decisions = 0
    paid = np.zeros_like(start)
    paid[list(learner._searched).index("linear.weights") + env.payoff] = 100
    returns = learner._play(np.stack([start, paid, -paid, start])).mean(axis=1)
    assert returns[1] > returns[0] == returns[3] == alike[0] > returns[2]


def test_fitness__standardised__counts_an_episode_of_large_returns_as_any_other() -> None:
    returns = np.array([[0.0, 2, 900], [1, 1, 1000], [2, 3, 0]])
    assert fitness_of(returns, standardised=False).argmax() == 1
    assert fitness_of(returns, standardised=True).argmax() == 2
    assert fitness_of(np.ones((3, 2)), standardised=True).tolist() == [0, 0, 0]


def test_members__that_cannot_share_the_environments__are_refused(make_config: Any) -> None:
    with pytest.raises((SsdgymError, ValueError), match="n_envs is 6, and cmaes.members is 4"):
        make_config("cmaes", **{**SETTINGS, "n_envs": 6})


def test_search__from_a_clone__begins_with_its_weights(make_config: Any, tmp_path: Path) -> None:
    prior = {"policy": "stump(feature=log_age)", "clone_decisions": 4096}
    config = make_config("cmaes", **{**SETTINGS, "prior": prior, "cmaes": {"members": 4, "spread": 1e-6}})
    train(config, tmp_path, progress=False)
    scores = {row["stage"]: row["return_mean"] for row in Checkpoint.load(tmp_path).evaluations}
    assert scores["cmaes"] == scores["clone"] != scores["untrained"]
