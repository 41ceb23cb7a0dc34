"""The vector environments of ssdgym, which step many devices in one call of compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space

from ssdgym.config.fields import seed_number
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import Options, sign
from ssdgym.envs.episodes import SHOWN, Episodes
from ssdgym.envs.render import check_render_mode
from ssdgym.errors import SsdgymError
from ssdgym.threads import OneThread, exclusive
from ssdgym.types import Observation
from ssdgym.unread import Unread


def seeds_of(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """Return n seeds: `seed + i` if `seed` is a number, or its elements. A seed None is to be drawn."""
    if seed is None:
        return [None] * count
    if np.ndim(seed) == 0:  # type: ignore[arg-type]
        first = seed_number(seed, "the seed of environment 0")
        return [first + i for i in range(count)]
    seeds = list(seed)  # type: ignore[arg-type]
    if len(seeds) != count:
        raise SsdgymError(f"reset was given {len(seeds)} seeds for {count} environments.")
    return seeds


def reset_mask_of(options: dict[str, Any] | None, count: int) -> np.ndarray:
    """Return the option `reset_mask`, bool (n,), or an array of true values if it is not given."""
    if options is None or "reset_mask" not in options:
        return np.ones(count, bool)
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (count,):
        raise SsdgymError(f"options['reset_mask'] must be a bool array of shape ({count},).")
    if not mask.any():
        raise SsdgymError("options['reset_mask'] names no environment; at least one value must be True.")
    return mask


class DecisionVectorEnv(OneThread, SyncVectorEnv):
    """A vector environment that steps many devices in one compiled call.

    It returns the same observations, rewards and infos, bit for bit, as `gymnasium.vector.SyncVectorEnv` does
    with n single environments, the same seeds and the same actions. As in that class, `call`, `get_attr` and
    `set_attr` access single environments. They are in the list `envs`.

    `autoreset_mode` says what follows the step in which an episode ends:

    - `NEXT_STEP` (default): the step returns the last observation, and `info["metrics"]` contains the
      metrics. The next step ignores the action, begins an episode, and has the reward 0.
    - `SAME_STEP`: the step also begins the next episode, and returns its first observation.
      `info["final_obs"]` and `info["final_info"]` are the last observation and info, with the metrics.
    - `DISABLED`: the step returns the same as in `NEXT_STEP`. The next step raises, unless
      `reset(options={"reset_mask": over})`, with `over` bool (n,), has begun an episode where `over` is true.

    Args:
        num_envs: number of environments n.
        threads: number of threads that share a step. If it is None, there is one for each core that the
            process may use, but at most one for each 8 devices. Results do not depend on this number.
        copy: whether a step returns copies of the observations, or arrays that the next step overwrites.
        autoreset_mode: `gymnasium.vector.AutoresetMode`, or `"SameStep"`, `"NextStep"` or `"Disabled"`.
        render_mode: render mode of the single environments. `render` returns a tuple of n frames.
        max_episode_steps: must be None, because `horizon` limits episodes (in host pages).
        arguments: arguments of the single environment.

    Raises:
        SsdgymError: an argument has a wrong value.
    """

    envs: list[DecisionEnv]  # type: ignore[assignment]
    env_type: ClassVar[type[DecisionEnv]]
    options_type: ClassVar[type[Options]]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        if max_episode_steps is not None:
            raise SsdgymError(
                "max_episode_steps is not for this environment: its episodes end by horizon, in host pages."
            )
        check_render_mode(render_mode)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError as error:
            modes = ", ".join(f"{mode.value!r}" for mode in AutoresetMode)
            raise SsdgymError(
                f"autoreset_mode must be one of {modes}, not {autoreset_mode!r:.60}."
            ) from error
        self.episodes = Episodes(self.options_type.of(arguments), num_envs, threads)
        self.num_envs = num_envs
        self.envs = self.env_type.of(self.episodes, render_mode)
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self._copy = copy
        self._begun = False
        self._all, self._none = np.ones(num_envs, bool), np.zeros((2, num_envs), bool)
        self._shown = [(name, f"_{name}") for name in SHOWN]
        self._terms = [(name, f"_{name}") for name in self.episodes.reward.objective]

    def reset_in_the_same_step(self) -> None:
        """Set the autoreset mode to `SAME_STEP`, which Stable-Baselines3 needs."""
        self.autoreset_mode = AutoresetMode.SAME_STEP
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}

    @exclusive
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every environment, or in those that `reset_mask` selects.

        Args:
            seed: a sequence of n seeds, or a number. If it is a number, environment i has the seed
                `seed + i`. None, also in a sequence, stands for a drawn seed.
            options: None, or a mapping. `reset_mask`, bool (n,), selects the environments that begin an
                episode; environments that are not selected do not change and have no info. `workload`
                replaces the workload of these episodes, as in the single environment.

        Returns:
            The observations and the infos of the first decisions. The infos name `workload` and `device`.

        Raises:
            SsdgymError: `seed` or `reset_mask` does not have n values, or an option is not valid.
        """
        seeds, mask = seeds_of(seed, self.num_envs), reset_mask_of(options, self.num_envs)
        if not self._begun and not mask.all():
            raise SsdgymError("reset was given a reset_mask before any episode has begun; reset all first.")
        self._start(_numbers(mask), seeds, self.episodes.workload_of(options, "reset_mask"))
        self._begun = True
        return self._observation(), _only(mask, self._info(mask)) | self._names(mask)

    @exclusive
    def step(self, actions: Any) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Carry out the action of every environment, and run each to its next decision.

        Args:
            actions: whole numbers (n,), the chosen candidate of each environment.

        Returns:
            Observations, rewards float64 (n,), terminated bool (n,) (whether the device has reached the end
            of its life), truncated bool (n,) (whether the episode has ended for another reason), and infos.

        Raises:
            SsdgymError: an episode has not begun, an episode has ended and the autoreset mode does not begin
                the next one, or an action is invalid. No environment has changed.
        """
        episodes = self.episodes
        rest = self._resting() if episodes.any_ended or not self._begun else None
        self._choose(np.asarray(actions))
        episodes.step(episodes.all if rest is None else np.flatnonzero(~rest))
        rewards, terms = episodes.reward.rewards.copy(), episodes.reward.terms.copy()
        if rest is None and not episodes.any_ended:
            present = self._all.copy()
            infos = self._info(present)
            infos["terms"], infos["_terms"] = self._named(terms, present), present
            died, over = self._none.copy()
            return self._observation(), rewards, died, over, infos
        played = self._all if rest is None else ~rest
        over = episodes.ended & played
        died = episodes.died & over
        infos = self._end(over, terms) if over.any() else {}
        if rest is not None and rest.any():
            self._start(_numbers(rest))
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            played = played & ~over  # environments with a new episode have infos of the new episode
        infos.update(self._info(self._all.copy()))
        begun = over if self.autoreset_mode is AutoresetMode.SAME_STEP else ~played
        if begun.any():
            infos |= self._names(begun)
        if played.any():
            infos["terms"], infos["_terms"] = _only(played, self._named(terms, played)), played
        return self._observation(), rewards, died, over & ~died, infos

    def _choose(self, actions: np.ndarray) -> None:
        if actions.dtype.kind not in "iu":
            raise SsdgymError(f"actions must be whole numbers of 64 bits, not {actions.tolist()!r:.60}.")
        if actions.shape != (self.num_envs,):
            raise SsdgymError(
                f"step was given actions of shape {actions.shape}; "
                f"give one for each of the {self.num_envs} environments."
            )
        self.episodes.actions[:] = actions

    def action_masks(self) -> np.ndarray:
        """Return whether each action may be chosen now, bool (n, K)."""
        return self.episodes.view.mask != 0

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads that help to step devices."""
        if "episodes" in vars(self):
            self.episodes.dismiss()

    def _resting(self) -> np.ndarray:
        """Return whether each environment begins an episode in this step, bool (n,)."""
        if not self._begun:
            raise SsdgymError("step was called before any episode has begun; call reset first.")
        over = self.episodes.ended.copy()
        if self.autoreset_mode is not AutoresetMode.NEXT_STEP and np.count_nonzero(over):
            raise SsdgymError(
                f"step was called while the episodes of environments {_numbers(over)} are over; call reset "
                "with options={'reset_mask': mask} first."
            )
        return over

    def _start(
        self, which: Sequence[int], seeds: Sequence[int | None] | None = None, workload: int | None = None
    ) -> None:
        """Begin an episode in the environments `which`, with `seeds` (n,) or drawn seeds."""
        drawn = [self.envs[i].draw_seed(None if seeds is None else seeds[i]) for i in which]
        self.episodes.start(which, drawn, workload)

    def _end(self, over: np.ndarray, terms: np.ndarray) -> dict[str, Any]:
        """Return the infos of episodes that have ended (`over`); in mode `SAME_STEP` begin the next ones."""
        numbers, died = _numbers(over), self.episodes.died & over
        metrics = [(i, self.episodes.last_metrics(i)) for i in numbers]
        ending: dict[str, Any] = {"metrics": Unread(partial(self._gathered, metrics)), "_metrics": over}
        if died.any():
            ending["end_of_life"], ending["_end_of_life"] = died, died.copy()
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return ending
        last = self._info(over.copy())
        last["terms"], last["_terms"] = self._named(terms.copy(), last["_proposed"]), last["_proposed"]
        final = np.full(self.num_envs, None)
        for i in numbers:
            final[i] = self.envs[i].observation()
        self._start(numbers)
        last = _only(over, last)
        return {"final_obs": final, "_final_obs": over, "final_info": {**last, **ending}, "_final_info": over}

    def _gathered(self, metrics: Sequence[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
        """Return the metrics of some environments, combined as Gymnasium combines infos."""
        found: dict[str, Any] = {}
        for i, one in metrics:
            found = self._add_info(found, one, i)
        return found

    def _observation(self) -> Observation:
        observation = self.episodes.observation()
        return {key: array.copy() for key, array in observation.items()} if self._copy else observation

    def _info(self, present: np.ndarray) -> dict[str, Any]:
        """Return the infos of all environments, each with its mask, which is `present`."""
        episodes = self.episodes
        infos = {"episode_seed": episodes.seeds.copy(), "_episode_seed": present}
        infos["proposed"], infos["_proposed"] = episodes.view.proposed.copy(), present
        for (name, mask), row in zip(self._shown, episodes.shown.copy(), strict=True):
            infos[name], infos[mask] = row, present
        if episodes.credits is not None:
            for name, row in episodes.credits.infos().items():
                infos[name], infos[f"_{name}"] = row, present
        return infos

    def _names(self, begun: np.ndarray) -> dict[str, np.ndarray]:
        """Return the infos `workload` and `device` of new episodes, object (n,), each with its mask."""
        found: dict[str, np.ndarray] = {}
        for name in ("workload", "device"):
            found[name], found[f"_{name}"] = np.full(self.num_envs, None), begun.copy()
            found[name][begun] = [self.episodes.names(i)[name] for i in _numbers(begun)]
        return found

    def _named(self, terms: np.ndarray, present: np.ndarray) -> dict[str, np.ndarray]:
        """Return the rows of `terms`, float64 (terms, n), by name, each with its mask `present`."""
        named = {}
        for (name, mask), row in zip(self._terms, terms, strict=True):
            named[name], named[mask] = row, present
        return named


def _only(present: np.ndarray, infos: dict[str, Any]) -> dict[str, Any]:
    """Set the values of environments that are not `present` to 0 or None, in place in the arrays of infos."""
    absent = ~present
    if absent.any():
        for value in infos.values():
            if isinstance(value, dict):
                _only(present, value)
            elif value.dtype != bool:
                value[absent] = None if value.dtype == object else 0
    return infos


def _numbers(mask: np.ndarray) -> list[int]:
    return [int(i) for i in np.flatnonzero(mask)]


def vectorized(environment: type[DecisionEnv]) -> type[DecisionVectorEnv]:
    """Make the class of vector environments `NameVectorEnv` for a class `NameEnv`."""
    name = f"{environment.__name__.removesuffix('Env')}VectorEnv"
    fields = {
        "__doc__": f"Many `{environment.__name__}` in one compiled call per step: a `DecisionVectorEnv`.",
        "__module__": environment.__module__,  # pickle looks the class up in this module
        "env_type": environment,
        "options_type": environment.options_type,
    }
    made = type(name, (DecisionVectorEnv,), fields)
    sign(made)
    return made
