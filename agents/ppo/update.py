"""The update of PPO: gradient steps on the clipped objective, over the decisions of a rollout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from ssdgym.agents.config import FastPpoConfig
from ssdgym.agents.ppo.scoring import Decisions, scores_and_values
from ssdgym.agents.scorer import CandidateScorer


class Batch(NamedTuple):
    """B decisions to learn from.

    Attributes:
        decisions: B of them.
        actions: int64 (B,).
        log_probabilities: float32 (B,), of the actions when they were drawn.
        advantages: float32 (B,).
        targets: float32 (B,), of the values.
        prior: float32 (B, K), log-probabilities of the frozen start; (B, 0) where it is not held to.
    """

    decisions: Decisions
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    targets: Tensor
    prior: Tensor

    def take(self, rows: Tensor) -> Batch:
        """Return some rows, int64 (b,)."""
        decisions, *others = self
        return Batch(decisions.take(rows), *(part.index_select(0, rows) for part in others))


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


def losses_of(scorer: CandidateScorer, batch: Batch, config: FastPpoConfig) -> Losses:
    """Return the losses of a batch.

    Args:
        scorer: the network.
        batch: what to learn from.
        config: coefficients.
    """
    scores, values = scores_and_values(scorer, batch.decisions)
    logs = scores.log_softmax(-1)
    changes = logs.gather(1, batch.actions.unsqueeze(1)).squeeze(1) - batch.log_probabilities
    ratios = changes.exp()
    advantages = batch.advantages
    if len(advantages) > 1:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratios.clamp(1 - config.clip_range, 1 + config.clip_range)
    policy = -torch.min(ratios * advantages, clipped * advantages).mean()
    value = (values - batch.targets).square().mean()
    total = policy + config.value_coefficient * value
    # what no coefficient weighs is only watched
    with torch.set_grad_enabled(config.entropy_coefficient > 0):
        entropy = -(logs.exp() * logs).sum(-1).mean()
    total = total - config.entropy_coefficient * entropy
    prior_kl = torch.zeros(())
    if batch.prior.shape[1]:
        prior_kl = (logs.exp() * (logs - batch.prior)).sum(-1).mean()
        total = total + config.prior.kl * prior_kl
    approx_kl = (ratios - 1 - changes).detach().mean()  # the third estimator of Schulman, 2020
    return Losses(total, policy, value, entropy, approx_kl, prior_kl)


def update(
    scorer: CandidateScorer,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    config: FastPpoConfig,
    generator: torch.Generator,
) -> Losses:
    """Take the gradient steps of an update.

    Args:
        scorer: the network.
        optimizer: of its parameters.
        batch: all decisions of a rollout.
        config: of the algorithm.
        generator: of the order of decisions.

    Returns:
        The losses of the last step.
    """
    parameters = list(scorer.parameters())
    for _ in range(config.epochs):
        order = torch.randperm(len(batch.actions), generator=generator)
        for rows in order.split(config.batch_decisions):
            losses = losses_of(scorer, batch.take(rows), config)
            if config.target_kl is not None and losses.approx_kl > 1.5 * config.target_kl:
                return losses
            optimizer.zero_grad()
            losses.total.backward()
            clip_grad_norm_(parameters, config.max_gradient_norm)
            optimizer.step()
    return losses
