"""Losses and gradients are those of the plain formulas, and of Stable-Baselines3."""

import pytest
import torch
from sb3_contrib import MaskablePPO
from torch.nn.functional import mse_loss

from ssdgym.agents.training.config import FastPpoConfig
from ssdgym.agents.training.ppo_learner import Batch, gradient_of, losses_of, take
from ssdgym.agents.training.ppo_network import Arrays, Decisions, Minibatch, Network

CONFIG = FastPpoConfig(entropy_coefficient=0.02, value_coefficient=0.7, prior={"kl": 0.3})


def plain_total(scores: torch.Tensor, values: torch.Tensor, minibatch: Batch[Minibatch]) -> torch.Tensor:
    """Return the total loss, written as in the papers, of scores (K, B) and values (B,)."""
    logs = torch.log_softmax(scores, dim=0)
    ratio = torch.exp(logs.gather(0, minibatch.actions.unsqueeze(0)).squeeze(0) - minibatch.log_probabilities)
    clipped = torch.clamp(ratio, 1 - CONFIG.clip_range, 1 + CONFIG.clip_range)
    policy = -torch.min(ratio * minibatch.advantages, clipped * minibatch.advantages).mean()
    entropy = -(logs.exp() * logs).sum(0).mean()
    kl = torch.zeros(())
    if len(minibatch.prior):
        kl = (logs.exp() * (logs - minibatch.prior)).sum(0).mean()
    return policy - 0.02 * entropy + 0.7 * mse_loss(values, minibatch.targets) + 0.3 * kl


@pytest.mark.parametrize("held", [False, True])
def test_losses__gradients__are_the_derivatives_of_the_plain_formula(
    batch: Batch[Decisions], held: bool
) -> None:
    minibatch = take(batch, torch.arange(len(batch.actions)), Arrays())
    assert minibatch.decisions.mask is not None
    scores = (
        torch.randn(minibatch.decisions.mask.shape)
        .masked_fill(~minibatch.decisions.mask, -1e9)
        .requires_grad_()
    )
    values = torch.randn(len(minibatch.actions), requires_grad=True)
    if held:
        prior = torch.randn(scores.shape).masked_fill(~minibatch.decisions.mask, -1e9).log_softmax(0)
        minibatch = minibatch._replace(prior=prior)
    total = plain_total(scores, values, minibatch)

    losses, *gradients = losses_of(scores.detach(), values.detach(), minibatch, CONFIG)

    torch.testing.assert_close(losses.total, total, rtol=1e-5, atol=1e-5)
    expected = torch.autograd.grad(total, (scores, values))
    torch.testing.assert_close(tuple(gradients), expected, rtol=1e-5, atol=1e-7)
    assert (losses.prior_kl > 0.01) == held


def test_gradient__equals_that_of_stable_baselines3(model: MaskablePPO, batch: Batch[Decisions]) -> None:
    config = CONFIG.model_copy(update={"prior": FastPpoConfig().prior})
    scorer = model.policy.scorer
    decisions = batch.decisions
    assert decisions.mask is not None
    context = len(model.observation_space["context"].low)
    observation = {
        "candidates": decisions.candidates[:, :, :-1],
        "context": decisions.context[:, :context],
        "action_mask": decisions.mask,
    }
    # as in MaskablePPO.train
    values, logs, entropy = model.policy.evaluate_actions(observation, batch.actions)
    ratio = (logs - batch.log_probabilities).exp()
    advantages = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
    clipped = torch.clamp(ratio, 1 - config.clip_range, 1 + config.clip_range)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
    value_loss = mse_loss(batch.targets, values.flatten())
    total = policy_loss - 0.02 * entropy.mean() + 0.7 * value_loss
    by_pytorch = torch.autograd.grad(total, list(scorer.parameters()))

    network = Network(scorer)
    found = gradient_of(network, take(batch, torch.arange(len(batch.actions)), network.arrays), config)

    expected = (total, policy_loss, value_loss, entropy.mean())
    torch.testing.assert_close((found.total, found.policy, found.value, found.entropy), expected)
    gradient = torch.cat([part.flatten() for part in by_pytorch])
    torch.testing.assert_close(network.parameters.grad, gradient, rtol=1e-5, atol=1e-5)


def test_losses__away_from_the_frozen_start__cost(model: MaskablePPO, batch: Batch[Decisions]) -> None:
    network, config = Network(model.policy.scorer), FastPpoConfig(prior={"kl": 2.0})
    minibatch = take(batch, torch.arange(len(batch.actions)), network.arrays)
    start = network.actor.scores(minibatch.decisions).log_softmax(0)
    at_start = gradient_of(network, minibatch._replace(prior=start), config)
    assert at_start.prior_kl.item() == pytest.approx(0.0, abs=1e-6)
    with torch.no_grad():
        network.scorer.linear.weights.add_(1.0)
    free, held = (gradient_of(network, minibatch._replace(prior=p), config) for p in (minibatch.prior, start))
    assert held.prior_kl > 0.01
    torch.testing.assert_close(held.total, free.total + 2.0 * held.prior_kl)
