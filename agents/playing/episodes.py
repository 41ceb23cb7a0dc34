"""Whole episodes: one in every environment of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ssdgym.agents.playing.protocol import Agent
from ssdgym.types import Observation

if TYPE_CHECKING:
    from ssdgym.envs.sb3 import SB3VecEnv

#: Called with (observation, infos of the batch, actions, numbers of the environments that still count).
Watch = Callable[[Observation, dict[str, Any], np.ndarray, np.ndarray], None]


def play(agent: Agent, env: SB3VecEnv, first_seed: int, watch: Watch | None = None) -> list[dict[str, Any]]:
    """Play one whole episode in every environment.

    Environments whose episode is over go on with others, which do not count, until all are.

    Args:
        agent: takes the decisions.
        env: n environments.
        first_seed: seed of environment 0; environment i has `first_seed + i`.
        watch: called before every step.

    Returns:
        For each environment the info at the end of its episode, with `episode` and `metrics`.
    """
    rng = np.random.default_rng(first_seed)
    env.seed(first_seed)
    observation: Any = env.reset()
    finals: dict[int, dict[str, Any]] = {}
    while len(finals) < env.num_envs:
        actions = np.asarray(agent.act(observation, observation["action_mask"] != 0, rng))
        if watch is not None:
            counting = np.array([i for i in range(env.num_envs) if i not in finals])
            watch(observation, env.last_infos, actions, counting)
        observation, _, dones, infos = env.step(actions)
        for i in np.flatnonzero(dones):
            finals.setdefault(int(i), infos[i])
    return [finals[i] for i in range(env.num_envs)]
