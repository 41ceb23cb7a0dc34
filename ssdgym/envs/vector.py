"""The native vector environment: many devices stepped at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ssdgym.config.fields import seed_number
from ssdgym.engine.decisions import ERASE
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import Options, sign
from ssdgym.envs.episodes import SHOWN, Episodes
from ssdgym.envs.render import VIEWERS, Viewer, check_render_mode
from ssdgym.errors import SsdgymError
from ssdgym.threads import OneThread, exclusive
from ssdgym.types import Observation


def autoreset_mode_of(value: AutoresetMode | str) -> AutoresetMode:
    """Return the mode that an argument names.

    Raises:
        SsdgymError: there is no such mode.
    """
    try:
        return AutoresetMode(value)
    except ValueError as error:
        modes = ", ".join(f"{mode.value!r}" for mode in AutoresetMode)
        raise SsdgymError(f"autoreset_mode must be one of {modes}, not {value!r:.60}.") from error


def seeds_of(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """Return a seed for each environment: `seed + i`, or the given ones; None draws the next one."""
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
    """Return which environments the `reset_mask` of options names, bool (n,); all if there is none."""
    if options is None or "reset_mask" not in options:
        return np.ones(count, bool)
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (count,):
        raise SsdgymError(f"options['reset_mask'] must be a bool array of shape ({count},).")
    if not mask.any():
        raise SsdgymError("options['reset_mask'] names no environment; at least one value must be True.")
    return mask


def batched(values: Mapping[str, Any], present: np.ndarray) -> dict[str, Any]:
    """Put beside each array (n, ...) the mask of the environments that have it; others read 0, or None."""
    having = np.count_nonzero(present)
    if having == 0:
        return {}
    return _masked(values, present, None if having == len(present) else ~present)


def _masked(values: Mapping[str, Any], present: np.ndarray, absent: np.ndarray | None) -> dict[str, Any]:
    infos: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            infos[name] = _masked(value, present, absent)
        else:
            if absent is not None:
                value[absent] = None if value.dtype == object else 0
            infos[name] = value
        infos[f"_{name}"] = present
    return infos


class DecisionVectorEnv(OneThread, VectorEnv):
    """Many devices in one compiled call per step.

    With the same seeds and actions it returns what `gymnasium.vector.SyncVectorEnv` over the single
    environments returns, bit for bit, infos included. `call`, `get_attr` and `set_attr` reach the
    environments one by one; `envs` has them.

    `autoreset_mode` says what follows the end of an episode:

    - `SAME_STEP`: the next episode begins in the same step. The observation is its first one;
      `info["final_obs"]` and `info["final_info"]`, with the metrics, have the last ones.
    - `NEXT_STEP`: the observation is the last one, and `info["metrics"]` has the metrics. The next step
      begins an episode: it does not look at the action, and its reward is 0.
    - `DISABLED`: the same end, but `step` is refused until a reset has begun an episode:
      `reset(options={"reset_mask": over})`, bool (n,), begins one where the mask is true.

    Args:
        num_envs: number of environments.
        threads: that a step is shared out to; None stands for the cores that the process may use, with eight
            devices for each at least. What a step returns does not depend on their number.
        copy: whether observations are the caller's own arrays. If false, they are the environment's buffers,
            which the next step writes again: copy what is to be kept.
        autoreset_mode: `gymnasium.vector.AutoresetMode`, or its value (`"SameStep"`, `"NextStep"` or
            `"Disabled"`).
        render_mode: as of the single environment; `render` returns a tuple of frames.
        viewers: what draws a scene, by render mode.
        max_episode_steps: refused, since episodes end by host pages.
        arguments: those of the single environment.

    Raises:
        SsdgymError: an argument is not what it has to be.
    """

    env_type: ClassVar[type[DecisionEnv]]
    options_type: ClassVar[type[Options]]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        viewers: Mapping[str, Viewer] = VIEWERS,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        if max_episode_steps is not None:
            raise SsdgymError(
                "max_episode_steps is not for this environment: its episodes end by horizon, in host pages."
            )
        check_render_mode(render_mode, viewers)
        self.autoreset_mode = autoreset_mode_of(autoreset_mode)
        self.episodes = Episodes(self.options_type(**arguments), num_envs, threads)
        self.num_envs = num_envs
        self.envs = self.env_type.of(self.episodes, render_mode, viewers)
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self._copy = copy
        self._begun = False

    @exclusive
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every environment, or in some.

        Args:
            seed: a number seeds environment `i` with `seed + i`; or one for each, None to draw the next.
            options: `reset_mask`, bool (n,), names the environments that begin one; the others stay as they
                are and have no info.

        Returns:
            The observations and the infos of the first decisions.

        Raises:
            SsdgymError: there is not one seed or truth value for each environment.
        """
        seeds, mask = seeds_of(seed, self.num_envs), reset_mask_of(options, self.num_envs)
        if not self._begun and not mask.all():
            raise SsdgymError("reset was given a reset_mask before any episode has begun; reset all first.")
        self._start(_numbers(mask), seeds)
        self._begun = True
        return self._observation(), batched(self._info(), mask)

    @exclusive
    def step(self, actions: Any) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one decision in every environment.

        Args:
            actions: whole numbers (n,), the candidate chosen in each.

        Returns:
            Observations, rewards float64 (n,), whose device has come to the end of its life bool (n,), whose
            episode is over otherwise bool (n,), and infos.

        Raises:
            SsdgymError: an episode is over or none has begun, or an action is not valid; nothing has happened
                then.
        """
        rest = self._resting()
        played = ~rest
        actions = np.asarray(actions)
        offered = None if self.render_mode is None else self._offered()
        some_rest = np.count_nonzero(rest) > 0
        self._choose(actions)
        self.episodes.step(np.flatnonzero(played) if some_rest else self.episodes.all)
        rewards, terms = self.episodes.reward.rewards.copy(), self.episodes.reward.terms.copy()
        if offered is not None:
            sets, erases = offered
            self._note_choices(sets, actions, played & erases)
        over = self.episodes.ended & played
        died = self.episodes.died & over
        infos = self._end(over) if np.count_nonzero(over) else {}
        if some_rest:
            self._start(_numbers(rest))
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            played &= ~over  # the others' infos are those of their new episode
        infos.update(batched(self._info(), np.ones(self.num_envs, bool)))
        by_name = dict(zip(self.episodes.reward.objective, terms, strict=True))
        infos.update(batched({"terms": by_name}, played))
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
        """Return which actions are valid now, bool (n, K)."""
        return self.episodes.view.mask != 0

    def render(self) -> tuple[Any, ...]:
        """Return a frame of every environment, as the single environment renders it.

        Raises:
            SsdgymError: the environment has no render mode, or an FTL family has no map of pages.
        """
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads end; an environment that was refused has none, and gymnasium may close it, too."""
        if "episodes" in vars(self):
            self.episodes.dismiss()

    # -- the environments one by one

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute.

        Args:
            name: of the method or attribute.
            *args: arguments of the method.
            **kwargs: keyword arguments of the method.

        Returns:
            One result for each environment.
        """
        found = [env.get_wrapper_attr(name) for env in self.envs]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every environment, or what a method without arguments returns."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment.

        Args:
            name: of the attribute.
            values: a list or tuple has one for each; anything else is for all.

        Raises:
            SsdgymError: there is not one value for each environment.
        """
        each = values if isinstance(values, (list, tuple)) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise SsdgymError(
                f"set_attr({name!r}) was given {len(each)} values for {self.num_envs} environments."
            )
        for env, value in zip(self.envs, each, strict=True):
            env.set_wrapper_attr(name, value)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators that draw the seeds of later episodes, one for each environment."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of these generators."""
        return self.get_attr("np_random_seed")

    # -- episodes

    def _resting(self) -> np.ndarray:
        """Return whose episode was over before this step, bool (n,): they begin one and decide nothing."""
        if not self._begun:
            raise SsdgymError("step was called before any episode has begun; call reset first.")
        over = self.episodes.ended.copy()
        if self.autoreset_mode is not AutoresetMode.NEXT_STEP and np.count_nonzero(over):
            raise SsdgymError(
                f"step was called while the episodes of environments {_numbers(over)} are over; call reset "
                "with options={'reset_mask': mask} first."
            )
        return over

    def _start(self, which: Sequence[int], seeds: Sequence[int | None] | None = None) -> None:
        """Begin an episode in some environments, with their seeds or with drawn ones."""
        envs = [self.envs[i] for i in which]
        given = [None if seeds is None else seeds[i] for i in which]
        self.episodes.start(which, [env.draw_seed(seed) for env, seed in zip(envs, given, strict=True)])
        for env in envs:
            env.chosen = None

    def _end(self, over: np.ndarray) -> dict[str, Any]:
        """Return what episodes ended with; where they begin anew in the same step, begin them."""
        infos: dict[str, Any] = {}
        for i in _numbers(over):
            env = self.envs[i]
            ending = env.last_info()
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                last = {"final_obs": env.observation(), "final_info": {**env.info(stepped=True), **ending}}
                infos = self._add_info(infos, last, i)
            else:
                infos = self._add_info(infos, ending, i)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._start(_numbers(over))
        return infos

    def _offered(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the erase sets of all environments, and which of them choose one now, bool (n,)."""
        kinds = [self.episodes.kind_asked(i) for i in range(self.num_envs)]
        return self.episodes.view.sets.copy(), np.array(kinds) == ERASE

    def _note_choices(self, offered: np.ndarray, actions: np.ndarray, played: np.ndarray) -> None:
        for i in _numbers(played):
            self.envs[i].chosen = offered[i, actions[i]]

    # -- looking

    def _observation(self) -> Observation:
        observation = self.episodes.observation()
        return {key: array.copy() for key, array in observation.items()} if self._copy else observation

    def _info(self) -> dict[str, np.ndarray]:
        shown = dict(zip(SHOWN, self.episodes.shown.copy(), strict=True))
        seeds, proposed = self.episodes.seeds.copy(), self.episodes.view.proposed.copy()
        credits = {} if self.episodes.credits is None else self.episodes.credits.infos()
        return {"episode_seed": seeds, "proposed": proposed, **shown, **credits}


def _numbers(mask: np.ndarray) -> list[int]:
    return [int(i) for i in np.flatnonzero(mask)]


def vectorized(environment: type[DecisionEnv]) -> type[DecisionVectorEnv]:
    """Make the native vector environment of a class `NameEnv`, to be kept beside it as `NameVectorEnv`."""
    name = f"{environment.__name__.removesuffix('Env')}VectorEnv"
    fields = {
        "__doc__": f"Many `{environment.__name__}` in one compiled call per step: a `DecisionVectorEnv`.",
        "__module__": environment.__module__,  # where it is looked up when it is pickled
        "env_type": environment,
        "options_type": environment.options_type,
    }
    made = type(name, (DecisionVectorEnv,), fields)
    sign(made)
    return made
