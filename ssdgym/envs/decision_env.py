"""The base of all environments: one device, for any kind of decision.

A new environment is a subclass of `DecisionEnv` with documentation and `Options`.
"""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np

from ssdgym.config.fields import seed_number
from ssdgym.engine.decisions import ERASE
from ssdgym.envs.decisions import Options, described, sign
from ssdgym.envs.episodes import SHOWN, Episodes
from ssdgym.envs.render import VIEWERS, Scene, check_render_mode
from ssdgym.errors import SsdgymError, shown
from ssdgym.registration import registered_id
from ssdgym.threads import OneThread, exclusive
from ssdgym.types import Observation

_SEEDS = 2**31 - 1
_PAGES, _WRITTEN, _RELOCATED = SHOWN


class EpisodeSeed(int):
    """A seed up to 2**64 - 1; not a plain `int`, which Gymnasium's vectors would store as int64."""


class DecisionEnv(OneThread, gym.Env[Observation, np.int64]):
    """One device; the agent takes one kind of its decisions.

    ## Description
    A device serves a workload. Wherever a decision is due it stands still until the agent chooses
    among candidates described in numbers. The environment says which decision that is and what the candidates
    are; the rest of this page holds for all of them.

    ## Action Space
    `Discrete(K)`: which candidate to choose. Only candidates with `action_mask` 1 may be chosen. The argument
    `invalid` says what any other action does: `"error"` raises `ssdgym.errors.SsdgymError` and changes
    nothing; `"replace"` takes the next candidate that may be chosen; `"penalty"` does that and takes 1 off
    the reward. `action_masks()` returns the mask as bool.

    ## Observation Space
    `Dict`, all finite:

    | key | shape, type | meaning |
    |---|---|---|
    | `candidates` | (K, F) float32 | what each candidate is like; 0 if masked |
    | `context` | (G,) float32 | what the device is like where the decision is due |
    | `action_mask` | (K,) int8 | 1 where the candidate may be chosen; never all 0 |

    `metadata["features"]` names the columns: `candidates` F of them, `context` G; `metadata["proposers"]`
    the policies whose picks are in `info["proposed"]`. The argument `features`
    chooses them: `"default"` has those that vary on the devices at hand, `"all"` every registered
    one, and a list has those it names (`["default", "gain"]`). One of your own is a compiled function
    (`ssdgym.envs.features`). `info["host_pages"]` has the host pages written since the last decision, for a
    discount that counts pages and not decisions: most decisions take no host time at all.

    ## Rewards
    The cost of a decision is the weighted sum of the terms of `objective` (`ssdgym.envs.rewards.TERMS`; one
    of your own is a function with a decorator of `ssdgym.envs.rewards`). `info["terms"]` has minus each term,
    which is a reward of several objectives; a term of weight 0 is shown there and does not count. The
    argument `reward` says how the cost becomes a reward:

    | `reward` | reward |
    |---|---|
    | `"plain"` | minus the cost |
    | `{"baseline": policy}` | `(price * pages reclaimed - cost) / unit`: centred on what the policy pays |
    | `{"baseline": policy, "episode": 100}` | the same in per cent of what the policy pays in an episode |
    | `{"price": p, "unit": u}` | as against a baseline, by numbers of your own; if left out 0 and 1 |

    Pages reclaimed are pages erased less pages relocated. The baseline first overwrites the device once: its
    mean cost of a reclaimed page is the price, that of a round the unit, so its own rewards are 0 on average
    and about 1 in magnitude. An episode reclaims what the host writes, so the better policy has the higher
    return.

    ## Starting State
    A preconditioned device: full, then overwritten by the workload until garbage collection is steady;
    made once and kept on disk. `preconditioning="uniform"` overwrites uniformly, `"fill"` writes every
    page once, `"fill(share=0.95)"` or `{"kind": "fill", "share": 0.95}` the first 95 %, and `"none"`
    nothing; the others are in docs/preconditioning.md. The first episode after `reset(seed=s)` is the one of
    seed `s`; `info["episode_seed"]` is the seed that repeats the episode.

    ## Episode End
    An episode runs until the host has written exactly `horizon` pages; it is then truncated and observed as
    if a decision were due (where no candidate could be chosen, candidate 0 is marked valid).
    `info["metrics"]` then has all metrics. With `at_end="truncate"` an episode ends earlier where the last
    request of its workload has completed. It is terminated only where the cells of its device wear out and
    it comes to the end of its life; `info["end_of_life"]` is true then.

    ## Arguments
    The page of an environment has its own, and its defaults where they differ. `training:wa` and
    `validation:wa` are the workloads of a split of the suite `wa`.

    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | name, path, mapping or model | `"demo"` | of a list each environment has one, in turn |
    | `size` | str | `None` | of a paper's task: the device `small`, as by default, or `paper` |
    | `ftl` | mapping or model | `None` | FTL fields to change; `{"timing": "none"}` only counts |
    | `workload` | name, path, mapping, model, array, function | `"zipf99"` | of several an episode has one |
    | `size_to_trace` | bool | `False` | make the device as small as holds the pages of every compact trace |
    | `at_end` | str | `"wrap"` | where a workload ends: `wrap` plays it again, `truncate` ends the episode |
    | `objective` | mapping | `None` | weight of each reward term; the default is the environment's own |
    | `horizon` | int | `8192` | host pages of an episode |
    | `warmup` | int | `0` | host pages before them that are played but neither rewarded nor measured |
    | `preconditioning` | str or mapping | `"workload"` | of the devices: see Starting State |
    | `preconditioning_seed` | int | `0` | of what preconditioning draws |
    | `features` | str or list of names | `"default"` | what is observed: see Observation Space |
    | `reward` | str or mapping | `None` | see Rewards; the default is the environment's own |
    | `invalid` | str | `"error"` | what an action outside the mask does: see Action Space |

    ## Vectorized environment
    `gym.make_vec` makes the native one, `DecisionVectorEnv`: the same arguments, many devices in one compiled
    call per step. It is a class of its own beside the single one (`PlacementVectorEnv` for `PlacementEnv`).

    ## Rendering
    `render_mode` is `"ansi"`, a string for a terminal, or `"rgb_array"`, a picture of shape (height, width,
    3). Both show what every block holds (valid, invalid and free pages, and which blocks are being written),
    which candidates are offered now, and the one chosen last. `scene()` has all that they show.

    ## Version History
    * v0: first version of every environment.
    """

    metadata: dict[str, Any] = {"render_modes": list(VIEWERS), "render_fps": 10}
    options_type: ClassVar[type[Options]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the arguments of `Options` in the signature."""
        super().__init_subclass__(**kwargs)
        sign(cls)

    def __init__(self, *, render_mode: str | None = None, **arguments: Any) -> None:
        check_render_mode(render_mode)
        self._show(Episodes(self.options_type.of(arguments), 1), 0, render_mode)

    @classmethod
    def of(cls, episodes: Episodes, render_mode: str | None) -> list[Self]:
        """Return one environment for each of several devices that share their arrays."""
        envs = [cls.__new__(cls) for _ in episodes.devices]
        for number, env in enumerate(envs):
            env._show(episodes, number, render_mode)
        return envs

    def _show(self, episodes: Episodes, number: int, render_mode: str | None) -> None:
        """Bind this environment to device `number`."""
        self.episodes = episodes
        features, candidates = episodes.decision.features, episodes.candidates
        self.observation_space = features.space(candidates)  # type: ignore[assignment]
        #: Stable-Baselines3 saves it with the space, so that the zip of an agent names its environment.
        vars(self.observation_space)["environment"] = {
            "id": registered_id(type(self)),
            "kwargs": described(episodes.options, episodes.decision),
        }
        self.action_space = gym.spaces.Discrete(candidates)
        self.metadata = {
            **self.metadata,
            "features": features.names(),
            "proposers": tuple(episodes.decision.names),
        }
        self.render_mode = render_mode
        #: The erase set taken last in this episode, ERASE_PAIR (pairs,); kept only where it is drawn.
        self.chosen: np.ndarray | None = None
        self._number = number
        self._which = np.array([number])

    @exclusive
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: of the episode; None draws the next one.
            options: `workload`, a name, path, mapping, model, array or function, replaces the environment's
                in this episode. The device preconditioned for it is kept.

        Returns:
            The observation and the info of the first decision, with the names of `workload` and `device`.

        Raises:
            SsdgymError: there is another option, or the workload does not fit.
        """
        workload = self.episodes.workload_of(options)
        self.episodes.start([self._number], [self.draw_seed(seed)], workload)
        self.chosen = None
        return self.observation(), self.info() | self.episodes.names(self._number)

    @exclusive
    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the decision and run to the next one.

        Args:
            action: number of the candidate chosen.

        Returns:
            Observation, reward, whether the device has come to the end of its life, whether the episode is
            over otherwise, and info.

        Raises:
            SsdgymError: no episode is under way, or the action is not valid; nothing has happened then.
        """
        episodes, i = self.episodes, self._number
        if episodes.any_ended and episodes.ended[i]:
            raise SsdgymError(
                "step was called on an episode that is over or has not begun; call reset first."
            )
        erases = self.render_mode is not None and episodes.kind_asked(i) == ERASE
        offered = episodes.view.sets[i].copy() if erases else None
        self._choose(action)
        episodes.step(self._which)
        if offered is not None:
            self.chosen = offered[episodes.replaced.get(i, action)]
        over = episodes.any_ended and bool(episodes.ended[i])
        died = over and bool(episodes.died[i])
        info = self.info(stepped=True)
        if over:
            info |= self.last_info()
        return self.observation(), episodes.reward.rewards.item(i), died, over and not died, info

    def last_info(self) -> dict[str, Any]:
        """Return the part of the info that only the end of an episode has."""
        died = bool(self.episodes.died[self._number])
        return {
            "metrics": self.episodes.last_metrics(self._number),
            **({"end_of_life": True} if died else {}),
        }

    def _choose(self, action: Any) -> None:
        try:
            if isinstance(action, bool):
                raise TypeError
            self.episodes.actions[self._number] = index(action)
        except (TypeError, OverflowError):
            raise SsdgymError(f"an action must be a whole number of 64 bits, not {shown(action)}.") from None

    def action_masks(self) -> np.ndarray:
        """Return which actions are valid now, bool (K,)."""
        return self.episodes.view.mask[self._number] != 0

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the episode up to now."""
        return self.episodes.metrics(self._number)

    def render(self) -> Any:
        """Render the device in the render mode.

        Returns:
            A string, or a picture, uint8 (height, width, 3).

        Raises:
            SsdgymError: the environment has no render mode, or the FTL family has no map of pages.
        """
        if self.render_mode is None:
            modes = " or ".join(map(repr, VIEWERS))
            raise SsdgymError(f"render needs a render_mode; make the environment with {modes}.")
        return VIEWERS[self.render_mode](self.scene())

    def scene(self) -> Scene:
        """Return the present device and its decision."""
        view, episodes, i = self.episodes.view, self.episodes, self._number
        kind, allowed = episodes.kind_asked(i), view.mask[i] != 0
        return Scene(
            device=episodes.devices[i].name,
            map=episodes.page_map(i),
            kind=kind,
            choices=int(allowed.sum()),
            # The engine leaves the last erase sets where another kind of decision is due.
            candidates=view.sets[i][allowed & (kind == ERASE)],
            chosen=self.chosen,
            counters={name: int(episodes.counter(name)[i]) for name in SHOWN[1:]},
            write_amplification=self.metrics()["write_amplification"],
        )

    def draw_seed(self, seed: int | None) -> int:
        """Return the seed of the next episode: the given one, or drawn."""
        given = None if seed is None else seed_number(seed, f"the seed of environment {self._number}")
        super().reset(seed=given)
        return int(self.np_random.integers(_SEEDS)) if given is None else given

    def observation(self) -> Observation:
        """Return a copy of the present observation."""
        candidates, context, mask, _, _ = self.episodes.rows[self._number]
        return {"candidates": candidates.copy(), "context": context.copy(), "action_mask": mask.copy()}

    def info(self, stepped: bool = False) -> dict[str, Any]:
        """Return the info of the decision that is due, with the reward terms of the last step, if any."""
        i, episodes = self._number, self.episodes
        _, _, _, proposed, counted = episodes.rows[i]
        seed = EpisodeSeed(episodes.seeds[i])
        info: dict[str, Any] = {"episode_seed": seed, "proposed": proposed.tolist()}
        info[_PAGES], info[_WRITTEN], info[_RELOCATED] = counted.tolist()
        if episodes.credits is not None:
            info |= episodes.credits.info(i)
        if stepped:
            info["terms"] = {name: term.item(i) for name, term in episodes.terms.items()}
        return info
