"""The update of PPO: gradient steps on the clipped objective, over the decisions of a rollout."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ssdgym.agents.config import FastPpoConfig
from ssdgym.agents.ppo.arrays import Arrays
from ssdgym.agents.ppo.decisions import Decisions
from ssdgym.agents.ppo.losses import Batch, Losses, losses_of
from ssdgym.agents.ppo.network import Network


class Lesson(NamedTuple):
    """All decisions of a rollout, M of them, to learn from.

    Attributes:
        decisions: M of them.
        actions: int64 (M,).
        log_probabilities: float32 (M,), of the actions when they were drawn.
        advantages: float32 (M,).
        targets: float32 (M,), of the values.
        prior: float32 (K, M), log-probabilities of the frozen start; (0, M) where it is not held to.
    """

    decisions: Decisions
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    targets: Tensor
    prior: Tensor

    def take(self, rows: Tensor, arrays: Arrays) -> Batch:
        """Return some of the decisions, with advantages normalised.

        Args:
            rows: int64 (b,), which.
            arrays: to write candidates to.
        """
        decisions, *numbers, prior = self
        actions, logs, advantages, targets = (part.index_select(0, rows) for part in numbers)
        if len(rows) > 1:
            deviation, mean = torch.std_mean(advantages)
            advantages = (advantages - mean) / (deviation + 1e-8)
        chosen = decisions.take(rows, arrays)
        return Batch(chosen, actions, logs, advantages, targets, prior.index_select(1, rows))


def update(
    network: Network,
    optimizer: torch.optim.Optimizer,
    lesson: Lesson,
    config: FastPpoConfig,
    generator: torch.Generator,
) -> Losses:
    """Take the gradient steps of an update.

    Args:
        network: that learns.
        optimizer: of its parameters.
        lesson: what to learn from.
        config: of the algorithm.
        generator: of the order of decisions.

    Returns:
        The losses of the last step.
    """
    for _ in range(config.epochs):
        order = torch.randperm(len(lesson.actions), generator=generator)
        for rows in order.split(config.batch_decisions):
            losses = gradient_of(network, lesson.take(rows, network.arrays), config)
            if config.target_kl is not None and losses.approx_kl > 1.5 * config.target_kl:
                return losses
            network.clip(config.max_gradient_norm)
            optimizer.step()
    return losses


def gradient_of(network: Network, batch: Batch, config: FastPpoConfig) -> Losses:
    """Write the gradient of the total loss to a network, and return the losses.

    Args:
        network: that learns.
        batch: what to learn from.
        config: coefficients.
    """
    network.refresh()
    with torch.no_grad():
        scores, values = network.actor.scores(batch.decisions), network.critic.values(batch.decisions)
        losses, slopes = losses_of(scores, values, batch, config)
        network.backward(batch.decisions, *slopes)
        network.finish()
    return losses
