"""Generalised advantage estimation (Schulman et al., 2016), and rewards of the size that it needs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

#: How far mean and deviation of the rewards follow those of the latest rollout.
_RATE = 0.1


@dataclass
class RewardScale:
    """Takes off a running mean of the rewards and divides by their running deviation.

    What a decision costs is nearly all mean; discounted over a thousand decisions, the mean drowns what
    choices change (reward centring: Naik, Wan, Tomar, Sutton, 2024).

    Attributes:
        mean: of rewards.
        deviation: of rewards, or of returns; 0 before the first rollout.
        gamma: discount of the returns that are to vary by 1; 0: rewards are.
    """

    mean: float = 0.0
    deviation: float = 0.0
    gamma: float = 0.0

    def update(self, rewards: Tensor) -> None:
        """Follow the rewards of a rollout; the first ones are taken as they are."""
        mean, deviation = rewards.mean().item(), self._returns(rewards).std().item() + 1e-8
        rate = _RATE if self.deviation else 1.0
        self.mean += rate * (mean - self.mean)
        self.deviation += rate * (deviation - self.deviation)

    def _returns(self, rewards: Tensor) -> Tensor:
        """Return the centred rewards of a rollout with all that came before them in it, discounted."""
        returns, before = rewards - rewards.mean(), torch.zeros_like(rewards[0])
        for row in returns if self.gamma else ():
            before = row.add_(before, alpha=self.gamma)
        return returns

    def apply(self, rewards: Tensor) -> Tensor:
        """Return rewards, centred and scaled."""
        return (rewards - self.mean) / self.deviation


def advantages_of(
    rewards: Tensor, values: Tensor, next_values: Tensor, ends: Tensor, gamma: float, gae_lambda: float
) -> Tensor:
    """Return the advantages of the actions of a rollout, (T, N).

    Args:
        rewards: (T, N).
        values: (T, N), of the decisions.
        next_values: (T, N), of what came after each; of the last observation where the episode was cut off
            there, and 0 where it terminated.
        ends: (T, N), 1 where the episode ended with the decision, else 0.
        gamma: discount per decision.
        gae_lambda: bias against variance.
    """
    deltas = rewards + gamma * next_values - values
    keeps = gamma * gae_lambda * (1 - ends)
    advantages = torch.empty_like(rewards)
    last = torch.zeros_like(rewards[0])
    for t in range(len(rewards) - 1, -1, -1):
        last = torch.addcmul(deltas[t], keeps[t], last, out=advantages[t])
    return advantages
