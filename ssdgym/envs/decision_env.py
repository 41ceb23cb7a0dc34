"""The base class of all environments: one device, and any kind of decision.

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
    """A seed up to 2**64 - 1; Gymnasium's vector environments would store a plain `int` as int64."""


class DecisionEnv(OneThread, gym.Env[Observation, np.int64]):
    """One device that leaves one kind of its decisions to an agent.

    ## Description
    A device serves a workload. Whenever a decision is due, the device stops until the agent has chosen one of
    several candidates, which the observation describes. The page of each environment names its decision and
    its candidates; this page holds for all environments.

    ## Action Space
    `Discrete(K)`: which candidate to choose. Only candidates with `action_mask` 1 may be chosen. The argument
    `invalid` says what any other action does: `"error"` raises `ssdgym.errors.SsdgymError` and changes
    nothing; `"replace"` takes the next candidate that may be chosen; `"penalty"` does the same and subtracts
    1 from the reward. `action_masks()` returns the mask as bool.

    ## Observation Space
    `Dict`; all values are finite:

    | key | shape, type | meaning |
    |---|---|---|
    | `candidates` | (K, F) float32 | F features of each of the K candidates; 0 if masked |
    | `context` | (G,) float32 | G features of the device and of the decision |
    | `action_mask` | (K,) int8 | 1 where the candidate may be chosen; never all 0 |

    `metadata["features"]` names the features, and `metadata["proposers"]` the policies whose picks are in
    `info["proposed"]`. The argument `features` chooses the features: `"default"` stands for those that vary
    on the devices of the environment, `"all"` for all registered features that apply, and a list names them
    (`["default", "gain"]`). You can add features as compiled functions (`ssdgym.envs.features`).
    `info["host_pages"]` is the number of host pages written since the last decision. With it you can discount
    per host page and not per decision: between most decisions the host writes nothing.

    ## Rewards
    The cost of a decision is the weighted sum of the terms of `objective` (`ssdgym.envs.rewards.TERMS`; you
    can add a term with the decorator `ssdgym.envs.rewards.reward_term`). `info["terms"]` contains minus each
    term, for learning with several objectives; a term of weight 0 appears there without effect on the reward.
    The argument `reward` says how the cost becomes a reward:

    | `reward` | reward |
    |---|---|
    | `"plain"` | minus the cost |
    | `{"baseline": policy}` | `(price * pages reclaimed - cost) / unit`, about 0 on average for the policy |
    | `{"baseline": policy, "episode": 100}` | the same, scaled so that an episode costs the policy 100 |
    | `{"price": p, "unit": u}` | the same formula with given numbers; defaults are 0 and 1 |

    Pages reclaimed are pages erased minus pages relocated. To measure price and unit, the baseline policy
    first overwrites the device once: the price is its mean cost of a reclaimed page, and the unit its mean
    cost of a round of GC. So the policy's own rewards are 0 on average and about 1 in magnitude. An episode
    reclaims about as many pages as the host writes, so the better policy has the higher return.

    ## Starting State
    The device is preconditioned: every page is written, then the workload overwrites pages until garbage
    collection is steady. This is done once, and its result is kept on disk. `preconditioning="uniform"`
    overwrites uniformly, `"fill"` writes every page once, `"fill(share=0.95)"` or
    `{"kind": "fill", "share": 0.95}` writes the first 95 % of the pages, and `"none"` writes nothing; all
    kinds are in docs/preconditioning.md. `reset(seed=s)` begins the episode of seed `s`;
    `info["episode_seed"]` is the seed that repeats the current episode.

    ## Episode End
    An episode is truncated when the host has written exactly `horizon` pages. Its last observation is made
    as if a decision were due (if no candidate can be chosen, candidate 0 is marked valid), and
    `info["metrics"]` then contains all metrics. With `at_end="truncate"` an episode also ends when the last
    request of its workload has completed. An episode is terminated only if the device models wear-out and
    reaches the end of its life; `info["end_of_life"]` is then true.

    ## Arguments
    The page of each environment lists further arguments and defaults that differ. `training:wa` and
    `validation:wa` name all workloads of a split of the suite `wa`.

    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | name, path, mapping or model | `"demo"` | environments take the devices of a list in turn |
    | `size` | str | `None` | in tasks of papers: the device `small` (the default) or `paper` |
    | `ftl` | mapping or model | `None` | FTL fields to change; `{"timing": "none"}` simulates no time |
    | `workload` | name, path, mapping, model, array, function | `"zipf99"` | an episode draws one of a list |
    | `size_to_trace` | bool | `False` | shrink the device to the pages that its traces touch |
    | `at_end` | str | `"wrap"` | when a workload ends: `wrap` repeats it, `truncate` ends the episode |
    | `objective` | mapping | `None` | weight of each reward term; `None`: the environment's default |
    | `horizon` | int | `8192` | host pages per episode |
    | `warmup` | int | `0` | host pages at the start of an episode, without rewards and metrics |
    | `preconditioning` | str or mapping | `"workload"` | how devices are preconditioned: see Starting State |
    | `preconditioning_seed` | int | `0` | seed of the random draws of preconditioning |
    | `features` | str or list of names | `"default"` | observed features: see Observation Space |
    | `reward` | str or mapping | `None` | see Rewards; `None`: the environment's default |
    | `invalid` | str | `"error"` | what an action outside the mask does: see Action Space |

    ## Vectorized environment
    `gym.make_vec` makes a `DecisionVectorEnv`, which has the same arguments and steps many devices in one
    compiled call. Each environment has such a class, named `PlacementVectorEnv` for `PlacementEnv`.

    ## Rendering
    `render_mode` is `"ansi"`, a string for a terminal, or `"rgb_array"`, a picture of shape (height, width,
    3). Both show the pages of every block (valid, invalid or free), the open blocks, the present candidates,
    and the last choice. `scene()` returns the data that they show.

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
        """Return one environment for each device of `episodes`; all environments share its arrays."""
        envs = [cls.__new__(cls) for _ in episodes.devices]
        for number, env in enumerate(envs):
            env._show(episodes, number, render_mode)
        return envs

    def _show(self, episodes: Episodes, number: int, render_mode: str | None) -> None:
        """Bind this environment to device `number`."""
        self.episodes = episodes
        features, candidates = episodes.decision.features, episodes.candidates
        self.observation_space = features.space(candidates)  # type: ignore[assignment]
        #: Stable-Baselines3 saves the space with this entry, so the zip of an agent names its environment.
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
        episodes.keeps_chosen = render_mode is not None
        self._number = number
        self._which = np.array([number])

    @exclusive
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: seed of the episode; None draws the next seed.
            options: `workload`, a name, path, mapping, model, array or function, replaces the environment's
                workload in this episode.

        Returns:
            The observation and the info of the first decision. The info names `workload` and `device`.

        Raises:
            SsdgymError: `options` has another key, or the workload does not fit the device.
        """
        workload = self.episodes.workload_of(options)
        self.episodes.start([self._number], [self.draw_seed(seed)], workload)
        return self.observation(), self.info() | self.episodes.names(self._number)

    @exclusive
    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the decision and run to the next one.

        Args:
            action: number of the chosen candidate.

        Returns:
            Observation, reward, terminated (the device has reached the end of its life), truncated (the
            episode has ended in another way), and info.

        Raises:
            SsdgymError: no episode is under way, or the action is not valid. The device has not changed.
        """
        episodes, i = self.episodes, self._number
        if episodes.any_ended and episodes.ended[i]:
            raise SsdgymError(
                "step was called on an episode that is over or has not begun; call reset first."
            )
        self._choose(action)
        episodes.step(self._which)
        over = episodes.any_ended and bool(episodes.ended[i])
        died = over and bool(episodes.died[i])
        info = self.info(stepped=True)
        if over:
            info["metrics"] = episodes.last_metrics(i)
        if died:
            info["end_of_life"] = True
        return self.observation(), episodes.reward.rewards.item(i), died, over and not died, info

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
            SsdgymError: the environment has no render mode, or its FTL family has no map of pages.
        """
        if self.render_mode is None:
            modes = " or ".join(map(repr, VIEWERS))
            raise SsdgymError(f"render needs a render_mode; make the environment with {modes}.")
        return VIEWERS[self.render_mode](self.scene())

    def scene(self) -> Scene:
        """Return what a picture of the device shows now."""
        view, episodes, i = self.episodes.view, self.episodes, self._number
        kind, allowed = episodes.kind_asked(i), view.mask[i] != 0
        return Scene(
            device=episodes.devices[i].name,
            map=episodes.page_map(i),
            kind=kind,
            choices=int(allowed.sum()),
            # If another kind of decision is due, `sets` still has the candidates of the last erase.
            candidates=view.sets[i][allowed & (kind == ERASE)],
            chosen=episodes.chosen.get(i),
            counters={name: int(episodes.counter(name)[i]) for name in SHOWN[1:]},
            write_amplification=self.metrics()["write_amplification"],
        )

    def draw_seed(self, seed: int | None) -> int:
        """Return the seed of the next episode: the given seed, or a drawn seed if `seed` is None."""
        given = None if seed is None else seed_number(seed, f"the seed of environment {self._number}")
        super().reset(seed=given)
        return int(self.np_random.integers(_SEEDS)) if given is None else given

    def observation(self) -> Observation:
        """Return a copy of the present observation."""
        candidates, context, mask, _, _ = self.episodes.rows[self._number]
        return {"candidates": candidates.copy(), "context": context.copy(), "action_mask": mask.copy()}

    def info(self, stepped: bool = False) -> dict[str, Any]:
        """Return the info of the present decision; after a step, with the reward terms of the step."""
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
