"""What plays a single environment: a heuristic that it proposes, or an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from ssdgym.agents.playing.agents import Source
from ssdgym.agents.training.config import EnvironmentConfig, check_arguments
from ssdgym.errors import SsdgymError
from ssdgym.types import Observation

#: Chooses the action of one environment from its observation (1, ...), its info, and a generator.
Behaviour = Callable[[Observation, Mapping[str, Any], np.random.Generator], int]


def single(environment: EnvironmentConfig, **more: Any) -> VectorEnv:
    """Return a native vector environment of one device, whose episodes begin by `reset` alone.

    Args:
        environment: id and keyword arguments.
        more: keyword arguments of the vector environment.

    Raises:
        SsdgymError: there is no such environment, or it does not take the arguments.
    """
    check_arguments(environment.id, environment.kwargs)
    how = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "Disabled", **more}
    return gym.make_vec(environment.id, num_envs=1, **how, **environment.kwargs)


def heuristic(env: VectorEnv, policy: str) -> Behaviour:
    """Return the behaviour that takes what a proposer of the environment picks.

    Raises:
        SsdgymError: the environment has no such proposer. The behaviour raises it where that picks nothing.
    """
    proposers = tuple(env.metadata["proposers"])
    if not proposers:
        raise SsdgymError(
            f"policy {policy}: the environment has no proposers to play; give an agent instead."
        )
    if policy not in proposers:
        raise SsdgymError(
            f"policy {policy} is no proposer of the environment, which has {', '.join(proposers)}."
        )
    place = proposers.index(policy)

    def behave(observation: Observation, info: Mapping[str, Any], rng: np.random.Generator) -> int:
        pick = int(info["proposed"][0, place])
        if pick < 0:
            raise SsdgymError(f"policy {policy} picks none of the candidates of a decision; leave it out.")
        return pick

    return behave


def agent_behaviour(env: VectorEnv, source: Source) -> Behaviour:
    """Return the behaviour of an agent."""
    agent = source.build(env)

    def behave(observation: Observation, info: Mapping[str, Any], rng: np.random.Generator) -> int:
        return int(agent.act(observation, observation["action_mask"] != 0, rng)[0])

    return behave
