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
from ssdgym.envs.decisions import DescribedDecision, EraseDecision, Options
from ssdgym.envs.placement import DEFAULT_VICTIMS, StreamDecision
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown


class JointDecision(DescribedDecision):
    """Whatever is due next: what to erase, which write stream a page goes to, how far an idle die collects.

    Where `idle` is None the device's own idle rule decides the last.
    """

    kind = ERASE

    def __init__(
        self, erase: EraseDecision, streams: StreamDecision, idle: IdleDecision | None = None
    ) -> None:
        self.erase, self.streams, self.idle = erase, streams, idle
        self.proposers, self.most_blocks = erase.proposers, erase.most_blocks
        self.kinds = (ERASE, *streams.kinds, *(() if idle is None else (IDLE,)))
        answers = () if idle is None else idle.names
        self.labels = {"candidate": erase.names, "stream": streams.names, "answer": answers}
        self.observe("default", ())

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with the streams of the agent, its trackers and, if it decides, an idle rule."""
        adapted = device if self.idle is None else self.idle.adapt(device)
        return self.streams.tracked(adapted, self._selection.trackers)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates: of the kind that has most."""
        parts = (self.erase, self.streams) if self.idle is None else (self.erase, self.streams, self.idle)
        return max(part.candidates_on(devices) for part in parts)

    def spec(self) -> ObservationSpec:
        """Return the request for observations without features."""
        erase, streams = self.erase.spec(), self.streams.spec()
        observers = np.where(np.arange(len(KINDS)) == ERASE, 0, streams.observers)
        external = erase.external | streams.external
        if self.idle is not None:
            idle = self.idle.spec()
            observers[IDLE] = idle.observers[IDLE]
            external |= idle.external
        return erase._replace(external=external, observers=observers)


JOINT_PROPOSERS = ("greedy", "cost_benefit", DEFAULT_VICTIMS, "fifo")


@dataclass(frozen=True, kw_only=True)
class JointGCOptions(Options):
    """The arguments of `JointGCEnv`."""

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
    together next. The agent takes both decisions, as they come; most are about pages. The rest is as in
    `ssdgym.envs.EraseVictimEnv` and `ssdgym.envs.PlacementEnv`.

    With `idle=True` the agent also decides when to collect, as in `ssdgym.envs.BackgroundGCEnv`. That needs a
    device with time (`ftl.timing: event`), and a workload that leaves idle time. Latencies then count, so
    that an objective such as `{"latency": 1.0, "relocations": 64.0}` suits.

    ## Action Space
    `Discrete(K)`, K the larger of `candidates` and `streams`, and at least 8 with `idle`. Action `k` erases
    candidate `k`, or puts a page into stream `k`, or, `k` = 0 to 7, lets an idle die take 0, 1, 2, 4, 8, 16,
    32 or all commands of the round. Rows beyond those of the kind at hand are masked.

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
    Those of `ssdgym.envs.PlacementEnv`.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-placement"` | of small blocks, so that streams cost little |
    | `candidates` | int or `"all"` | `8` | erase sets to choose among |
    | `proposers` | list of str | `JOINT_PROPOSERS` | victim policies whose picks are always candidates |
    | `pages` | str | `"both"` | `host`, `relocated` or `both`; the others go by the device's placement |
    | `per` | str | `"page"` | a decision for each `page` of the host, or for each `request` |
    | `streams` | int or `None` | `4` | streams; `None`: as many as the placements have |
    | `placements` | list of str | `()` | placements whose choices are shown besides |
    | `idle` | bool | `False` | also choose how far idle dies collect; otherwise the device's idle rule does |
    """

    options_type = JointGCOptions


JointGCVectorEnv = vectorized(JointGCEnv)
