"""The losses of PPO and their derivatives by scores and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ssdgym.agents.config import FastPpoConfig
from ssdgym.agents.ppo.decisions import Part


class Batch(NamedTuple):
    """B decisions to take a gradient step on.

    Attributes:
        decisions: B of them.
        actions: int64 (B,).
        log_probabilities: float32 (B,), of the actions when they were drawn.
        advantages: float32 (B,), normalised.
        targets: float32 (B,), of the values.
        prior: float32 (K, B), log-probabilities of the frozen start; (0, B) where it is not held to.
    """

    decisions: Part
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    targets: Tensor
    prior: Tensor


@dataclass(frozen=True)
class Losses:
    """What a gradient step goes down, and what is watched, each the mean of a batch.

    Attributes:
        total: the weighted sum.
        policy: of the clipped objective.
        value: squared error of the values.
        entropy: of the policy.
        approx_kl: estimate of the KL divergence from the policy that played.
        prior_kl: KL divergence from the frozen start; 0 where it is not held to.
    """

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    prior_kl: Tensor


class Slopes(NamedTuple):
    """Derivatives of the total loss.

    Attributes:
        scores: by the scores, float32 (K, B).
        values: by the values, float32 (B,).
    """

    scores: Tensor
    values: Tensor


def losses_of(scores: Tensor, values: Tensor, batch: Batch, config: FastPpoConfig) -> tuple[Losses, Slopes]:
    """Return the losses of a batch, and their derivatives.

    Args:
        scores: float32 (K, B), -1e9 where masked.
        values: float32 (B,).
        batch: what to learn from.
        config: coefficients.
    """
    count, actions = len(values), batch.actions.unsqueeze(0)
    logs = scores.log_softmax(0)
    shares = logs.exp()
    changes = logs.gather(0, actions).squeeze(0) - batch.log_probabilities
    ratios = changes.exp()
    gains = ratios * batch.advantages
    clipped = ratios.clamp(1 - config.clip_range, 1 + config.clip_range) * batch.advantages
    # beyond the clip nothing is gained, so the slope is 0 there
    to_action = (gains * (gains <= clipped)) / -count
    to_scores = (shares * -to_action).scatter_add_(0, actions, to_action.unsqueeze(0))

    errors = values - batch.targets
    entropies = -(shares * logs).sum(0)
    if config.entropy_coefficient > 0:
        to_scores += shares * (logs + entropies) * (config.entropy_coefficient / count)
    policy, value = -torch.minimum(gains, clipped).mean(), errors.square().mean()
    entropy, prior_kl = entropies.mean(), torch.zeros(())
    total = policy + config.value_coefficient * value - config.entropy_coefficient * entropy
    if len(batch.prior):
        ratios_to_prior = logs - batch.prior
        divergences = (shares * ratios_to_prior).sum(0)
        prior_kl = divergences.mean()
        total = total + config.prior.kl * prior_kl
        to_scores += shares * (ratios_to_prior - divergences) * (config.prior.kl / count)
    approx_kl = (ratios - 1 - changes).mean()  # the third estimator of Schulman, 2020
    losses = Losses(total, policy, value, entropy, approx_kl, prior_kl)
    return losses, Slopes(to_scores, errors * (2 * config.value_coefficient / count))
