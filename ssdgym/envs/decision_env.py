"""What the environments have in common: the single one and the native vector one, for any kind of decision.

An environment of its own is a subclass of each with its documentation and its `Options`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ssdgym.deprecation import old_arguments
from ssdgym.envs.episodes import Episodes
from ssdgym.envs.options import OLD_ARGUMENTS, Options, sign
from ssdgym.errors import SsdgymError
from ssdgym.types import Observation

_SEEDS = 2**31 - 1
#: Counters that `info` has after every step.
_COUNTERS = ("host_pages_written", "relocated_pages")


class DecisionEnv(gym.Env[Observation, np.int64]):
    """One device whose decisions of a kind the agent takes.

    ## Description
    A device serves a workload. Wherever a decision is due it stands still and asks the agent, which chooses
    among candidates described in numbers. Which decision that is, and what the candidates are, is for the
    environment to say; the rest of this page holds for all of them.

    ## Action Space
    `Discrete(K)`: which candidate to choose. Only candidates with `action_mask` 1 may be chosen; any other
    action raises `ssdgym.errors.SsdgymError` and changes nothing. `action_masks()` returns the mask as bool.

    ## Observation Space
    `Dict`, all finite:

    | key | shape, type | meaning |
    |---|---|---|
    | `candidates` | (K, F) float32 | what each candidate is like; 0 if masked |
    | `context` | (G,) float32 | what the device is like where the decision is due |
    | `action_mask` | (K,) int8 | 1 where the candidate may be chosen; never all 0 |

    `metadata["features"]` names the columns: `candidates` F of them, `context` G.

    ## Rewards
    The weighted sum of the terms of `objective`, each minus what it counts (`ssdgym.envs.rewards.TERMS`; a
    term of one's own is a function with the decorator `ssdgym.envs.rewards.reward_term`). `info["terms"]`
    has each term.

    ## Starting State
    A preconditioned device: full, then overwritten until garbage collection is steady; made once and kept on
    disk. The first episode after `reset(seed=s)` is the one of seed `s`; `info["episode_seed"]` names the
    seed that repeats any.

    ## Episode End
    An episode runs until the host has written exactly `horizon` pages; it is then truncated, never
    terminated, and observed as if a decision were due (where no candidate could be chosen, candidate 0 is
    marked valid). `info["metrics"]` then has all metrics.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | name, path, mapping or model | `"demo"` | of a list each environment has one, in turn |
    | `ftl` | mapping or model | `None` | FTL fields to change; `{"timing": "none"}` only counts |
    | `workload` | name, path, mapping or model | `"zipf99"` | of a list each episode draws one |
    | `objective` | mapping | `None` | weight of each reward term; the default is the environment's own |
    | `horizon` | int | `8192` | host pages of an episode |
    | `warmup` | int | `0` | host pages before them that are played but neither rewarded nor measured |
    | `preconditioning_seed` | int | `0` | of the workload that preconditions the device |

    ## Vectorized environment
    `gym.make_vec` makes the native one, `DecisionVectorEnv`: the same arguments, many devices in one compiled
    call per step.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    options_type: ClassVar[type[Options]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the arguments of `Options` in the signature."""
        super().__init_subclass__(**kwargs)
        sign(cls)

    @old_arguments(**OLD_ARGUMENTS)
    def __init__(self, *, render_mode: str | None = None, **arguments: Any) -> None:
        self.episodes = Episodes(self.options_type(**arguments), 1)
        features, candidates = self.episodes.decision.features, self.episodes.candidates
        self.observation_space = features.space(candidates)  # type: ignore[assignment]
        self.action_space = gym.spaces.Discrete(candidates)
        self.metadata = {**self.metadata, "features": features.names()}
        self.render_mode = render_mode
        self._ended = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: of the episode; None draws the next one.
            options: not used.

        Returns:
            The observation and the info of the first decision.
        """
        super().reset(seed=seed)
        episode_seed = seed if seed is not None else int(self.np_random.integers(_SEEDS))
        self.episodes.start([0], [episode_seed])
        self._ended = False
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the decision and run to the next one.

        Args:
            action: number of the candidate chosen.

        Returns:
            Observation, reward, false, whether the episode is over, and info.

        Raises:
            SsdgymError: no episode is under way, or the action is not valid; nothing has happened then.
        """
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
        """Return which actions are valid now, bool (K,)."""
        return self.episodes.view.mask[0] != 0

    def _observation(self) -> Observation:
        return {key: array[0].copy() for key, array in self.episodes.observation().items()}

    def _info(self) -> dict[str, Any]:
        return {
            "episode_seed": int(self.episodes.seeds[0]),
            "proposed": self.episodes.view.proposed[0].copy(),
            **{name: int(self.episodes.counter(name)[0]) for name in _COUNTERS},
        }


class DecisionVectorEnv(VectorEnv):
    """Many devices in one compiled call per step.

    Episodes restart in the step that ends them (same-step autoreset): the observation is the first of the
    next episode, the last one is in `info["final_obs"]` and the metrics in `info["final_info"]["metrics"]`.
    With the same seeds, every environment is bit for bit the single one. Observations are the environment's
    own buffers, written again by the next step: copy what you keep (`copy=True` does it for you).

    Args:
        num_envs: number of environments.
        copy: whether observations are copies.
        render_mode: as in Gymnasium.
        max_episode_steps: refused, since episodes end by host pages.
        arguments: those of the single environment.
    """

    options_type: ClassVar[type[Options]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the arguments of `Options` in the signature."""
        super().__init_subclass__(**kwargs)
        sign(cls)

    @old_arguments(**OLD_ARGUMENTS)
    def __init__(
        self,
        num_envs: int = 1,
        *,
        copy: bool = False,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        if max_episode_steps is not None:
            raise SsdgymError(
                "max_episode_steps is not for this environment: its episodes end by horizon, in host pages."
            )
        self.num_envs = num_envs
        self.episodes = Episodes(self.options_type(**arguments), num_envs)
        features, candidates = self.episodes.decision.features, self.episodes.candidates
        self.single_observation_space = features.space(candidates)
        self.single_action_space = gym.spaces.Discrete(candidates)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {
            "render_modes": [],
            "autoreset_mode": AutoresetMode.SAME_STEP,
            "features": features.names(),
        }
        self.render_mode = render_mode
        self._copy = copy
        self._begun = False
        self._rngs = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every environment.

        Args:
            seed: a number seeds environment `i` with `seed + i`; or one for each, None to draw the next.
            options: not used.

        Returns:
            The observations and the infos of the first decisions.

        Raises:
            SsdgymError: there is not one seed for each environment.
        """
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

    def step(self, actions: Any) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one decision in every environment.

        Args:
            actions: whole numbers (n,), the candidate chosen in each.

        Returns:
            Observations, rewards float64 (n,), false (n,), whose episode is over bool (n,), and infos.

        Raises:
            SsdgymError: no episode has begun, or an action is not valid; nothing has happened then.
        """
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
        """Return which actions are valid now, bool (n, K)."""
        return self.episodes.view.mask != 0

    def _next_seed(self, i: int) -> int:
        return int(self._rngs[i].integers(_SEEDS))

    def _finish(self, over: np.ndarray) -> dict[str, Any]:
        """Keep what the finished episodes ended with, and start the next ones."""
        ended = [int(i) for i in np.flatnonzero(over)]
        final = {key: array.copy() for key, array in self.episodes.observation().items()}
        metrics = np.full(self.num_envs, None, object)
        seeds = self.episodes.seeds.copy()
        for i in ended:
            metrics[i] = self.episodes.metrics(i)
        self.episodes.start(ended, [self._next_seed(i) for i in ended])
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

    def _observation(self) -> Observation:
        observation = self.episodes.observation()
        return {key: array.copy() for key, array in observation.items()} if self._copy else observation

    def _info(self) -> dict[str, Any]:
        return {
            "proposed": self.episodes.view.proposed.copy(),
            **{name: self.episodes.counter(name).copy() for name in _COUNTERS},
        }
