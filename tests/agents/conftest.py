"""Toy environments, and small training runs in them."""

from typing import Any

import pytest
from sb3_contrib import MaskablePPO

from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.sb3 import ScorerActorCriticPolicy
from ssdgym.envs.sb3 import SB3VecEnv
from tests.agents.toy import TOY_ID, ToyVectorEnv


@pytest.fixture
def toy() -> ToyVectorEnv:
    """Eight toy environments, reset with seed 0."""
    env = ToyVectorEnv(8)
    env.reset(seed=0)
    return env


@pytest.fixture
def maskable_ppo(toy: ToyVectorEnv) -> MaskablePPO:
    """The algorithm of sb3-contrib on the toys, with the candidate scorer."""
    features = FeatureNames.of(toy)
    policy = {
        "candidate_features": features.candidates,
        "context_features": features.context,
        "scorer": ScorerConfig(hidden=(16,), sharpness=1.0),
    }
    settings = {"n_steps": 32, "batch_size": 64, "n_epochs": 4, "learning_rate": 0.01, "seed": 0}
    env = SB3VecEnv(toy)
    return MaskablePPO(ScorerActorCriticPolicy, env, policy_kwargs=policy, device="cpu", **settings)


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
            "evaluation": {"episodes": 4},
        }
        return TrainConfig.model_validate({**defaults, **fields})

    return make
