"""Evaluation of an agent on seeds that it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ssdgym.agents.learning.metrics import metric_of
from ssdgym.agents.playing.episodes import play
from ssdgym.agents.playing.protocol import Agent
from ssdgym.envs.sb3 import SB3VecEnv


def validate(
    agent: Agent, batches: Sequence[SB3VecEnv], first_seed: int, metric: str | None = None
) -> dict[str, float]:
    """Play one whole episode in every environment, without exploration.

    Args:
        agent: the one to evaluate.
        batches: of n environments each.
        first_seed: seed of environment 0 of each batch; environment i has `first_seed + i`.
        metric: whose geometric mean is the score, nested names joined by `/`; less is better.

    Returns:
        `return_mean` and `return_min`, undiscounted, `reward_mean` per decision, and the mean of every metric
        that is a number; where a metric is named, `score`: minus the mean of its logarithm.

    Raises:
        SsdgymError: the episodes have no such metric.
    """
    episodes = [episode for env in batches for episode in play(agent, env, first_seed)]
    returns = [episode["episode"]["r"] for episode in episodes]
    decisions = sum(episode["episode"]["l"] for episode in episodes)
    row = {
        "return_mean": float(np.mean(returns)),
        "return_min": float(np.min(returns)),
        "reward_mean": float(np.sum(returns)) / decisions,
    }
    if metric is not None:
        values = [metric_of(episode.get("metrics", {}), metric, "evaluation.metric") for episode in episodes]
        row["score"] = -float(np.log(values).mean())
    return {**row, **mean_metrics(episodes)}


def score_of(row: Mapping[str, Any]) -> float:
    """Return what the best agent is chosen by: the score of a validation, or else the mean return."""
    return float(row.get("score", row["return_mean"]))


def mean_metrics(episodes: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of every metric that is a plain number, over the episodes in which it is one.

    Args:
        episodes: their infos.
    """
    metrics = [episode.get("metrics", {}) for episode in episodes]
    numbers: dict[str, list[float]] = {}
    for metric in metrics:
        for key, value in metric.items():
            if isinstance(value, (int, float)):
                numbers.setdefault(key, []).append(value)
    return {key: float(np.mean(values)) for key, values in numbers.items()}
