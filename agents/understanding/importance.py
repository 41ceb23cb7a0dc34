"""Permutation importance: what a run costs more where a feature tells the agent nothing.

After Breiman, "Random forests", Machine Learning 45, 2001, section 10; here whole runs are compared and not
single predictions, since what a worse choice costs shows later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ssdgym.agents.playing.episodes import play
from ssdgym.agents.playing.protocol import Agent
from ssdgym.agents.understanding.recording import record
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.types import Observation


def permutation_importance(
    agent: Agent,
    env: SB3VecEnv,
    first_seed: int,
    metric: str = "write_amplification",
    features: Sequence[str] | None = None,
    report: Callable[[str], None] = lambda name: None,
) -> dict[str, np.ndarray]:
    """Return by how much each feature's loss raises a metric of whole runs.

    A feature of candidates is shuffled among the valid candidates of each decision, so that its values stay
    what they are. One of the context is replaced by a value that it had in another decision of the agent's
    own run.

    Args:
        agent: that plays.
        env: n environments that observe candidates.
        first_seed: of the seeds of the episodes, the same for every feature.
        metric: of the episodes.
        features: names of those that are shuffled; `None`: all that the environment observes.
        report: called with each name when its runs are over.

    Returns:
        By name: metric with the feature lost / metric without loss - 1, float64 (n,).
    """
    decisions, metrics = record(agent, env, first_seed)
    own = _values(metrics, metric)
    names = decisions.names
    losses: dict[str, Agent] = {
        name: _Shuffled(agent, column, first_seed) for column, name in enumerate(names.candidates)
    }
    losses |= {
        name: _Redrawn(agent, entry, decisions.context[:, entry], first_seed)
        for entry, name in enumerate(names.context)
    }
    found = {}
    for name in losses if features is None else features:
        episodes = play(losses[name], env, first_seed)
        found[name] = _values([episode["metrics"] for episode in episodes], metric) / own - 1.0
        report(name)
    return found


def _values(metrics: Sequence[dict[str, Any]], metric: str) -> np.ndarray:
    return np.array([episode[metric] for episode in metrics], np.float64)


class _Shuffled:
    """An agent to which a feature of candidates says nothing.

    Its draws are its own, so that those of an agent that draws stay what they are.
    """

    def __init__(self, agent: Agent, column: int, seed: int) -> None:
        self._agent = agent
        self._column = column
        self._rng = np.random.default_rng([seed, column])

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        candidates = observation["candidates"].copy()
        for row, valid in zip(candidates, mask, strict=True):
            row[valid, self._column] = self._rng.permutation(row[valid, self._column])
        return self._agent.act({**observation, "candidates": candidates}, mask, rng)


class _Redrawn:
    """An agent to which a feature of the context says nothing."""

    def __init__(self, agent: Agent, entry: int, values: np.ndarray, seed: int) -> None:
        self._agent = agent
        self._entry = entry
        self._values = values
        self._rng = np.random.default_rng([seed, entry])

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        context = observation["context"].copy()
        context[:, self._entry] = self._rng.choice(self._values, len(context))
        return self._agent.act({**observation, "context": context}, mask, rng)
