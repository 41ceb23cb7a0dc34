"""A run of fast PPO with a prior repeats itself, and its agent says what it comes from."""

import csv

import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.train import train
from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError


def weights_in(folder) -> dict[str, torch.Tensor]:
    return Agent.load(folder / "agent-last.zip").scorer.state_dict()


@pytest.fixture
def config(make_config) -> TrainConfig:
    settings = {"rollout_steps": 32, "batch_decisions": 64, "learning_rate": 0.01, "prior": {"kl": 0.5}}
    return make_config("fast_ppo", fast_ppo=settings)


def test_train__ended_and_resumed_with_a_frozen_start__equals_one_that_was_not(config, tmp_path) -> None:
    train(config, tmp_path / "whole", progress=False)
    train(config, tmp_path / "half", progress=False, checkpoints=1)
    train(config, tmp_path / "rest", resume=tmp_path / "half", progress=False)
    whole, rest = weights_in(tmp_path / "whole"), weights_in(tmp_path / "rest")
    assert all(torch.equal(whole[name], rest[name]) for name in whole)


def test_train__held_to_the_start__stays_nearer_to_it(config, make_config, tmp_path) -> None:
    changes = {}
    for name, kl in (("free", 0.0), ("held", 20.0)):
        settings = config.fast_ppo.model_dump() | {"prior": {"kl": kl}}
        train(make_config("fast_ppo", fast_ppo=settings), tmp_path / name, progress=False)
        # the payoff of the toy is a feature that the start gives no weight
        changes[name] = weights_in(tmp_path / name)["linear.weights"][[0, 3, 4]].abs().max()
    assert changes["held"] < 0.5 * changes["free"]


def test_train__from_a_clone__counts_its_decisions_and_says_so(tmp_path) -> None:
    prior = {"policy": "greedy", "clone_decisions": 512}
    config = TrainConfig.model_validate(
        {
            "algorithm": "fast_ppo",
            "environment": {"kwargs": {"ftl": {"timing": "none"}, "horizon": 1024}},
            "n_envs": 4,
            "total_decisions": 128,
            "scorer": {"hidden": [8], "start": "none"},
            "fast_ppo": {"rollout_steps": 32, "batch_decisions": 64, "prior": prior},
            "evaluation": {"episodes": 2},
        }
    )
    train(config, tmp_path, progress=False)
    with (tmp_path / "evaluations.csv").open() as file:
        rows = [(row["stage"], row["decisions"]) for row in csv.DictReader(file)]
    assert rows == [("untrained", "0"), ("clone", "512"), ("fast_ppo", "640")]
    card = Agent.load(tmp_path / "agent-last.zip").card
    assert "cloning a policy (512 decisions" in card.how_trained
    assert "then PPO (128 decisions" in card.how_trained


def test_config__other_device__refused() -> None:
    with pytest.raises(SsdgymError, match="fast_ppo learns on the cpu"):
        load_config(TrainConfig, {"algorithm": "fast_ppo", "device": "cuda"}, "training")
