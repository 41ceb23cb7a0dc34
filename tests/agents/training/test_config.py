"""Every training configuration that comes with ssdgym is valid, and nonsense is refused."""

import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.train import train
from ssdgym.config.loading import available, load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.training import SuiteEvolutionConfig, load_training


@pytest.mark.parametrize("name", available("training"))
def test_config__comes_with_ssdgym__is_valid(name: str) -> None:
    config = load_training(name)
    assert isinstance(config, SuiteEvolutionConfig) == (config.algorithm == "evolution")


def test_config__batch_larger_than_rollout__refused() -> None:
    data = {"n_envs": 2, "ppo": {"rollout_steps": 8, "batch_decisions": 17}}
    with pytest.raises(SsdgymError, match=r"rollout_steps \* n_envs = 16"):
        load_config(TrainConfig, data, "training")


def test_evaluation__workloads_said_twice__are_refused() -> None:
    with pytest.raises(ValueError, match="leave one of the two out"):
        TrainConfig(evaluation={"workloads": ["uniform"], "kwargs": {"workload": "zipf80"}})


def test_config__json__round_trip() -> None:
    config = TrainConfig(algorithm="ppo", seed=5)
    assert TrainConfig.model_validate_json(config.model_dump_json()) == config


def test_config__smoke__trains_on_the_real_environment(tmp_path) -> None:
    fields = load_config(TrainConfig, "ppo-smoke", "training").model_dump()
    config = TrainConfig.model_validate({**fields, "total_decisions": 1024, "checkpoint_decisions": 1024})
    agent = Agent.load(train(config, tmp_path / "run", progress=False))
    assert agent.card.environment == "ssdgym/EraseVictim-v0"
    rows = (tmp_path / "run/evaluations.csv").read_text().splitlines()
    assert "write_amplification" in rows[0]
    assert len(rows) == 3
