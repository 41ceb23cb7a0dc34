"""The environment of placement: which stream a page is written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.fields import is_whole
from ssdgym.config.page import MOST_STREAMS, PageFtl
from ssdgym.engine.decisions import PLACE, RELOCATE, WHOLE_REQUESTS
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.page.describing import stream_describer
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, Options, spec_without_sets, victims_of, with_victims
from ssdgym.envs.rewards.credit import credit_tracker, price_of
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy
from ssdgym.policy.on_device import beside_on, tracking
from ssdgym.policy.rules import Rule

#: Whose streams the agent chooses, by the value of the argument `pages`.
PAGES = {"host": (PLACE,), "relocated": (RELOCATE,), "both": (PLACE, RELOCATE)}
#: How often it chooses that of host pages, by the value of the argument `per`.
PER = ("page", "request")
#: The label of the device's own placement among the proposers.
PLACEMENT = "placement"


class StreamDecision(DescribedDecision):
    """Where a page goes: action k below S takes stream k, S + j the sub-block that proposer j names.

    Args:
        pages: whose streams are chosen: of pages that the host writes, that are relocated, or of both.
        per: a decision for each `page` of the host, or one for all pages of a `request`.
        streams: how many there are; None: as many as the placement of the device, and the proposers, have.
        victims: policy that chooses victims, without a placement; None where victims are not chosen here.
        proposers: placements whose choices are shown beside the choice of the device's own placement.
        price: of the room that dead pages hold, where each decision is credited; None: it is not.

    Raises:
        SsdgymError: an argument is not of that kind, or requests are credited.
    """

    kind = PLACE

    def __init__(
        self,
        pages: str,
        per: str,
        streams: int | None,
        victims: str | Policy | None,
        proposers: Sequence[str],
        price: float | None = None,
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
        if price is not None and per == "request":
            raise SsdgymError(
                "credit is for decisions about single pages, and per = 'request' takes one for several; set "
                "per to 'page', or leave credit out."
            )
        self.kinds, self.price = PAGES[pages], price
        self.external = sum(1 << kind for kind in self.kinds)
        self.external |= WHOLE_REQUESTS if per == "request" else 0
        self.streams = streams
        self.policy = victims_of(victims)
        self.placements = [_placement(name) for name in proposers]
        self.propose("stream", [PLACEMENT, *proposers])

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe on devices, and the tracker of credit."""
        super().observe(features, devices)
        noting = self.price is not None and len(devices) > 0
        self._crediting = [credit_tracker(self.kinds, devices)] if noting else []

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with the streams of the agent, and with its trackers.

        Raises:
            SsdgymError: decisions are credited, and pages move there without a decision.
        """
        if self.price is not None and PageFtl.of(device.ftl).levelling is not None:
            raise SsdgymError(
                f"device {device.name} moves pages to level wear, about which there is no decision to "
                "credit; leave credit or ftl.levelling out."
            )
        return self.tracked(device, [*self._selection.trackers, *self._crediting])

    def tracked(self, device: DeviceConfig, trackers: Sequence[str]) -> DeviceConfig:
        """Return a device with the streams of the agent, and with trackers whose records features read.

        Raises:
            SsdgymError: there are too few streams, or a target is named for pages of a whole request.
        """
        own = beside_on(device).get("placement")
        assert own is not None, "this FTL has one"
        if own.targets and self.external & WHOLE_REQUESTS:
            raise SsdgymError(
                f"device {device.name}: placement {own.label} names a sub-block for each page; set per to "
                "'page', not 'request'."
            )
        for rule in self.placements:
            if rule.targets and not own.targets:
                raise SsdgymError(
                    f"proposers name {rule.label}, which names sub-blocks; let the device have a placement "
                    "that does, such as hotness_groups."
                )
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
        """Return the streams, and proposers that may name sub-blocks, on the device with most."""
        needs = [PageFtl.of(device.ftl).needs for device in devices]
        return max(own.streams + own.targets * (1 + len(self.placements)) for own in needs)

    def spec(self) -> ObservationSpec:
        """Return the request for observations without features."""
        # At the horizon a device without any decision is described as if a host page were placed.
        return spec_without_sets(self.external, stream_describer())


def _placement(name: str) -> Rule:
    rule = tracking(name, "proposers:")
    if rule.kind != "placement":
        raise SsdgymError(f"proposers name {name}, which places nothing; leave it out.")
    return rule


#: The rule that has chosen victims where nothing else was said.
DEFAULT_VICTIMS = "cost_benefit(since_close=1)"


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(Options):
    """The arguments of `PlacementEnv`."""

    device: Any = "demo-placement"
    pages: str = "both"
    per: str = "page"
    streams: int | None = 4
    victims: str = DEFAULT_VICTIMS
    proposers: Sequence[str] = ()
    credit: Mapping[str, Any] | None = None

    default_reward: ClassVar[Mapping[str, str]] = {"baseline": DEFAULT_VICTIMS}

    def decision(self) -> StreamDecision:
        """Return the decision that the agent takes."""
        price = price_of(self.credit)
        return StreamDecision(self.pages, self.per, self.streams, self.victims, self.proposers, price)

    @classmethod
    def decision_arguments(cls) -> tuple[str, ...]:
        """Name the arguments that describe the decision; credit is for training alone."""
        return tuple(name for name in super().decision_arguments() if name != "credit")


class PlacementEnv(DecisionEnv):
    """Choose the write stream that a page goes to.

    ## Description
    Every page that is written, by the host or by garbage collection as it empties a block, goes to the open
    block of a *write stream*. Pages that are overwritten at about the same time belong together: the block
    that holds them becomes empty by itself. When a page will be overwritten is unknown; what is known is when
    it was written before. See `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all
    environments.

    ## Action Space
    `Discrete(S)`: action `k` is always stream `k`, and all are valid. A plane keeps a block open for each
    stream: streams cost spare space. `pages` says for which pages the agent chooses; the others go where the
    device's placement says. With `per="request"` the action for the first page of a request is for all of its
    pages; each relocated page is a decision of its own.

    Where the device's placement may name a sub-block of a block in the pool (`hotness_groups`,
    `hot_to_victims`), there are S + P actions for P proposers, the placement itself first: action `S + j`
    puts the page into the sub-block that proposer `j` names. It is masked where that names a stream, or the
    sub-block of a proposer before it.

    `info["proposed"][0]` is the action that the device's own placement (`ftl.placement`) would choose, and
    `info["proposed"][1 + j]` that of proposer `j`, on this device, which other choices have shaped. To play
    the first leaves the device that the placement leaves, bit for bit.

    ## Observation Space
    Of each stream: how far its open block is written, how much of its blocks is valid, their mean age, its
    share of the plane, what went there lately (how old, and whether relocated), how much older the page at
    hand is, whether the page comes from there, and which proposers choose it. Of the page: whether it is
    relocated, the time since its last write, the last two intervals, an update count that fades, that of its
    neighbours, how often it was moved, and the age and the stream of the block that holds it. On demand:
    size, offset, sequentiality and hint of the request. Of a sub-block: what its block holds, how near that
    is to its erase, and whether it is in the best erase set of the block. All are noted while things happen
    (`ssdgym.policy.page_history`), so that nothing is from the future.

    ## Rewards
    The default is `{"relocations": 1.0}` against `{"baseline": "cost_benefit(since_close=1)"}` with the
    device's placement. What a choice costs shows when its block is collected, thousands of decisions later,
    and is mixed with what all others cost.

    `credit={"kind": "page", "price": p}` also shows the cost of each choice; device and rewards stay the
    same. The choices about one page follow each other for as long as its data lives:

    - when the copy that a choice has placed is relocated, that costs 1, and the costs of the choice about the
      relocation are added;
    - when the copy is dead (overwritten or trimmed) and its block is erased, that costs
      `p * waited / logical pages`, where `waited` counts the host pages written in between: the rent of the
      room that it has held. Nothing follows.

    `info["decision"]` is the number of the decision that is due, from 0 in every episode. `info["credits"]`
    lists what was settled since the last step, each as (`decision`, `cost`, `following`), a
    `ssdgym.envs.rewards.credit.Credit`; `following` is -1 where nothing follows. Each decision is settled
    once, or is still open at the end of the episode. A vector environment has a list for each device.
    `ssdgym.envs.rewards.credit.CreditBuffer` joins credits to what was seen and done.

    With `pages="host"` a choice pays for all moves of its page by the device's placement until the page dies.
    Copies that the agent has not placed, those from before the episode among them, are not settled. From a
    move to the erase of its victim no rent is due. A choice for a whole request (`per="request"`) is about
    several pages, so that it is refused.

    The price is the Lagrange multiplier of spare space. On a full device every host page leaves one copy
    dead, and dead copies fill the spare space; so they wait for as many host pages as there are spare pages,
    on average and whatever the agent does. Under that constraint relocations are fewest where each page pays
    for its own waiting what all would save with more spare space: `p = -dR/ds`, with R relocations per host
    page and s spare pages as a share of the logical ones. Any placement measures it:
    `(R(0.13) - R(0.17)) / 0.04` of `sep_gc` on `demo-placement` is 15 for `zipf80` and 10 for `hot90`.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-placement"` | of small blocks, so that streams cost little |
    | `pages` | str | `"both"` | `host`, `relocated` or `both` |
    | `per` | str | `"page"` | a decision for each `page` of the host, or for each `request` |
    | `streams` | int or `None` | `4` | S; `None`: as many as the placement and the proposers have |
    | `victims` | str | `"cost_benefit(since_close=1)"` | policy that chooses what is erased |
    | `proposers` | list of str | `()` | placements whose choices are shown besides: compiled rules |
    | `credit` | mapping or `None` | `None` | show what each decision has cost: see Rewards |
    """

    options_type = PlacementOptions


PlacementVectorEnv = vectorized(PlacementEnv)
