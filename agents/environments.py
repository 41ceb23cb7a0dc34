"""The vector environments that a `TrainConfig` names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from ssdgym.agents.config import EnvironmentConfig
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError


def make_environment(config: EnvironmentConfig, n_envs: int, **overrides: Any) -> SB3VecEnv:
    """The native vector environment, as Stable-Baselines3 wants it.

    Args:
        config: id and keyword arguments.
        n_envs: number of environments.
        overrides: keyword arguments that replace those of `config`.

    Raises:
        SsdgymError: if the id is unknown, has no native vector environment, or does not take the arguments.
    """
    kwargs = {**config.kwargs, **overrides}
    check_arguments(config.id, kwargs)
    return SB3VecEnv(
        gym.make_vec(config.id, num_envs=n_envs, vectorization_mode="vector_entry_point", **kwargs)
    )


def check_arguments(env_id: str, kwargs: dict[str, Any]) -> None:
    """Check that a registered environment takes these keyword arguments; their values are not looked at.

    Raises:
        SsdgymError: if the id is unknown, has no native vector environment, or does not take the arguments.
    """
    parameters = inspect.signature(_entry_point(env_id)).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in kwargs:
        if name not in parameters:
            raise SsdgymError(
                f"environment.kwargs.{name}: {env_id} has no such argument; "
                f"it has {', '.join(sorted(set(parameters) - {'num_envs', 'self'}))}."
            )


def _entry_point(env_id: str) -> Callable[..., Any]:
    try:
        entry_point = gym.spec(env_id).vector_entry_point
    except gym.error.Error as error:
        raise SsdgymError(f"environment.id: {env_id!r} is not registered; correct it.") from error
    if entry_point is None:
        raise SsdgymError(f"environment.id: {env_id!r} has no native vector environment; choose another.")
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
