"""The environment of small writes: the agent chooses whether parts of a page go to a region for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig
from ssdgym.config.subpage import SubpageFtl
from ssdgym.engine.decisions import ASK_COLLECTED, ASK_FLUSHES, KINDS, REGION
from ssdgym.engine.observation import ObservationBuffers, ObservationSpec
from ssdgym.engine.subpage.describing import region_describer
from ssdgym.enums import SubpageKind
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import Decision, Options, basic_spec, victims_of, with_victims
from ssdgym.envs.features import Setting
from ssdgym.envs.rewards.credit import checked_price
from ssdgym.envs.rewards.sector_credit import SectorCredits
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown

#: The names of the two decisions in `Setting.kinds`, and their bits in `ObservationSpec.external`.
_QUESTIONS = {"FLUSHES": ASK_FLUSHES, "COLLECTED": ASK_COLLECTED}
#: The decisions that the agent takes, by the value of the argument `decides`.
DUE = {"flushes": ("FLUSHES",), "collected": ("COLLECTED",), "both": tuple(_QUESTIONS)}
#: The name of the only proposer: the FTL's own rules.
REGION_RULE = "region_rule"


class RegionDecision(Decision):
    """The decision whether parts of pages go to the main area (action 0) or the region (action 1).

    Args:
        decides: decisions that the agent takes: `flushes`, about incomplete groups that leave the write
            buffer; `collected`, about subpages of a region block that is collected; or `both`.
        victims: policy that chooses victims in the main area.
        price: argument `price` of `SectorCredits`; None: infos do not contain the cost of each decision.

    Raises:
        SsdgymError: an argument has a wrong value.
    """

    kind: ClassVar[int] = REGION
    candidates = 2

    def __init__(self, decides: str, victims: str, price: float | None = None) -> None:
        if decides not in DUE:
            raise SsdgymError(f"decides must be one of {', '.join(DUE)}, not {shown(decides)}.")
        if price is not None and decides != "both":
            raise SsdgymError(
                "credit needs all decisions about a sector; set decides to both, or leave credit out."
            )
        self.due = DUE[decides]
        self.policy = victims_of(victims)
        self.price = price
        self.propose("way", [REGION_RULE])

    def setting(self, devices: Sequence[DeviceConfig]) -> Setting:
        """Return the properties of the environment that determine which features apply."""
        for device in devices:
            _check(device)
        return Setting(tuple(devices), kinds=(KINDS[REGION], *self.due))

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device with the victim policy; raise SsdgymError if it has no region of small writes."""
        _check(device)
        return with_victims(device, self.policy)

    def credits(self, batches: Sequence[Any], view: ObservationBuffers) -> SectorCredits | None:
        """Return the credits of the devices of `batches`, or None without `price`.

        Raises:
            SsdgymError: the feature `way_time`, which is the cost of an action, is not observed.
        """
        if self.price is None:
            return None
        names = self.features.names()["candidates"]
        if "way_time" not in names:
            raise SsdgymError("credit needs the feature way_time; add it to features, or leave credit out.")
        return SectorCredits(batches, view.features, names.index("way_time"), self.price)

    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features, which `ask` adds."""
        external = (1 << REGION) | sum(_QUESTIONS[name] for name in self.due)
        return basic_spec(external, region_describer())


def _check(device: DeviceConfig) -> None:
    """Raise SsdgymError if the device has no region of small writes."""
    kind = SubpageFtl.of(device.ftl).kind
    if kind != SubpageKind.SUBFTL:
        raise SsdgymError(
            f"device {device.name} of ftl.kind {kind} decides nothing about a region of small writes; "
            "set ftl.kind to subftl."
        )


@dataclass(frozen=True, kw_only=True)
class SubpageRegionOptions(Options):
    """The arguments of `SubpageRegionEnv`."""

    device: Any = "demo-region"
    workload: Any = "small_mixed"
    decides: str = "both"
    victims: str = "greedy"
    credit: float | None = None

    default_objective: ClassVar[Mapping[str, float]] = {"flash_time": 1.0}
    default_reward: ClassVar[Mapping[str, str]] = {"baseline": "greedy"}

    def decision(self) -> RegionDecision:
        """Return the `Decision` that has the values of these arguments."""
        return RegionDecision(self.decides, self.victims, checked_price(self.credit))


class SubpageRegionEnv(DecisionEnv):
    """Choose whether parts of pages go to the region of small writes.

    ## Description
    Pages of flash are large, and many writes are small. On devices of `ftl.mapping: subpage` and `ftl.kind:
    subftl`, a write of part of a page can go to two areas. In the *region*, each sector is programmed into a
    subpage of a flash page; the subpages of a page are programmed one after the other, without an erase
    between them. In the *main area*, a flash page contains a *group* of consecutive sectors. It is programmed
    after the other sectors of the group have been read. The region is small: a sector that is not
    overwritten soon is *advanced* (programmed again, to the next subpage of its page), and later evicted to
    the main area, at the cost of a whole page. See `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes
    shared by all environments.

    ## Action Space
    `Discrete(2)`; both actions are always valid. `decides` says which of two decisions the agent takes:

    | decision | action 0 | action 1 |
    |---|---|---|
    | `flushes`: less than a whole group leaves the write buffer | main area: read-modify-write | region |
    | `collected`: a valid subpage is in a region block that is collected | evict its group | keep it there |

    A collection keeps at most 3/4 as many subpages as a block has pages; others are evicted without decision.

    `info["proposed"][0]` is the FTL's own choice. All sectors that leave the write buffer go to the region,
    and sectors are kept if their old data was in a region when they were written. An agent that always
    chooses it leaves the same device as the FTL, bit for bit, whatever `ftl.rule` and `ftl.advance` are.

    ## Observation Space
    For each area: the cost of the action now in time, in bytes and in reads, the pages left in the area's
    open block, how many of these contain a sector that must be advanced first, and how full the area is. For
    the data: which decision is due, the shares of its group that leave the write buffer and that are in a
    region, whether its old copy was in a region, and how often the host has written it. For the region: how
    many more passes it allows before an erase, and the progress of a collection. A *pass* programs one
    subpage in every page of a block. For data without a plane, the plane next in turn is observed.

    ## Rewards
    The default objective is `{"flash_time": 1.0}`, the nominal time of all flash commands in units of a page
    program, which limits the throughput of a busy device. Other terms are `amplification`, the cost in wear,
    and `small_writes`, which counts only small writes. The default reward is `{"baseline": "greedy"}`: the
    baseline is subFTL's own rules with greedy victims. Price and unit are both its mean cost per host page
    (sector). A return of r means that the agent has saved the baseline's flash time of r host pages.

    `credit=p` adds the cost of each single decision to the infos, as in `PlacementEnv`, and changes nothing
    else. The cost is the feature `way_time`, plus p if the decision programs a group to the main area, for
    later GC there. After an action 1 the next decision is the first `collected` about one of its sectors;
    there is none if all are written again first, or move to the main area with their group. An eviction
    without a decision costs no decision anything. `credit` requires `decides="both"`.

    ## Episode End
    An episode ends after `horizon` host pages (sectors). The sectors that a request writes in a group are
    counted together, so an episode may be a few sectors longer.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | see `DecisionEnv` | `"demo-region"` | one with `ftl.mapping: subpage`, `ftl.kind: subftl` |
    | `workload` | see `DecisionEnv` | `"small_mixed"` | a workload of small writes |
    | `decides` | str | `"both"` | `flushes`, `collected` or `both`; subFTL's rule decides all else |
    | `victims` | str | `"greedy"` | policy that chooses the blocks to erase in the main area |
    | `credit` | float or `None` | `None` | report the cost of each decision, at this price: see Rewards |
    """

    options_type = SubpageRegionOptions


SubpageRegionVectorEnv = vectorized(SubpageRegionEnv)
