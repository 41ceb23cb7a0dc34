"""Evaluation of an agent on seeds that it was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssdgym.agents.playing.episodes import play
from ssdgym.agents.playing.protocol import Agent
from ssdgym.envs.sb3 import SB3VecEnv


def validate(agent: Agent, env: SB3VecEnv, first_seed: int) -> dict[str, float]:
    """Play one whole episode in every environment, without exploration.

    Args:
        agent: the one to evaluate.
        env: n environments.
        first_seed: seed of environment 0; environment i has `first_seed + i`.

    Returns:
        `return_mean` and `return_min`, undiscounted, `reward_mean` per decision, and the mean of every metric
        that is a number.
    """
    episodes = play(agent, env, first_seed)
    returns = [episode["episode"]["r"] for episode in episodes]
    decisions = sum(episode["episode"]["l"] for episode in episodes)
    row = {
        "return_mean": float(np.mean(returns)),
        "return_min": float(np.min(returns)),
        "reward_mean": float(np.sum(returns)) / decisions,
    }
    return {**row, **_means(episodes)}


def _means(episodes: list[dict[str, Any]]) -> dict[str, float]:
    """Return the mean over the episodes of every metric that is a plain number."""
    metrics = [episode.get("metrics", {}) for episode in episodes]
    numbers = [key for key, value in metrics[0].items() if isinstance(value, (int, float))]
    return {key: float(np.mean([metric[key] for metric in metrics])) for key in numbers}
