"""Collect decisions from a native vector environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from ssdgym.agents.ppo.scoring import Decisions, scoring_with, values_of
from ssdgym.agents.scorer import CandidateScorer
from ssdgym.types import Observation

#: Chooses: of the scores (N, K) of N decisions, and their infos, the actions int64 (N,).
Chooser = Callable[[Tensor, dict[str, Any]], Tensor]


@dataclass(frozen=True)
class Rollout:
    """T decisions of each of N environments; in flat arrays, row `t * N + i` is decision t of environment i.

    Attributes:
        decisions: T N of them.
        scores: float32 (T N, K), of all candidates when they were drawn from.
        actions: int64 (T N,).
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


class _Played(NamedTuple):
    """T decisions in each of N environments, arrays (T, N, ...); the first three are those of `Decisions`."""

    candidates: Tensor
    around: Tensor
    mask: Tensor
    scores: Tensor
    actions: Tensor
    rewards: Tensor
    ends: Tensor
    terminated: Tensor

    @classmethod
    def empty(cls, steps: int, first: Decisions) -> _Played:
        """Return arrays for decisions of the shape of the first ones."""
        candidates, around, mask = (torch.empty(steps, *part.shape, dtype=part.dtype) for part in first)
        shape = mask.shape[:2]
        actions = torch.empty(shape, dtype=torch.int64)
        numbers = (torch.empty(shape) for _ in range(3))
        return cls(candidates, around, mask, torch.empty(mask.shape), actions, *numbers)


class Collector:
    """Plays a vector environment, rollout by rollout.

    Args:
        env: N environments that begin the next episode in the same step.
        scorer: the network that scores the candidates.
        steps: T, the decisions of each environment in a rollout.
    """

    def __init__(self, env: VectorEnv, scorer: CandidateScorer, steps: int) -> None:
        self.env, self.scorer, self.steps = env, scorer, steps

    def begin(self, seed: int) -> None:
        """Begin new episodes.

        Args:
            seed: of the first environment; that of environment i is larger by i.
        """
        self._observation, self._infos = self.env.reset(seed=seed)
        self._running = np.zeros(self.env.num_envs)

    def collect(self, choose: Chooser) -> Rollout:
        """Play on for T decisions in every environment.

        Args:
            choose: takes the decisions.
        """
        self._returns: list[float] = []
        self._cut_off: list[tuple[int, int, Observation]] = []
        score = scoring_with(self.scorer)
        played = _Played.empty(self.steps, self._look(self._observation))
        for t in range(self.steps):
            now = _Played(*(part[t] for part in played))
            for kept, part in zip(now, self._look(self._observation), strict=False):
                kept.copy_(part)
            now.scores.copy_(score(Decisions(*now[:3])))
            now.actions.copy_(choose(now.scores, self._infos))
            self._step(t, now)
        decisions = Decisions(*(part.flatten(0, 1) for part in played[:3]))
        values = self._values(decisions).view_as(played.rewards)
        following = torch.cat([values[1:], self._values(self._look(self._observation)).unsqueeze(0)])
        return Rollout(
            decisions=decisions,
            scores=played.scores.flatten(0, 1),
            actions=played.actions.flatten(),
            rewards=played.rewards,
            values=values,
            next_values=self._bootstrap(following) * (1 - played.terminated),
            ends=played.ends,
            returns=self._returns,
        )

    def _step(self, t: int, now: _Played) -> None:
        """Take the actions, and keep what follows."""
        self._observation, rewards, terminated, truncated, self._infos = self.env.step(now.actions.numpy())
        self._running += rewards
        over = np.logical_or(terminated, truncated)
        for kept, seen in zip(now[5:], (rewards, over, terminated), strict=True):
            kept.copy_(torch.from_numpy(seen))
        for i in np.flatnonzero(over):
            self._returns.append(float(self._running[i]))
            self._running[i] = 0.0
            self._cut_off.append((t, int(i), _row(self._infos["final_obs"], int(i))))

    def _look(self, observation: Observation) -> Decisions:
        """Return an observation as the scorer reads it, partly in the arrays of the environment."""
        candidates, context, mask = (
            torch.from_numpy(observation[key]) for key in ("candidates", "context", "action_mask")
        )
        return Decisions.of(self.scorer, candidates, context, mask != 0)

    def _values(self, decisions: Decisions) -> Tensor:
        return torch.cat([values_of(self.scorer, part) for part in decisions.split()])

    def _bootstrap(self, following: Tensor) -> Tensor:
        """Put the values of the last observations of episodes in place of the first ones of the next."""
        if self._cut_off:
            times, numbers, last = zip(*self._cut_off, strict=True)
            together = {key: np.stack([row[key] for row in last]) for key in last[0]}
            following[list(times), list(numbers)] = self._values(self._look(together))
        return following


def _row(final: Any, i: int) -> Observation:
    """Return the last observation of environment i, of a dictionary of arrays or an array of such."""
    return {key: value[i] for key, value in final.items()} if isinstance(final, dict) else final[i]


def draw(scores: Tensor, generator: torch.Generator) -> Tensor:
    """Draw an action of each decision from the softmax of its scores, int64 (N,).

    Args:
        scores: float32 (N, K), -1e9 where masked.
        generator: of the draws.
    """
    # the largest of the scores plus noise of Gumbel's distribution is such a draw (Gumbel-max trick)
    waits = torch.empty_like(scores).exponential_(generator=generator)
    return (scores - waits.log_()).argmax(-1)
