"""The losses are those of Stable-Baselines3, and a step away from the frozen start costs."""

import pytest
import torch
from sb3_contrib import MaskablePPO
from torch.nn.functional import mse_loss

from ssdgym.agents.algorithms import make_algorithm
from ssdgym.agents.config import FastPpoConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.ppo.scoring import Decisions, scoring_with
from ssdgym.agents.ppo.update import Batch, losses_of, update
from ssdgym.envs.sb3 import SB3VecEnv

COUNT = 48


@pytest.fixture
def model(make_config, toy) -> MaskablePPO:
    """The algorithm of Stable-Baselines3, with a network whose layers are not zero."""
    found = make_algorithm(make_config("ppo"), SB3VecEnv(toy), FeatureNames.of(toy))
    assert isinstance(found, MaskablePPO)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in found.policy.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return found


@pytest.fixture
def batch(model, toy) -> Batch:
    """Decisions with valid actions, drawn a while ago by a policy a little different."""
    candidates = torch.rand(COUNT, *toy.single_observation_space["candidates"].shape)
    context = torch.rand(COUNT, *toy.single_observation_space["context"].shape)
    mask = torch.rand(COUNT, candidates.shape[1]) < 0.6
    mask[:, 2] = True
    decisions = Decisions.of(model.policy.scorer, candidates, context, mask)
    scores = scoring_with(model.policy.scorer)(decisions)
    actions = (scores + torch.randn_like(scores)).argmax(-1)
    logs = scores.log_softmax(-1).gather(1, actions.unsqueeze(1)).squeeze(1)
    old = logs + 0.3 * torch.randn(COUNT)
    return Batch(decisions, actions, old, torch.randn(COUNT), torch.randn(COUNT), torch.empty(COUNT, 0))


def test_losses__equal_those_of_stable_baselines3_with_their_gradients(model, batch: Batch) -> None:
    config = FastPpoConfig(entropy_coefficient=0.02, value_coefficient=0.7)
    scorer = model.policy.scorer
    context = len(model.observation_space["context"].low)
    observation = {
        "candidates": batch.decisions.candidates,
        "context": batch.decisions.around[:, :context],
        "action_mask": batch.decisions.mask,
    }
    # as in MaskablePPO.train
    values, logs, entropy = model.policy.evaluate_actions(observation, batch.actions)
    ratio = (logs - batch.log_probabilities).exp()
    advantages = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
    clipped = torch.clamp(ratio, 1 - config.clip_range, 1 + config.clip_range)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
    value_loss = mse_loss(batch.targets, values.flatten())
    total = policy_loss - 0.02 * entropy.mean() + 0.7 * value_loss

    found = losses_of(scorer, batch, config)

    expected = (total, policy_loss, value_loss, entropy.mean())
    torch.testing.assert_close((found.total, found.policy, found.value, found.entropy), expected)
    gradients = [torch.autograd.grad(loss, list(scorer.parameters())) for loss in (found.total, total)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)


def test_losses__away_from_the_frozen_start__cost(model, batch: Batch) -> None:
    scorer, config = model.policy.scorer, FastPpoConfig(prior={"kl": 2.0})
    start = scoring_with(scorer)(batch.decisions).log_softmax(-1)
    at_start = losses_of(scorer, batch._replace(prior=start), config)
    assert at_start.prior_kl.item() == pytest.approx(0.0, abs=1e-6)
    with torch.no_grad():
        scorer.linear.weights.add_(1.0)
    free, held = (losses_of(scorer, batch._replace(prior=p), config) for p in (batch.prior, start))
    assert held.prior_kl > 0.01
    torch.testing.assert_close(held.total, free.total + 2.0 * held.prior_kl)


def test_update__makes_good_actions_likelier_and_masked_ones_never_possible(model, batch: Batch) -> None:
    scorer = model.policy.scorer
    good = batch.decisions.candidates[:, :, 0] > 0.5
    chosen = good.gather(1, batch.actions.unsqueeze(1)).squeeze(1)
    batch = batch._replace(advantages=torch.where(chosen, 1.0, -1.0))
    before = scoring_with(scorer)(batch.decisions).softmax(-1)
    optimizer = torch.optim.Adam(scorer.parameters(), lr=0.01)
    config = FastPpoConfig(epochs=4, batch_decisions=16)
    update(scorer, optimizer, batch, config, torch.Generator().manual_seed(0))
    after = scoring_with(scorer)(batch.decisions).softmax(-1)
    assert after[good].mean() > before[good].mean() + 0.01
    assert (after[~batch.decisions.mask] == 0).all()


def test_update__beyond_the_target_kl__ends(model, batch: Batch) -> None:
    scorer = model.policy.scorer
    weights = scorer.linear.weights.detach().clone()
    optimizer = torch.optim.Adam(scorer.parameters(), lr=0.01)
    config = FastPpoConfig(batch_decisions=16, target_kl=1e-6)
    update(scorer, optimizer, batch, config, torch.Generator().manual_seed(0))
    torch.testing.assert_close(scorer.linear.weights.detach(), weights)
