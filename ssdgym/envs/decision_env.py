"""The base class of all environments, in which an agent takes decisions of one device.

To add an environment, derive a class from `DecisionEnv`, and set its docstring and its `options_type`.
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
    """A seed below 2**64. Gymnasium's vector environments keep this type, but convert `int` to int64."""


class DecisionEnv(OneThread, gym.Env[Observation, np.int64]):
    """The base class of environments: an agent takes decisions of one device.

    ## Description
    A device serves a workload. Whenever a decision is due, the device stops until the agent has chosen one of
    several candidates, which the observation describes. This page describes what all environments share. The
    page of each environment describes its decisions and their candidates.

    ## Action Space
    `Discrete(K)`: the number of the chosen candidate. An action is valid if the `action_mask` of this
    candidate is 1. The argument `invalid` says what an invalid action does. `"error"` raises
    `ssdgym.errors.SsdgymError` and changes nothing. `"replace"` chooses the valid candidate with the next
    higher number, or with the lowest number if none is higher. `"penalty"` does the same as `"replace"` and
    subtracts 1 from the reward. `action_masks()` returns the mask as bool (K,).

    ## Observation Space
    `Dict` of three arrays with finite values:

    | key | shape, type | meaning |
    |---|---|---|
    | `candidates` | (K, F) float32 | F features of each of the K candidates; 0 if its mask is 0 |
    | `context` | (G,) float32 | G features of the device and of the decision |
    | `action_mask` | (K,) int8 | 1 if the candidate may be chosen, else 0; at least one value is 1 |

    `metadata["features"]` names the features. The argument `features` selects them: `"default"` stands for a
    selection that depends on the environment and its devices, `"all"` for all registered features of its
    decisions, and a list names features (`["default", "gain"]`). You can add features as compiled functions
    (`ssdgym.envs.features`). *Proposers* are policies that pick a candidate at each decision, without effect
    on the device. `metadata["proposers"]` names them, and `info["proposed"]` contains the numbers of the
    picked candidates, or -1. `info["host_pages"]` is the number of host pages written since the last
    decision. With it you can discount per host page: between two decisions the host writes no page or many.

    ## Rewards
    A *term* is a cost that the device counts, such as relocated pages (`ssdgym.envs.rewards.TERMS`). The
    argument `objective` maps terms to weights. The cost of a decision is the weighted sum of the increases of
    the terms until the next decision. `info["terms"]` contains minus the increase of each term, unweighted,
    also for terms of weight 0, for learning with several objectives. You can add a term with the decorator
    `ssdgym.envs.rewards.reward_term`. The argument `reward` says how the cost becomes a reward:

    | `reward` | reward |
    |---|---|
    | `"plain"` | minus the cost |
    | `{"baseline": policy}` | `(price * pages reclaimed - cost) / unit`; on average 0 for `policy` |
    | `{"baseline": policy, "episode": 100}` | this formula; `policy` has the cost of 100 units per episode |
    | `{"price": p, "unit": u}` | this formula with price p (default 0) and unit u (default 1) |

    Pages reclaimed are pages erased minus pages relocated. Price and unit are measured at the first `reset`,
    while the baseline policy serves as many host pages as the device has logical pages. The price is
    the mean cost of a page that the policy reclaims, and the unit its mean cost of a round of GC. The rewards
    of the policy are therefore 0 on average and about 1 in magnitude. If the device erases sub-blocks or is
    of the block or sub-page family, pages reclaimed are host pages written, and price and unit are both the
    mean cost per host page. Every policy reclaims about as many pages per episode as the host writes, so a
    policy with a lower cost has a higher return.

    ## Starting State
    The device is preconditioned: every page is written, then the workload overwrites pages until garbage
    collection is steady. The preconditioned state is computed once and kept on disk.
    `preconditioning="uniform"` overwrites pages drawn uniformly, `"fill"` writes every page once,
    `"fill(share=0.95)"` or `{"kind": "fill", "share": 0.95}` writes the first 95 % of the pages, and `"none"`
    writes nothing. docs/preconditioning.md lists all kinds. `reset(seed=s)` begins the episode whose random
    draws have the seed `s`. `info["episode_seed"]` is the seed that repeats the current episode; a policy
    serves the same requests on the same device with `Simulator(seed=s)` and `run(seed=s)`.

    ## Episode End
    An episode is truncated when the host has written exactly `horizon` pages. Its last observation is made
    as if a decision were due; if no candidate can be chosen, candidate 0 has the mask 1. Its last info
    contains all metrics, `info["metrics"]`. With `at_end="truncate"` an episode is also truncated when the
    last request of its workload has completed. An episode is terminated only if the device models wear-out
    and reaches the end of its life; `info["end_of_life"]` is then true.

    ## Arguments
    The page of each environment lists its further arguments, and the defaults that differ from this table. As
    `workload`, `training:wa` and `validation:wa` stand for all workloads of a split of the suite `wa`.

    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | name, path, mapping or model | `"demo"` | vector environments use a list's items in turn |
    | `size` | str | `None` | in tasks of papers: the device `small` (also if `None`) or `paper` |
    | `ftl` | mapping or model | `None` | FTL fields to change; `{"timing": "none"}` simulates no time |
    | `workload` | name, path, mapping, model, array, function | `"zipf99"` | an episode draws one of a list |
    | `size_to_trace` | bool | `False` | shrink the device to the pages that its largest trace touches |
    | `at_end` | str | `"wrap"` | when a workload ends: `wrap` repeats it, `truncate` ends the episode |
    | `objective` | mapping | `None` | weight of each reward term; `None`: the environment's default |
    | `horizon` | int | `8192` | host pages per episode, without `warmup` |
    | `warmup` | int | `0` | host pages before the `horizon`, without rewards and metrics |
    | `preconditioning` | str or mapping | `"workload"` | how devices are preconditioned: see Starting State |
    | `preconditioning_seed` | int | `0` | seed of the random draws of preconditioning |
    | `features` | str or list of names | `"default"` | observed features: see Observation Space |
    | `reward` | str or mapping | `None` | see Rewards; `None`: the environment's default |
    | `invalid` | str | `"error"` | what an action outside the mask does: see Action Space |

    ## Vectorized environment
    `gym.make_vec` makes a `DecisionVectorEnv`, which has the same arguments and steps many devices in one
    compiled call. Each environment has its own subclass: that of `PlacementEnv` is `PlacementVectorEnv`.

    ## Rendering
    With `render_mode="ansi"`, `render()` returns a string for a terminal; with `"rgb_array"`, a picture of
    shape (height, width, 3). Both show the pages of every block (valid, invalid or free), the open blocks,
    the present candidates, and the last choice. `scene()` returns the data that they show.

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
        """Return one environment for each device of `episodes`. They share the arrays of `episodes`."""
        envs = [cls.__new__(cls) for _ in episodes.devices]
        for number, env in enumerate(envs):
            env._show(episodes, number, render_mode)
        return envs

    def _show(self, episodes: Episodes, number: int, render_mode: str | None) -> None:
        """Bind this environment to device `number`."""
        self.episodes = episodes
        features, candidates = episodes.decision.features, episodes.candidates
        self.observation_space = features.space(candidates)  # type: ignore[assignment]
        #: Stable-Baselines3 saves this entry with the space, so the zip of an agent names its environment.
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
            seed: seed of the episode; None draws a seed.
            options: None, or a mapping. Its entry `workload`, a name, path, mapping, model, array or
                function, replaces the environment's workload in this episode.

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
        """Carry out the action, and run the device to the next decision or to the end of the episode.

        Args:
            action: number of the chosen candidate.

        Returns:
            Observation, reward, terminated (whether the device has reached the end of its life), truncated
            (whether the episode has ended for another reason), and info.

        Raises:
            SsdgymError: no episode is under way, or the action is invalid and `invalid` is `"error"`. The
                device has not changed.
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
        """Return whether each action may be chosen now, bool (K,)."""
        return self.episodes.view.mask[self._number] != 0

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the episode up to now, without its warm-up."""
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
        """Return the data of a picture of the device as it is now."""
        view, episodes, i = self.episodes.view, self.episodes, self._number
        kind, allowed = episodes.kind_asked(i), view.mask[i] != 0
        return Scene(
            device=episodes.devices[i].name,
            map=episodes.page_map(i),
            kind=kind,
            choices=int(allowed.sum()),
            # Other kinds of decisions leave the candidates of the last decision about an erase in `sets`.
            candidates=view.sets[i][allowed & (kind == ERASE)],
            chosen=episodes.chosen.get(i),
            counters={name: int(episodes.counter(name)[i]) for name in SHOWN[1:]},
            write_amplification=self.metrics()["write_amplification"],
        )

    def draw_seed(self, seed: int | None) -> int:
        """Return `seed`, after seeding `np_random` with it; if `seed` is None, draw and return a seed."""
        given = None if seed is None else seed_number(seed, f"the seed of environment {self._number}")
        super().reset(seed=given)
        return int(self.np_random.integers(_SEEDS)) if given is None else given

    def observation(self) -> Observation:
        """Return a copy of the present observation."""
        candidates, context, mask, _, _ = self.episodes.rows[self._number]
        return {"candidates": candidates.copy(), "context": context.copy(), "action_mask": mask.copy()}

    def info(self, stepped: bool = False) -> dict[str, Any]:
        """Return the info of the present decision. If `stepped`, include `terms`, those of the last step."""
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
