"""The registered environments that agents are trained and evaluated in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from ssdgym.config.loading import Config
from ssdgym.envs.options import Options
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.envs.sb3 import SB3VecEnv


class EnvironmentConfig(Config):
    """A registered environment with a `vector_entry_point`, and its keyword arguments."""

    id: str = "ssdgym/EraseVictim-v0"
    kwargs: dict[str, Any] = {}


def make_environment(config: EnvironmentConfig, n_envs: int, **overrides: Any) -> SB3VecEnv:
    """Make a native vector environment with the interface of Stable-Baselines3.

    Args:
        config: id and keyword arguments.
        n_envs: number of environments.
        **overrides: keyword arguments that replace those of `config`.

    Raises:
        SsdgymError: if the id is unknown, has no native vector environment, or does not take the arguments.
    """
    from ssdgym.envs.sb3 import SB3VecEnv  # needs the packages of the extra `agents`

    kwargs = {**config.kwargs, **overrides}
    check_arguments(config.id, kwargs)
    return SB3VecEnv(
        gym.make_vec(config.id, num_envs=n_envs, vectorization_mode="vector_entry_point", **kwargs)
    )


def thread_arguments(env_id: str, threads: int) -> dict[str, int]:
    """Return the keyword arguments that let an environment use so many threads; none if it has no choice."""
    return {"threads": threads} if "threads" in inspect.signature(_entry_point(env_id)).parameters else {}


def check_arguments(env_id: str, kwargs: dict[str, Any]) -> None:
    """Check that a registered environment takes keyword arguments; their values are not looked at.

    Args:
        env_id: of the environment.
        kwargs: by name.

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


def default_of(env_id: str, argument: str) -> Any:
    """Return the default of an argument of a registered environment.

    Args:
        env_id: of an environment of ssdgym.
        argument: name of the argument.

    Raises:
        SsdgymError: if the id is unknown, has no native vector environment, or does not take the argument.
    """
    check_arguments(env_id, {argument: None})
    return inspect.signature(_entry_point(env_id)).parameters[argument].default


def decision_arguments(env_id: str) -> tuple[str, ...]:
    """Name the arguments that describe the decision of an environment; none if it is not one of ssdgym's.

    Raises:
        SsdgymError: if the id is unknown or has no native vector environment.
    """
    options: type[Options] | None = getattr(_entry_point(env_id), "options_type", None)
    return () if options is None else options.decision_arguments()


def _entry_point(env_id: str) -> Callable[..., Any]:
    try:
        entry_point = gym.spec(env_id).vector_entry_point
    except gym.error.Error as error:
        raise SsdgymError(f"environment.id: {env_id!r} is not registered; correct it.") from error
    if entry_point is None:
        raise SsdgymError(f"environment.id: {env_id!r} has no native vector environment; choose another.")
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
