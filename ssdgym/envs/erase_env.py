"""What the environments of ERASE decisions have in common: the single one and the native vector one.

Which erase sets are offered is for the ``options`` to say; an environment of its own is a subclass with its
arguments and their documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ssdgym.envs.episodes import Episodes, Options
from ssdgym.envs.features import CANDIDATE_FEATURES, CONTEXT_FEATURES
from ssdgym.errors import SsdgymError

_SEEDS = 2**31 - 1


def names_of(proposers: Sequence[str]) -> tuple[str, ...]:
    """The proposers as options keep them."""
    if isinstance(proposers, str) or not isinstance(proposers, Sequence):
        raise SsdgymError(f"proposers must be a list of policies, not {proposers!r}.")
    return tuple(proposers)


def _spaces(candidates: int) -> tuple[gym.spaces.Dict, gym.spaces.Discrete]:
    def columns(features: Any, rows: tuple[int, ...]) -> gym.spaces.Box:
        low = np.array([feature.low for feature in features], np.float32)
        high = np.array([feature.high for feature in features], np.float32)
        shape = (*rows, len(features))
        return gym.spaces.Box(
            np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy(), dtype=np.float32
        )

    observation = gym.spaces.Dict(
        candidates=columns(CANDIDATE_FEATURES, (candidates,)),
        context=columns(CONTEXT_FEATURES, ()),
        action_mask=gym.spaces.Box(0, 1, (candidates,), np.int8),
    )
    return observation, gym.spaces.Discrete(candidates)


class EraseEnv(gym.Env[dict[str, np.ndarray], np.int64]):
    """One device whose erases the agent chooses."""

    metadata = {"render_modes": []}

    def __init__(self, options: Options, render_mode: str | None) -> None:
        self.episodes = Episodes(options, 1)
        self.observation_space, self.action_space = _spaces(self.episodes.candidates)  # type: ignore[assignment]
        self.render_mode = render_mode
        self._ended = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin an episode: the one of ``seed``, or the next one drawn."""
        super().reset(seed=seed)
        episode_seed = seed if seed is not None else int(self.np_random.integers(_SEEDS))
        self.episodes.start([0], [episode_seed])
        self._ended = False
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Erase the chosen candidate and run to the next decision."""
        if self._ended:
            raise SsdgymError(
                "step was called on an episode that is over or has not begun; call reset first."
            )
        reward, terms = self.episodes.step(np.array([action]))
        truncated = self._ended = bool(self.episodes.over[0])
        info = self._info()
        info["terms"] = {name: float(term[0]) for name, term in terms.items()}
        if truncated:
            info["metrics"] = self.episodes.metrics(0)
        return self._observation(), float(reward[0]), False, truncated, info

    def action_masks(self) -> np.ndarray:
        """Which actions are valid now, shape (K,) bool."""
        return self.episodes.view.mask[0] != 0

    def _observation(self) -> dict[str, np.ndarray]:
        view = self.episodes.view
        return {
            "candidates": view.features[0].copy(),
            "context": view.context[0].copy(),
            "action_mask": view.mask[0].copy(),
        }

    def _info(self) -> dict[str, Any]:
        counters = self.episodes.state.counters[0, 0]
        return {
            "episode_seed": int(self.episodes.seeds[0]),
            "proposed": self.episodes.view.proposed[0].copy(),
            "host_pages_written": int(counters["host_pages_written"]),
            "relocated_pages": int(counters["relocated_pages"]),
        }


class EraseVectorEnv(VectorEnv):
    """Many devices in one compiled call per step.

    Episodes restart in the step that ends them (same-step autoreset): the observation is the first of the
    next episode, the last one is in ``info["final_obs"]`` and the metrics in
    ``info["final_info"]["metrics"]``. With the same seeds, every environment is bit for bit the single one.
    Observations are the environment's own buffers, written again by the next step: copy what you keep
    (``copy=True`` does it for you).
    """

    def __init__(
        self,
        num_envs: int,
        options: Options,
        copy: bool,
        render_mode: str | None,
        max_episode_steps: int | None,
    ) -> None:
        if max_episode_steps is not None:
            raise SsdgymError(
                "max_episode_steps is not for this environment: its episodes end by horizon, in host pages."
            )
        self.num_envs = num_envs
        self.episodes = Episodes(options, num_envs)
        self.single_observation_space, self.single_action_space = _spaces(self.episodes.candidates)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = render_mode
        self._copy = copy
        self._begun = False
        self._rngs = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin an episode in every environment; a number seeds environment ``i`` with ``seed + i``."""
        given = [seed + i for i in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else seed
        if given is None:
            given = [None] * self.num_envs
        if len(given) != self.num_envs:
            raise SsdgymError(f"reset was given {len(given)} seeds for {self.num_envs} environments.")
        seeds = []
        for i, own in enumerate(given):
            if own is not None:
                self._rngs[i], _ = seeding.np_random(int(own))
            seeds.append(int(own) if own is not None else self._next_seed(i))
        self.episodes.start(range(self.num_envs), seeds)
        self._begun = True
        return self._observation(), self._info()

    def step(
        self, actions: Any
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One decision in every environment."""
        if not self._begun:
            raise SsdgymError("step was called before any episode has begun; call reset first.")
        reward, terms = self.episodes.step(np.asarray(actions))
        truncated = self.episodes.over.copy()
        info: dict[str, Any] = {"terms": terms}
        if truncated.any():
            info.update(self._finish(truncated))
        info.update(self._info())
        return self._observation(), reward, np.zeros(self.num_envs, bool), truncated, info

    def action_masks(self) -> np.ndarray:
        """Which actions are valid now, shape (n, K) bool."""
        return self.episodes.view.mask != 0

    def _next_seed(self, i: int) -> int:
        return int(self._rngs[i].integers(_SEEDS))

    def _finish(self, over: np.ndarray) -> dict[str, Any]:
        """Keep what the finished episodes ended with, and start the next ones."""
        ended = np.flatnonzero(over)
        view = self.episodes.view
        final = {
            "candidates": view.features.copy(),
            "context": view.context.copy(),
            "action_mask": view.mask.copy(),
        }
        metrics = np.full(self.num_envs, None, object)
        seeds = self.episodes.seeds.copy()
        for i in ended:
            metrics[i] = self.episodes.metrics(int(i))
        self.episodes.start([int(i) for i in ended], [self._next_seed(int(i)) for i in ended])
        return {
            "final_obs": final,
            "_final_obs": over,
            "final_info": {
                "metrics": metrics,
                "_metrics": over,
                "episode_seed": seeds,
                "_episode_seed": over,
            },
            "_final_info": over,
        }

    def _observation(self) -> dict[str, np.ndarray]:
        view = self.episodes.view
        observation = {"candidates": view.features, "context": view.context, "action_mask": view.mask}
        return {key: array.copy() for key, array in observation.items()} if self._copy else observation

    def _info(self) -> dict[str, Any]:
        counters = self.episodes.state.counters[:, 0]
        return {
            "proposed": self.episodes.view.proposed.copy(),
            "host_pages_written": counters["host_pages_written"].copy(),
            "relocated_pages": counters["relocated_pages"].copy(),
        }
