"""Rollouts, and generalised advantage estimation over them (Schulman et al., 2016)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from ssdgym.agents.training.ppo_network import Decisions, Network
from ssdgym.types import Observation

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


#: Chooses: of the actions drawn, int64 (N,), and the infos of the decisions, the actions to take.
Chooser = Callable[[np.ndarray, dict[str, Any]], np.ndarray]


@dataclass(frozen=True)
class Rollout:
    """T decisions of each of N environments; decision t of environment i is number `t * N + i` of all.

    The next rollout of the collector is written to the same arrays.

    Attributes:
        decisions: T N of them.
        scores: float32 (T N, K), of all candidates when they were drawn from.
        actions: int64 (T, N).
        rewards: float32 (T, N), as the environments gave them.
        values: float32 (T, N).
        next_values: float32 (T, N), of what came after; 0 where the episode terminated.
        ends: float32 (T, N), 1 where the episode ended.
        returns: undiscounted, of the episodes that ended.
    """

    decisions: Decisions
    scores: Tensor
    actions: Tensor
    rewards: Tensor
    values: Tensor
    next_values: Tensor
    ends: Tensor
    returns: list[float]


class Collector:
    """Plays a vector environment, rollout by rollout.

    Args:
        env: N environments that begin the next episode in the same step.
        network: that observes.
        steps: T, the decisions of each environment in a rollout.
    """

    def __init__(self, env: VectorEnv, network: Network, steps: int) -> None:
        self.env, self.network, self.steps = env, network, steps

    def begin(self, seed: int) -> None:
        """Begin new episodes, that of environment i with `seed + i`."""
        self._observation, self._infos = self.env.reset(seed=seed)
        shape = self.steps, self.env.num_envs
        self._running = np.zeros(shape[1])
        self._kept = Decisions.like(self.network.scorer, self._observation, shape[0] * shape[1])
        self._scores = torch.empty(*shape, self._kept.candidates.shape[1])
        self._actions = np.empty(shape, np.int64)
        self._rewards, self._ends, self._terminated = np.empty((3, *shape), np.float32)

    @torch.no_grad()
    def collect(self, generator: torch.Generator, choose: Chooser | None = None) -> Rollout:
        """Play on for T decisions in every environment, drawn, or chosen by `choose` of those drawn."""
        self._returns: list[float] = []
        self._cut_off: list[tuple[int, int, Observation]] = []
        self.network.refresh()
        count, noise = self.env.num_envs, gumbel(self._scores.shape, generator).numpy()
        for t in range(self.steps):
            now = self._kept.between(t * count, (t + 1) * count).write(self._observation)
            scores = self._scores[t] = self.network.actor.scores_as_kept(now)
            drawn = (scores.numpy() + noise[t]).argmax(1)
            self._step(t, drawn if choose is None else choose(drawn, self._infos))
        return self._rollout()

    def _rollout(self) -> Rollout:
        """Return what was played."""
        mask, rewards = self._kept.mask, torch.from_numpy(self._rewards)
        assert mask is not None, "these are arrays for any decisions"
        decisions = self._kept._replace(mask=None) if mask.all() else self._kept
        values = self._values(decisions).view_as(rewards)
        last = self._values(Decisions.of(self.network.scorer, self._observation))
        following = self._bootstrap(torch.cat([values[1:], last.unsqueeze(0)]))
        return Rollout(
            decisions=decisions,
            scores=self._scores.flatten(0, 1),
            actions=torch.from_numpy(self._actions),
            rewards=rewards,
            values=values,
            next_values=following * (1 - torch.from_numpy(self._terminated)),
            ends=torch.from_numpy(self._ends),
            returns=self._returns,
        )

    def _step(self, t: int, actions: np.ndarray) -> None:
        """Take the actions, and keep what follows."""
        self._observation, rewards, terminated, truncated, self._infos = self.env.step(actions)
        self._running += rewards
        over = terminated | truncated
        self._actions[t], self._rewards[t] = actions, rewards
        self._ends[t], self._terminated[t] = over, terminated
        for i in np.flatnonzero(over):
            self._returns.append(float(self._running[i]))
            self._running[i] = 0.0
            self._cut_off.append((t, int(i), _row(self._infos["final_obs"], int(i))))

    def _values(self, decisions: Decisions) -> Tensor:
        return torch.cat([self.network.critic.values(some) for some in decisions.split(self.network.arrays)])

    def _bootstrap(self, following: Tensor) -> Tensor:
        """Put the values of the last observations of episodes in place of the first ones of the next."""
        if self._cut_off:
            times, numbers, last = zip(*self._cut_off, strict=True)
            together = {key: np.stack([row[key] for row in last]) for key in last[0]}
            following[list(times), list(numbers)] = self._values(Decisions.of(self.network.scorer, together))
        return following


def _row(final: Any, i: int) -> Observation:
    """Return the last observation of environment i, of a dictionary of arrays or an array of such."""
    return {key: value[i] for key, value in final.items()} if isinstance(final, dict) else final[i]


def gumbel(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Return Gumbel noise: the candidate of the largest score plus noise is a draw from the softmax."""
    return torch.empty(shape).exponential_(generator=generator).log_().neg_()
