"""A network whose layers are not zero, and decisions to learn from."""

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.training.ppo_learner import Batch
from ssdgym.agents.training.ppo_network import Actor, Decisions
from ssdgym.agents.training.sb3 import make_ppo
from ssdgym.envs.sb3 import SB3VecEnv

COUNT = 48


@pytest.fixture
def model(make_config, toy) -> MaskablePPO:
    """The algorithm of Stable-Baselines3, with a network whose layers are not zero."""
    found = make_ppo(make_config("ppo"), SB3VecEnv(toy), FeatureNames.of(toy))
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in found.policy.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return found


@pytest.fixture
def batch(model, toy) -> Batch[Decisions]:
    """Decisions with valid actions, drawn a while ago by a policy a little different."""
    spaces, rng = toy.single_observation_space, np.random.default_rng(0)
    observation = {
        key: rng.random((COUNT, *spaces[key].shape), np.float32)
        for key in ("candidates", "context", "action_mask")
    }
    observation["action_mask"] = (observation["action_mask"] < 0.6).astype(np.int8)
    observation["action_mask"][:, 2] = 1
    decisions = Decisions.of(model.policy.scorer, observation)
    scores = Actor(model.policy.scorer).scores_as_kept(decisions)
    actions = (scores + torch.randn_like(scores)).argmax(-1)
    logs = scores.log_softmax(-1).gather(1, actions.unsqueeze(1)).squeeze(1)
    old = logs + 0.3 * torch.randn(COUNT)
    return Batch(decisions, actions, old, torch.randn(COUNT), torch.randn(COUNT), torch.empty(0, COUNT))
