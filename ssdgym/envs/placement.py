"""The environment of placement: the agent chooses the stream to which a page is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.fields import is_whole
from ssdgym.config.page import MOST_STREAMS, PageFtl
from ssdgym.engine.decisions import PLACE, RELOCATE, WHOLE_REQUESTS
from ssdgym.engine.observation import ObservationBuffers, ObservationSpec
from ssdgym.engine.page.describing import stream_describer
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import Decision, Options, basic_spec, victims_of, with_victims
from ssdgym.envs.rewards.credit import PageCredits, checked_price, credit_tracker
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy
from ssdgym.policy.on_device import beside_on, streams_of, tracking
from ssdgym.policy.rules import Rule

#: The kinds of decisions that the agent takes, by the value of the argument `pages`.
PAGES = {"host": (PLACE,), "relocated": (RELOCATE,), "both": (PLACE, RELOCATE)}
#: The values of the argument `per`: one decision for each host page, or for each request.
PER = ("page", "request")
#: The name of the device's own placement among the proposers.
PLACEMENT = "placement"


class StreamDecision(Decision):
    """The decision where a page goes: action k below S is stream k, action S + j the sub-block of proposer j.

    Proposer 0 is the device's own placement, and the others are the argument `proposers`.

    Args:
        pages: which pages the agent places: `host` pages, `relocated` pages, or `both`.
        per: one decision for each `page` that the host writes, or one for all pages of a `request`.
        streams: number of streams S. If it is None, S is the largest number of streams of a proposer.
        victims: policy that chooses victims, without a placement; None if the agent also chooses victims.
        proposers: placements whose choices the agent sees.
        price: argument `price` of `PageCredits`; None: infos do not contain the cost of each decision.

    Raises:
        SsdgymError: an argument has a wrong type or value, or there is a `price` while `per` is `request`.
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
        """Select the features to observe on devices, and the tracker that records the cost of decisions."""
        super().observe(features, devices)
        noting = self.price is not None and len(devices) > 0
        self._crediting = [credit_tracker(self.kinds, devices)] if noting else []

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device with the agent's streams, and with the trackers of features and of credit.

        Raises:
            SsdgymError: `price` is given, but a levelling rule of the device also moves pages.
        """
        if self.price is not None and PageFtl.of(device.ftl).levelling is not None:
            raise SsdgymError(
                f"device {device.name} moves pages to level wear, about which there is no decision to "
                "credit; leave credit or ftl.levelling out."
            )
        return self.tracked(device, [*self.selection.trackers, *self._crediting])

    def credits(self, batches: Sequence[Any], view: ObservationBuffers) -> PageCredits | None:
        """Return the credits of the devices of `batches`, or None without `price`."""
        return None if self.price is None else PageCredits(batches, self.price)

    def tracked(self, device: DeviceConfig, trackers: Sequence[str]) -> DeviceConfig:
        """Return the device with the agent's streams, and with the given trackers and proposers.

        Raises:
            SsdgymError: a proposer has more than S streams; or a proposer chooses sub-blocks, but the
                device's placement does not, or decisions are about whole requests.
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
        # If neither holds, the placement already reserves the free blocks that its streams need.
        kept = streams if RELOCATE in self.kinds or streams > own.streams else 1
        changes = {"min_streams": kept, "trackers": [*trackers, *(rule.label for rule in self.placements)]}
        return with_victims(with_ftl(device, changes), self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the largest number of actions on a device: S, or S + P if its placement picks sub-blocks."""
        proposing = 1 + len(self.placements)
        return max(streams_of(one) + beside_on(one)["placement"].targets * proposing for one in devices)

    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features, which `ask` adds."""
        # The observation at the horizon, where no decision is due, describes the placement of a host page.
        return basic_spec(self.external, stream_describer())


def _placement(name: str) -> Rule:
    rule = tracking(name, "proposers:")
    if rule.kind != "placement":
        raise SsdgymError(f"proposers name {name}, which places nothing; leave it out.")
    return rule


#: The default victim policy.
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
    credit: float | None = None

    default_reward: ClassVar[Mapping[str, str]] = {"baseline": DEFAULT_VICTIMS}

    def decision(self) -> StreamDecision:
        """Return the `Decision` that has the values of these arguments."""
        price = checked_price(self.credit)
        return StreamDecision(self.pages, self.per, self.streams, self.victims, self.proposers, price)


class PlacementEnv(DecisionEnv):
    """Choose the write stream that a page goes to.

    ## Description
    Every page that the host writes or garbage collection relocates goes to the open block of a *write
    stream*. Pages that will be overwritten at about the same time should share a block: the block then
    becomes invalid as a whole, and its erase needs no relocations. The agent observes when a page was written
    before, not when it will be overwritten. See `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes
    shared by all environments.

    ## Action Space
    `Discrete(S)`: action `k` is always stream `k`, and all actions are valid. A plane has an open block for
    each stream, so streams cost spare space. The argument `pages` says which pages the agent places; the
    device's placement places the other pages. With `per="request"`, the action for the first page of a host
    request applies to all pages of the request. Each relocated page still has its own decision.

    If the device's placement may choose a sub-block of a block in the pool (`hotness_groups`,
    `hot_to_victims`), there are S + P actions, where P is the number of proposers. Proposer 0 is this
    placement, and proposers 1 to P - 1 are the argument `proposers`. Action `S + j` places the page in the
    sub-block that proposer `j` chooses. This action is masked if proposer `j` chooses a stream, or the same
    sub-block as an earlier proposer.

    `info["proposed"][j]` is the action that proposer `j` would choose now. An agent that always chooses
    `info["proposed"][0]` leaves the same device, bit for bit, as `ftl.placement`, the device's own placement.
    Of this placement and those in `proposers`, at most one may have a `table`, as `hot_cold` has.

    ## Observation Space
    For each stream: the written share of its open block, the valid share of its pages, the mean age of its
    blocks, its share of the plane's blocks, and which proposers choose it. Further features of a stream are
    the mean age and the relocated share of the pages lately written to it, the difference between this age
    and that of the page to place, and whether the stream holds the present data of this page. For the page to
    place: whether it is relocated, the host pages written since its last write, the last two intervals
    between its writes, decaying counts of the writes to the page and to its neighbours, the number of its
    relocations, and the age and the stream of the block that holds it. If an action stands for a sub-block,
    the features of a stream describe the block of the sub-block. Two further features are how near this block
    is to its erase, and whether the sub-block is in the block's best erase set. The tracker
    `ssdgym.policy.page_history` records the history of pages and streams, from past events only.

    ## Rewards
    The default objective is `{"relocations": 1.0}`. The baseline of the default reward is
    `cost_benefit(since_close=1)` with the device's placement. The cost of a choice is part of the reward when
    the block of the page is collected, thousands of decisions later, mixed with the costs of other choices.

    `credit=p` adds the cost of each single choice to the infos, and changes
    neither device nor rewards. The choices about one page form a chain, which ends when the page is
    overwritten or trimmed. Its copy is then *dead*:

    - A relocation of the copy that a choice has placed costs this choice 1. The choice about the relocation
      is the next one in the chain.
    - When a dead copy is erased, the last choice in the chain costs `p * waited / logical pages`, where
      `waited` is the number of host pages written since the copy became dead. This is a rent for the space
      that the dead copy has occupied.

    `info["decision"]` is the number of the present decision, from 0 in every episode. `info["credits"]` lists
    the decisions whose cost became known in the last step, as `ssdgym.envs.rewards.credit.Credit`
    (`decision`, `cost`, `following`); `following` is the next decision in the chain, or -1. Each decision is
    listed once, unless its cost is not known at the end of the episode. In a vector environment,
    `info["credits"]` contains a list for each device. `ssdgym.envs.rewards.credit.CreditBuffer` joins credits
    to observations and actions.

    With `pages="host"`, the cost of a choice includes all relocations of its page up to the next overwrite.
    Copies that the agent has not placed, such as those from before the episode, have no credit. The old copy
    of a relocated page costs no rent. `credit` requires `per="page"`, where each choice is about one page.

    Set `p` to the Lagrange multiplier of spare space. On a full device every host page makes one copy dead,
    and dead copies fill the spare space. Under any policy, a dead copy therefore waits on average for as many
    host pages as there are spare pages. Under this constraint relocations are fewest if the rent of waiting
    equals the relocations that the same amount of additional spare space would save: `p = -dR/ds`. Here R is
    the number of relocations per host page, and s the number of spare pages per logical page. Measure p with
    any placement: with `sep_gc` on `demo-placement`, `(R(0.13) - R(0.17)) / 0.04` is 15 for `zipf80`, 10 for
    `hot90`.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | see `DecisionEnv` | `"demo-placement"` | a device whose small blocks make streams cheap |
    | `pages` | str | `"both"` | which pages the agent places: `host`, `relocated` or `both` |
    | `per` | str | `"page"` | one decision for each `page` that the host writes, or for each `request` |
    | `streams` | int or `None` | `4` | number of streams S; `None`: the most that a proposer needs |
    | `victims` | str | `"cost_benefit(since_close=1)"` | policy that chooses the blocks to erase |
    | `proposers` | list of str | `()` | further placements (compiled rules) whose choices the agent sees |
    | `credit` | float or `None` | `None` | report the cost of each decision, at this price: see Rewards |
    """

    options_type = PlacementOptions


PlacementVectorEnv = vectorized(PlacementEnv)
