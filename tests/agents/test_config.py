"""Every training configuration that comes with ssdgym is valid, and nonsense is refused."""

import pytest

from ssdgym.agents.config import TrainConfig
from ssdgym.config.loading import available, load_config
from ssdgym.errors import SsdgymError


@pytest.mark.parametrize("name", available("agents"))
def test_config__comes_with_ssdgym__is_valid(name: str) -> None:
    config = load_config(TrainConfig, name, "agents")
    assert name.startswith(config.algorithm)


def test_config__batch_larger_than_rollout__refused() -> None:
    data = {"n_envs": 2, "ppo": {"rollout_steps": 8, "batch_decisions": 17}}
    with pytest.raises(SsdgymError, match=r"rollout_steps \* n_envs = 16"):
        load_config(TrainConfig, data, "agents")


def test_config__json__round_trip() -> None:
    config = TrainConfig(algorithm="dqn", seed=5)
    assert TrainConfig.model_validate_json(config.model_dump_json()) == config
