"""The environment of small writes: which region parts of a page are written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig
from ssdgym.config.subpage import SubpageFtl
from ssdgym.engine.decisions import ASK_COLLECTED, ASK_FLUSHES, KINDS, REGION
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.subpage.describing import region_describer
from ssdgym.enums import SubpageKind
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, Options, spec_without_sets, victims_of, with_victims
from ssdgym.envs.features import Setting
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown

#: The questions by their names in a setting of features, each with its bit.
_QUESTIONS = {"FLUSHES": ASK_FLUSHES, "COLLECTED": ASK_COLLECTED}
#: Which decisions are due, by the value of the argument `decides`.
DUE = {"flushes": ("FLUSHES",), "collected": ("COLLECTED",), "both": tuple(_QUESTIONS)}
#: The label of what the FTL by itself would do, among the proposers.
REGION_RULE = "region_rule"


class RegionDecision(DescribedDecision):
    """Whether parts of pages go to the main area (action 0) or to the region of small writes (action 1).

    Args:
        decides: which are due: of groups that leave the write buffer in part (`flushes`), of subpages of a
            region block that is `collected`, or `both`.
        victims: policy that chooses victims in the main area.

    Raises:
        SsdgymError: an argument is not of that kind.
    """

    kind: ClassVar[int] = REGION

    def __init__(self, decides: str, victims: str) -> None:
        if decides not in DUE:
            raise SsdgymError(f"decides must be one of {', '.join(DUE)}, not {shown(decides)}.")
        self.due = DUE[decides]
        self.policy = victims_of(victims)
        self.propose("way", [REGION_RULE])

    def setting(self, devices: Sequence[DeviceConfig]) -> Setting:
        """Return the properties of the devices that features are chosen by."""
        for device in devices:
            _check(device)
        return Setting(tuple(devices), kinds=(KINDS[REGION], *self.due))

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device, which has a region of single subpages, as the policy for victims runs it."""
        _check(device)
        return with_victims(device, self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of answers."""
        return 2

    def spec(self) -> ObservationSpec:
        """Return the request for observations without features."""
        external = (1 << REGION) | sum(_QUESTIONS[name] for name in self.due)
        return spec_without_sets(external, region_describer())


def _check(device: DeviceConfig) -> None:
    """Raise if nothing is decided about a region on a device."""
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

    default_objective: ClassVar[Mapping[str, float]] = {"flash_time": 1.0}
    default_reward: ClassVar[Mapping[str, str]] = {"baseline": "greedy"}

    def decision(self) -> RegionDecision:
        """Return the decision that the agent takes."""
        return RegionDecision(self.decides, self.victims)


class SubpageRegionEnv(DecisionEnv):
    """Choose whether parts of pages go to the region of small writes.

    ## Description
    Pages of flash are large, and many writes are small. On devices of `ftl.mapping: subpage` and `ftl.kind:
    subftl` a part of a page can go to two places. In the *region* each of its sectors is programmed by
    itself, in a subpage of a page that takes several of them one after the other without an erase. In the
    *main area* a whole page is programmed, after the rest of the group has been read. The region is small:
    what is not written again soon is advanced from subpage to subpage, and at last evicted to the main area,
    which costs a whole page after all. See `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared
    by all environments.

    ## Action Space
    `Discrete(2)`, both always valid; `decides` says which of two decisions are due:

    | question | 0 | 1 |
    |---|---|---|
    | `flushes`: less than a whole group leaves the write buffer | main area: read-modify-write | region |
    | `collected`: a subpage of a region block that is collected is valid | evict its group | keep it there |

    A collection keeps at most 3/4 of a block; after that there is no decision.

    `info["proposed"][0]` is the FTL's own choice: all sectors that leave the buffer go to the region, and
    sectors rewritten in a region are kept. Playing it gives the same device as the FTL, bit for bit, whatever
    `ftl.rule` and `ftl.advance` are.

    ## Observation Space
    Of both places: what the answer costs now in time, in bytes and in reads, how much is left of the block
    that is written there, how much of that has to be advanced first, how full the area is. Of the data: which
    question it is, how much of the group leaves together, how much of the rest is in a region, whether it was
    there before, how often the host has written it; how many passes the region allows, how far its collection
    is. Where no plane has been bound yet they are of the plane whose turn it is. When the host wrote a sector
    last is not known to the device.

    ## Rewards
    The default is `{"flash_time": 1.0}`, the nominal time of all commands of the flash in page programs,
    which bounds what a busy device can serve in a second, against `{"baseline": "greedy"}`: subFTL's own
    rules with greedy victims. `amplification` is about wear, and `small_writes` about small writes alone.
    Each page (sector) that the host writes earns the baseline's cost of a page, which is also the unit: a
    return above 0 is so many host pages served for free.

    ## Episode End
    After `horizon` host pages (sectors), or up to as many more as share a page, since what a request writes
    of one group comes in one piece.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-region"` | one of mapping subpage and kind subftl |
    | `workload` | as everywhere | `"small_mixed"` | one of small writes |
    | `decides` | str | `"both"` | `flushes`, `collected` or `both`; subFTL's own rule answers the other one |
    | `victims` | str | `"greedy"` | policy that chooses what is erased in the main area |
    """

    options_type = SubpageRegionOptions


SubpageRegionVectorEnv = vectorized(SubpageRegionEnv)
