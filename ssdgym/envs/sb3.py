"""An adapter of Gymnasium's vector environments to Stable-Baselines3, without subprocesses."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from ssdgym.envs.vector import DecisionVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.types import Observation

Indices = int | Iterable[int] | None
#: Observations of any environment. Environments of ssdgym return dictionaries of arrays.
AnyObservation = np.ndarray | Observation


class SB3VecEnv(VecEnv):
    """A Gymnasium `VectorEnv` with the interface of Stable-Baselines3's `VecEnv`.

    Each `step` calls the vector environment once. Observations and rewards are copies, so you can store
    them even if the vector environment overwrites its arrays.

    The infos follow the conventions of Stable-Baselines3: a list with one dictionary for each environment.
    The dictionary is empty while an episode runs. At the end of an episode it contains
    `terminal_observation`, `TimeLimit.truncated`, `episode` (`r` return, `l` length in steps, `t` seconds
    since the adapter was made) and the entries of Gymnasium's `final_info`.

    Args:
        vector_env: an environment that resets in the same step (`AutoresetMode.SAME_STEP`). A vector
            environment of ssdgym without a wrapper is switched to this mode.

    Attributes:
        last_infos: the infos of the last reset or step, as the vector environment returned them.
        reward_offset: number added to every returned reward, but not to the return in `episode`; 0 by
            default. If the discount is close to 1, set it to minus the mean reward, so that values stay
            near 0 (reward centering: Naik, Wan, Tomar, Sutton, 2024).

    Raises:
        SsdgymError: the environment has another autoreset mode, in which Stable-Baselines3 would learn from
            resets as if they were transitions.
    """

    def __init__(self, vector_env: VectorEnv) -> None:
        if isinstance(vector_env, DecisionVectorEnv):
            vector_env.reset_in_the_same_step()
        mode = vector_env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise SsdgymError(
                f"{vector_env}: autoreset_mode is {mode}, but Stable-Baselines3 needs "
                "AutoresetMode.SAME_STEP; construct the vector environment with that mode."
            )
        self.vector_env = vector_env
        self.last_infos: dict[str, Any] = {}
        self.reward_offset = 0.0
        super().__init__(
            vector_env.num_envs, vector_env.single_observation_space, vector_env.single_action_space
        )
        self._started = time.perf_counter()
        self._returns = np.zeros(self.num_envs, dtype=np.float64)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)
        self._actions: np.ndarray | None = None

    def reset(self) -> AnyObservation:
        """Reset every environment; use the arguments of `seed` and `set_options` for this reset only."""
        options = self._common_options()
        # `seed(s)` sets the seeds s + i; Gymnasium computes the same seeds from the first one.
        observation, self.last_infos = self.vector_env.reset(seed=self._seeds[0], options=options)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return _copy(observation)

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions, shape (n,), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[AnyObservation, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Carry out the stored actions; return observations, rewards float32 (n,), dones bool (n,), infos."""
        observation, rewards, terminated, truncated, infos = self.vector_env.step(self._actions)
        self.last_infos = infos
        self._returns += rewards
        self._lengths += 1
        dones = np.logical_or(terminated, truncated)
        sb3_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(dones):
            sb3_infos[i] = self._end_episode(int(i), infos, bool(truncated[i] and not terminated[i]))
        return _copy(observation), (rewards + self.reward_offset).astype(np.float32), dones, sb3_infos

    def close(self) -> None:
        """Close the vector environment."""
        self.vector_env.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of the vector environment (not of single environments), once per index."""
        value = self._lookup(attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of the vector environment (not of single environments).

        Raises:
            SsdgymError: `indices` names only some of the environments.
        """
        if indices is not None and sorted(self._get_indices(indices)) != list(range(self.num_envs)):
            raise SsdgymError(f"set_attr({attr_name!r}): the environments share it; leave `indices` out.")
        setattr(self.vector_env.unwrapped, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment once; return the elements of its result at `indices`.

        Raises:
            SsdgymError: the result does not have one element per environment.
        """
        batch = self._lookup(method_name)(*method_args, **method_kwargs)
        if not isinstance(batch, (np.ndarray, Sequence)) or len(batch) != self.num_envs:
            raise SsdgymError(
                f"env_method({method_name!r}): expected one value for each of the {self.num_envs} "
                f"environments, got {type(batch).__name__}; call it on `vector_env` instead."
            )
        return [batch[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: Indices = None) -> list[bool]:
        """Return True for each index if the class is `Monitor`, since infos contain `episode`, else False."""
        wrapped = issubclass(wrapper_class, Monitor)
        return [wrapped for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[Any]:
        """Return the frames that the vector environment renders, one per environment; else None for each."""
        return self.vector_env.render() or [None] * self.num_envs

    def _lookup(self, name: str) -> Any:
        if hasattr(self.vector_env, name):
            return getattr(self.vector_env, name)
        return getattr(self.vector_env.unwrapped, name)

    def _common_options(self) -> dict[str, Any] | None:
        first = self._options[0]
        if any(options != first for options in self._options):
            raise SsdgymError("set_options: a native vector environment takes one dictionary for all.")
        return first or None

    def _end_episode(self, i: int, infos: dict[str, Any], time_limit: bool) -> dict[str, Any]:
        info = _row_of_info(infos["final_info"], i) if "final_info" in infos else {}
        final = infos["final_obs"]  # a dictionary of arrays, or an array of objects
        row = {key: value[i] for key, value in final.items()} if isinstance(final, dict) else final[i]
        info["terminal_observation"] = _copy(row)
        info["TimeLimit.truncated"] = time_limit
        info["episode"] = {
            "r": float(self._returns[i]),
            "l": int(self._lengths[i]),
            "t": round(time.perf_counter() - self._started, 6),
        }
        self._returns[i] = 0.0
        self._lengths[i] = 0
        return info


def _copy(observation: AnyObservation) -> AnyObservation:
    if isinstance(observation, dict):
        return {key: value.copy() for key, value in observation.items()}
    return observation.copy()


def _row_of_info(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the entries of environment `i` in Gymnasium's batched info, with numbers of Python's types.

    The entry `_key` is the mask of `key`: which environments have the entry.
    """
    row: dict[str, Any] = {}
    for key, value in infos.items():
        if key.startswith("_") and key[1:] in infos:
            continue
        mask = infos.get(f"_{key}")
        if mask is None or mask[i]:
            row[key] = _row_of_info(value, i) if isinstance(value, dict) else _plain(value[i])
    return row


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
