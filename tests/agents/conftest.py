"""Toy environments, and small training runs in them."""

from typing import Any

import pytest

from ssdgym.agents.training.config import TrainConfig
from tests.agents.toy import TOY_ID, ToyVectorEnv


@pytest.fixture
def toy() -> ToyVectorEnv:
    """Eight toy environments, reset with seed 0."""
    env = ToyVectorEnv(8)
    env.reset(seed=0)
    return env


@pytest.fixture
def make_config() -> Any:
    """A small training run on the toy; keyword arguments replace fields."""

    def make(algorithm: str = "ppo", **fields: Any) -> TrainConfig:
        defaults = {
            "algorithm": algorithm,
            "environment": {"id": TOY_ID},
            "n_envs": 8,
            "total_decisions": 1024,
            "checkpoint_decisions": 512,
            "scorer": {"hidden": [16], "sharpness": 1.0},
            "ppo": {"rollout_steps": 32, "batch_decisions": 64, "learning_rate": 0.01},
            "fast_ppo": {"rollout_steps": 32, "batch_decisions": 64, "learning_rate": 0.01},
            "evaluation": {"episodes": 4},
        }
        return TrainConfig.model_validate({**defaults, **fields})

    return make
