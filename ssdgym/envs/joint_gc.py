"""The environment of placement and background GC together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import ERASE, IDLE, KINDS
from ssdgym.engine.observation import ObservationSpec
from ssdgym.envs.background_gc import IdleDecision
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, EraseDecision
from ssdgym.envs.features import Setting, select
from ssdgym.envs.options import Options
from ssdgym.envs.placement import DEFAULT_VICTIMS, StreamDecision
from ssdgym.envs.vector import DecisionVectorEnv
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import rules_for
from ssdgym.policy.registry import rules_on


class JointDecision(DescribedDecision):
    """Whatever is due next: what to erase, which write stream a page goes to, how far an idle die collects.

    Args:
        erase: how the first is asked.
        streams: how the second is asked.
        idle: how the third is asked; None: the device's own idle rule decides.
    """

    kind = ERASE

    def __init__(
        self, erase: EraseDecision, streams: StreamDecision, idle: IdleDecision | None = None
    ) -> None:
        self.erase, self.streams, self.idle = erase, streams, idle
        self.proposers = erase.proposers
        self.kinds = (ERASE, *streams.kinds, *(() if idle is None else (IDLE,)))
        self.observe("default", ())

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe.

        Args:
            features: `"default"`, `"all"` or a list of names.
            devices: all that the environment has.

        Raises:
            SsdgymError: it is none of these, or names what is not registered.
        """
        kinds = tuple(KINDS[kind] for kind in self.kinds)
        setting = Setting(tuple(devices), self.erase.most_blocks, kinds)
        idle = () if self.idle is None else self.idle.names
        proposers = {"candidate": self.erase.names, "stream": self.streams.names, "answer": idle}
        self._selection = select(features, setting, proposers)

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with the streams of the agent, and with its trackers.

        Raises:
            SsdgymError: pages are not placed in streams there, there are too few of them, or idle dies cannot
                be asked for.
        """
        adapted = device if self.idle is None else self.idle.adapt(device)
        return self.streams.tracked(adapted, self._selection.trackers)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates: of the kind that has most.

        Args:
            devices: all that the environment has, adapted.

        Raises:
            SsdgymError: a proposer needs another device, or there are too many erase sets to list all.
        """
        parts = (self.erase, self.streams) if self.idle is None else (self.erase, self.streams, self.idle)
        return max(part.candidates_on(devices) for part in parts)

    def spec(self, candidates: int) -> ObservationSpec:
        """Return the request for observations, with addresses of this process, without the features.

        Args:
            candidates: K.
        """
        erase, streams = self.erase.undescribed(), self.streams.spec(candidates)
        observers = np.where(np.arange(len(KINDS)) == ERASE, 0, streams.observers)
        external = erase.external | streams.external
        if self.idle is not None:
            idle = self.idle.spec(candidates)
            observers[IDLE] = idle.observers[IDLE]
            external |= idle.external
        return erase._replace(external=external, observers=observers)

    def ask(self, candidates: int, device: DeviceConfig) -> ObservationSpec:
        """Return the request for observations of a batch, and the rules for the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        memories = {rule.name: rule.memory for rule in rules_on(device)[1:]}
        spec = self._selection.ask(self.spec(candidates), candidates, memories)
        return spec._replace(rules=rules_for(device, None))


JOINT_PROPOSERS = ("greedy", "cost_benefit", DEFAULT_VICTIMS, "fifo")


@dataclass(frozen=True, kw_only=True)
class JointGCOptions(Options):
    """The arguments of `JointGCEnv`.

    Attributes:
        candidates: erase sets among which the agent chooses, or `"all"`.
        proposers: victim policies whose picks are always candidates.
        pages: `host`, `relocated` or `both`.
        per: `page` or `request`.
        streams: that the agent chooses among; None: as many as the placements have.
        placements: whose choices are shown, beside that of the device's own placement.
        idle: whether the agent also chooses how far idle dies collect.
    """

    device: Any = "demo-placement"
    candidates: int | str = 8
    proposers: Sequence[str] = JOINT_PROPOSERS
    pages: str = "both"
    per: str = "page"
    streams: int | None = 4
    placements: Sequence[str] = ()
    idle: bool = False

    default_reward: ClassVar[Mapping[str, str]] = {"baseline": DEFAULT_VICTIMS}

    def decision(self) -> JointDecision:
        """Return the decision that the agent takes.

        Raises:
            SsdgymError: an argument is not of its kind.
        """
        if not isinstance(self.idle, bool):
            raise SsdgymError(
                f"idle must be True or False, not {shown(self.idle)}; the rule that proposes is ftl.gc.idle."
            )
        erase = EraseDecision(self.candidates, self.proposers)
        streams = StreamDecision(self.pages, self.per, self.streams, None, self.placements)
        return JointDecision(erase, streams, IdleDecision(None) if self.idle else None)


class JointGCEnv(DecisionEnv):
    """Choose what garbage collection erases, where pages go and, if wanted, how far idle dies collect.

    ## Description
    Where pages are put decides what a block will be worth, and which blocks are erased decides what is put
    together next. The agent takes both decisions, as they come: a page of the host is about to be programmed,
    a plane runs short of free pages, a valid page of the victim has to be moved. Most decisions are about
    pages. What is not said here is as in `ssdgym.envs.EraseVictimEnv` and `ssdgym.envs.PlacementEnv`.

    With `idle=True` the agent also decides when to collect, as in `ssdgym.envs.BackgroundGCEnv`: it is asked
    whenever a die finds nothing to do and has something to collect. That needs a device with time
    (`ftl.timing: event`), and a workload that leaves idle time; a device without time is refused. Latencies
    then count, so that an objective such as `{"latency": 1.0, "relocations": 64.0}` suits.

    ## Action Space
    `Discrete(K)`, K the larger of `candidates` and `streams`, and at least 8 with `idle`. Where victims are
    asked for, action `k` erases candidate `k`; where a page is, it goes to stream `k`; where a die is idle,
    it takes 0, 1, 2, 4, 8, 16 or 32 commands, or all to the end of the round. Rows beyond those of the kind
    at hand are masked.

    `info["proposed"]` has the places of the picks of the `proposers`, then the stream that the device's
    placement would choose, then those of the `placements`; -1 where the decision is of another kind. Where a
    die is idle (`asks_idle`), `info["proposed"][0]` is instead the answer of the device's idle rule
    (`ftl.gc.idle`), and the others are -1. A victim policy, the placement and an idle rule that takes these
    answers only are so played through the environment exactly.

    ## Observation Space
    The columns of the kinds side by side, 0 where they are not of the kind at hand; in the context those
    of the decision, which say of what kind it is (`asks_erase`, `asks_place`, `asks_relocate`, and with
    `idle` also `asks_idle`), then those of the page, then those of the die.

    ## Rewards
    The default objective, `{"relocations": 1.0}`, costs `relocated pages / pages per block`; that of an
    episode is exactly `(write amplification - 1) * horizon / pages per block`. The default reward is that of
    `{"baseline": "cost_benefit(since_close=1)"}` with the device's placement.

    ## Starting State
    Full and preconditioned by its workload, with the device's placement and greedy victims.

    ## Episode End
    After `horizon` host pages; truncated, never terminated.

    ## Arguments
    Those of every environment, and

    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-placement"` | of small blocks, so that streams cost little |
    | `candidates` | int or `"all"` | `8` | erase sets to choose among |
    | `proposers` | list of str | `JOINT_PROPOSERS` | victim policies whose picks are always candidates |
    | `pages` | str | `"both"` | `host`, `relocated` or `both`; the others go by the device's placement |
    | `per` | str | `"page"` | a decision for each `page` of the host, or for each `request` |
    | `streams` | int or `None` | `4` | streams; `None`: as many as the placements have |
    | `placements` | list of str | `()` | placements whose choices are shown besides |
    | `idle` | bool | `False` | also choose how far idle dies collect; else the device's idle rule does |

    ## Vectorized environment
    `JointGCVectorEnv`, which `gym.make_vec` makes: many devices in one compiled call per step.

    ## Version History
    * v0: first version.
    """

    options_type = JointGCOptions


class JointGCVectorEnv(DecisionVectorEnv):
    """Many `JointGCEnv` in one compiled call per step; see `ssdgym.envs.DecisionVectorEnv`."""

    options_type = JointGCOptions
