"""The environment of placement: which stream a page is written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.fields import is_whole
from ssdgym.config.ftl import MOST_STREAMS, SUB_BLOCK_PLACEMENTS, page_ftl
from ssdgym.engine.decisions import KINDS, PLACE, RELOCATE, WHOLE_REQUESTS
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.placing import stream_describer
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, spec_without_sets, victims_of, with_victims
from ssdgym.envs.features import Setting, select
from ssdgym.envs.options import Options
from ssdgym.envs.vector import DecisionVectorEnv
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy, rules_for
from ssdgym.policy.registry import placement_of, rules_on, tracking
from ssdgym.policy.rules import PlacementRule

#: Whose streams the agent chooses, by the value of the argument `pages`.
PAGES = {"host": (PLACE,), "relocated": (RELOCATE,), "both": (PLACE, RELOCATE)}
#: How often it chooses that of host pages, by the value of the argument `per`.
PER = ("page", "request")
#: The label of the device's own placement among the proposers.
PLACEMENT = "placement"


class StreamDecision(DescribedDecision):
    """Which write stream a page goes to; action k takes stream k.

    Args:
        pages: whose streams are chosen: of pages that the host writes, that are relocated, or of both.
        per: a decision for each `page` of the host, or one for all pages of a `request`.
        streams: how many there are; None: as many as the placement of the device, and the proposers, have.
        victims: policy that chooses what is erased, without a placement; None: somebody else does.
        proposers: placements whose choices are shown beside that of the device's own placement.

    Raises:
        SsdgymError: an argument is not of that kind.
    """

    kind = PLACE

    def __init__(
        self,
        pages: str,
        per: str,
        streams: int | None,
        victims: str | Policy | None,
        proposers: Sequence[str],
    ) -> None:
        for name, value, known in (("pages", pages, PAGES), ("per", per, PER)):
            if value not in known:
                raise SsdgymError(f"{name} must be one of {', '.join(known)}, not {shown(value)}.")
        if streams is not None and (not is_whole(streams) or not 1 <= streams <= MOST_STREAMS):
            raise SsdgymError(
                f"streams must be None or a whole number from 1 to {MOST_STREAMS}, not {shown(streams)}."
            )
        if isinstance(proposers, str) or not isinstance(proposers, Sequence):
            raise SsdgymError(f"proposers must be a list of placements, not {shown(proposers)}.")
        self.kinds = PAGES[pages]
        self.external = sum(1 << kind for kind in self.kinds)
        self.external |= WHOLE_REQUESTS if per == "request" else 0
        self.streams = streams
        self.policy = victims_of(victims)
        self.placements = [_placement(name) for name in proposers]
        self.names = [PLACEMENT, *proposers]
        self.observe("default", ())

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe.

        Args:
            features: `"default"`, `"all"` or a list of names.
            devices: all that the environment has.

        Raises:
            SsdgymError: it is none of these, or names what is not registered.
        """
        setting = Setting(tuple(devices), kinds=tuple(KINDS[kind] for kind in self.kinds))
        self._selection = select(features, setting, {"stream": self.names})

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with the streams of the agent, and with its trackers.

        Raises:
            SsdgymError: pages are not placed in streams there, or there are too few of them.
        """
        return self.tracked(device, self._selection.trackers)

    def tracked(self, device: DeviceConfig, trackers: Sequence[str]) -> DeviceConfig:
        """Return a device with the streams of the agent, and with trackers.

        Args:
            device: to adapt.
            trackers: the rules whose records features read.

        Raises:
            SsdgymError: pages are not placed in streams there, or there are too few of them.
        """
        if page_ftl(device.ftl).placement in SUB_BLOCK_PLACEMENTS:
            raise SsdgymError(
                f"device {device.name} does not write pages to streams; set ftl.placement to one that does, "
                "such as sep_gc."
            )
        own = placement_of(device)
        assert own is not None, "this FTL has one"
        needed = {rule.name: rule.streams for rule in (own, *self.placements)}
        streams = max(needed.values()) if self.streams is None else self.streams
        for label, count in needed.items():
            if count > streams:
                raise SsdgymError(
                    f"streams = {streams} are too few for the placement {label}, which has {count}; give at "
                    "least as many."
                )
        # Where relocated pages go by the rule alone, its own streams have all the free blocks they need.
        kept = streams if RELOCATE in self.kinds or streams > own.streams else 1
        changes = {"min_streams": kept, "trackers": [*trackers, *(rule.label for rule in self.placements)]}
        return with_victims(with_ftl(device, changes), self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of streams, on the device with most.

        Args:
            devices: all that the environment has, adapted.
        """
        return max(page_ftl(device.ftl).streams for device in devices)

    def spec(self, candidates: int) -> ObservationSpec:
        """Return the request for observations, with addresses of this process, without the features.

        Args:
            candidates: K.
        """
        # At the horizon a device that has never asked is described as if it asked where a host page goes.
        return spec_without_sets(self.external, stream_describer())

    def ask(self, candidates: int, device: DeviceConfig) -> ObservationSpec:
        """Return the request for observations of a batch, and the rules for the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        memories = {rule.name: rule.memory for rule in rules_on(device)[1:]}
        spec = self._selection.ask(self.spec(candidates), candidates, memories)
        return spec._replace(rules=rules_for(device, self.policy))


def _placement(name: str) -> PlacementRule:
    rule = tracking(name, "proposers:")
    if not isinstance(rule, PlacementRule):
        raise SsdgymError(f"proposers name {name}, which places nothing; leave it out.")
    return rule


#: The rule that has chosen victims where nothing else was said.
DEFAULT_VICTIMS = "cost_benefit(since_close=1)"


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(Options):
    """The arguments of `PlacementEnv`.

    Attributes:
        pages: `host`, `relocated` or `both`.
        per: `page` or `request`.
        streams: that the agent chooses among; None: as many as the placement and the proposers have.
        victims: policy that chooses what is erased.
        proposers: placements whose choices are shown, beside that of the device's own placement.
    """

    device: Any = "demo-placement"
    pages: str = "both"
    per: str = "page"
    streams: int | None = 4
    victims: str = DEFAULT_VICTIMS
    proposers: Sequence[str] = ()

    default_reward: ClassVar[Mapping[str, str]] = {"baseline": DEFAULT_VICTIMS}

    def decision(self) -> StreamDecision:
        """Return the decision that the agent takes."""
        return StreamDecision(self.pages, self.per, self.streams, self.victims, self.proposers)


class PlacementEnv(DecisionEnv):
    """Choose the write stream that a page goes to.

    ## Description
    A device full of data serves a workload. Every page that is written, by the host or by garbage collection
    as it empties a block, goes to the open block of a *write stream*. Pages that are overwritten at about the
    same time belong together: the block that holds them becomes empty by itself. When a page will be
    overwritten is unknown; what is known is when it was written before. The agent decides for each page.
    What is not said here is as in every environment (`ssdgym.envs.DecisionEnv`).

    ## Action Space
    `Discrete(S)`: the stream; action `k` is always stream `k`, and all are valid. A plane keeps a block open
    for each stream: streams cost spare space.

    `info["proposed"][0]` is the stream that the device's own placement (`ftl.placement`) would choose, and
    `info["proposed"][1 + j]` what proposer `j` would. Each of them follows all that happens under every
    decider, so that playing `info["proposed"][0]` leaves the device that the placement leaves, bit for bit.
    What the others propose is their choice on this device, which other choices have shaped.

    `pages` says which pages the agent is asked for; the others go where the device's placement says. With
    `per="request"` the answer for the first page of a request is for all of its pages; relocated pages belong
    to no request, and each of them is a decision of its own.

    ## Observation Space
    Of each stream: how far its open block is written, how much of its blocks is valid, their mean age, its
    share of the plane, what went there lately (how old, and whether relocated), how much older the page at
    hand is, whether the page comes from there, and which proposers choose it. Of the page: whether it is
    relocated, the time since its last write, the last two intervals, an update count that fades, that of its
    neighbours, how often it was moved, and the age and the stream of the block that holds it. On demand:
    size, offset, sequentiality and hint of the request. `ssdgym.envs.features` has all of them. All are noted
    while things happen (`ssdgym.policy.page_history`), so that nothing is from the future.

    ## Rewards
    The default objective, `{"relocations": 1.0}`, costs `relocated pages / pages per block`; that of an
    episode is exactly `(write amplification - 1) * horizon / pages per block`. The default reward is that of
    `{"baseline": "cost_benefit(since_close=1)"}` with the device's placement. What a choice costs shows when
    its block is collected, thousands of decisions later.

    ## Starting State
    Full and preconditioned by its workload, with the device's placement and greedy victims.

    ## Episode End
    After `horizon` host pages; truncated, never terminated.

    ## Arguments
    Those of every environment, and

    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-placement"` | of small blocks, so that streams cost little |
    | `pages` | str | `"both"` | `host`, `relocated` or `both` |
    | `per` | str | `"page"` | a decision for each `page` of the host, or for each `request` |
    | `streams` | int or `None` | `4` | S; `None`: as many as the placement and the proposers have |
    | `victims` | str | `"cost_benefit(since_close=1)"` | policy that chooses what is erased |
    | `proposers` | list of str | `()` | placements whose choices are shown besides |

    A proposer is any placement that is a compiled rule, such as `sepbit` or `dac`, or `single` or `sep_gc`.

    ## Vectorized environment
    `PlacementVectorEnv`, which `gym.make_vec` makes: many devices in one compiled call per step.

    ## Version History
    * v0: first version.
    """

    options_type = PlacementOptions


class PlacementVectorEnv(DecisionVectorEnv):
    """Many `PlacementEnv` in one compiled call per step; see `ssdgym.envs.DecisionVectorEnv`."""

    options_type = PlacementOptions
