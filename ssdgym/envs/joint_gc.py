"""The environment of victim selection and placement together, and of background GC if `idle` is true."""

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
from ssdgym.envs.decisions import Decision, EraseDecision, Options
from ssdgym.envs.placement import DEFAULT_VICTIMS, StreamDecision
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown


class JointDecision(Decision):
    """Decisions of three kinds: what to erase, the stream of a page, and how far an idle die collects.

    If `idle` is None, the agent takes no decisions about idle dies.
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
        """Return the device with the agent's streams, trackers and, if the agent decides, an idle rule."""
        adapted = device if self.idle is None else self.idle.adapt(device)
        return self.streams.tracked(adapted, self.selection.trackers)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of candidates, the largest of all kinds of decisions."""
        parts = (self.erase, self.streams) if self.idle is None else (self.erase, self.streams, self.idle)
        return max(part.candidates_on(devices) for part in parts)

    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features, which `ask` adds."""
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
        """Return the `Decision` that has the values of these arguments."""
        if not isinstance(self.idle, bool):
            raise SsdgymError(
                f"idle must be True or False, not {shown(self.idle)}; the rule that proposes is ftl.gc.idle."
            )
        erase = EraseDecision(self.candidates, self.proposers)
        streams = StreamDecision(self.pages, self.per, self.streams, None, self.placements)
        return JointDecision(erase, streams, IdleDecision(None) if self.idle else None)


class JointGCEnv(DecisionEnv):
    """Choose what garbage collection erases, where pages go and, with `idle=True`, how far idle dies collect.

    ## Description
    The placement of pages determines how many pages of a block are still valid when it is erased, and the
    choice of victims determines which pages are placed next. The agent takes both kinds of decisions in the
    order in which they become due; most are about pages. `ssdgym.envs.EraseVictimEnv` and
    `ssdgym.envs.PlacementEnv` describe them.

    With `idle=True` the agent also decides when to collect, as in `ssdgym.envs.BackgroundGCEnv`. The device
    then must simulate time (`ftl.timing: event`), and the workload must leave idle time. Choose an objective
    that includes latencies, such as `{"latency": 1.0, "relocations": 64.0}`.

    ## Action Space
    `Discrete(K)`: K is the larger of `candidates` and `streams`; with `idle=True`, K is at least 8. Depending
    on the kind of decision, action `k` erases candidate `k`, or places a page in stream `k`, or lets an idle
    die execute 0, 1, 2, 4, 8, 16, 32 or all commands of its round (`k` = 0 to 7). Other actions are masked.

    `info["proposed"]` contains the picks of the `proposers`, then the stream that the device's placement
    would choose, then the streams that the `placements` would choose. Picks of erase sets are -1 if the
    decision is about a page, and streams are -1 if it is about an erase. For an idle die,
    `info["proposed"][0]` is the choice of the device's idle rule (`ftl.gc.idle`), and all other elements are
    -1. An agent that always follows the same victim policy, the same placement and the idle rule has exactly
    the run of these rules, if the idle rule only chooses among these eight numbers of commands.

    ## Observation Space
    The features of all kinds of decisions. Features that describe another kind of decision than the present
    one are 0. The context contains the features of the decision, which include its kind (`asks_erase`,
    `asks_place`, `asks_relocate`, and with `idle=True` also `asks_idle`), then those of page and die.

    ## Rewards
    The objective and the reward have the defaults of `ssdgym.envs.PlacementEnv`.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | see `DecisionEnv` | `"demo-placement"` | a device whose small blocks make streams cheap |
    | `candidates` | int or `"all"` | `8` | number of erase sets to choose among |
    | `proposers` | list of str | `JOINT_PROPOSERS` | victim policies whose picks are always candidates |
    | `pages` | str | `"both"` | which pages the agent places: `host`, `relocated` or `both` |
    | `per` | str | `"page"` | one decision for each `page` that the host writes, or for each `request` |
    | `streams` | int or `None` | `4` | number of streams; `None`: the most that one of the placements needs |
    | `placements` | list of str | `()` | further placements whose choices the agent sees |
    | `idle` | bool | `False` | whether the agent also chooses how far idle dies collect |
    """

    options_type = JointGCOptions


JointGCVectorEnv = vectorized(JointGCEnv)
