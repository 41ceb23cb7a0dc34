"""The environment of wear levelling: the agent chooses a block of cold data that is moved, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.fields import is_whole
from ssdgym.config.page import SUB_BLOCK_PLACEMENTS, PageFtl
from ssdgym.engine.decisions import LEVEL
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.page.describing import block_describer
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import MOST_CANDIDATES, Decision, Options, basic_spec, victims_of, with_victims
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown


class ColdBlockDecision(Decision):
    """The decision which closed block, if any, is emptied to level wear.

    `victims` names the victim policy. `own` names the levelling rule for devices that have none.
    """

    kind: ClassVar[int] = LEVEL

    def __init__(self, candidates: int, victims: str, own: str) -> None:
        if not is_whole(candidates) or not 2 <= candidates <= MOST_CANDIDATES:
            raise SsdgymError(
                f"candidates must be a whole number from 2 to {MOST_CANDIDATES}, not {shown(candidates)}."
            )
        self.candidates, self.own = candidates, own
        self.policy = victims_of(victims)
        self.propose("candidate", ["levelling_rule"])

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device with its levelling rule (`own` if it has none), as proposer, and a victim policy.

        Raises:
            SsdgymError: the device's placement chooses sub-blocks and not streams.
        """
        ftl = PageFtl.of(device.ftl)
        if ftl.placement in SUB_BLOCK_PLACEMENTS:
            raise SsdgymError(
                f"device {device.name} opens blocks by what they hold; set ftl.placement to one that writes "
                "to streams, such as sep_gc."
            )
        if ftl.levelling is None:
            device = with_ftl(device, {"levelling": self.own})
        return with_victims(device, self.policy)

    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features, which `ask` adds."""
        return basic_spec(1 << self.kind, block_describer())


@dataclass(frozen=True, kw_only=True)
class WearLevelOptions(Options):
    """The arguments of `WearLevelEnv`."""

    workload: Any = "cold60"
    horizon: int = 32768
    candidates: int = 8
    victims: str = "greedy"
    levelling: str = "dual_pool(threshold=8)"

    default_objective: ClassVar[Mapping[str, float]] = {"relocations": 1.0, "levelling": 0.01}

    def decision(self) -> ColdBlockDecision:
        """Return the `Decision` that has the values of these arguments."""
        return ColdBlockDecision(self.candidates, self.victims, self.levelling)


class WearLevelEnv(DecisionEnv):
    """Choose whether a block of cold data is moved to a worn block, and which block.

    ## Description
    A block of data that the host never overwrites is never erased, while other blocks wear out. Wear
    levelling moves such data to the most worn free block, at the cost of relocations. A decision is due in a
    plane whenever its garbage collection has ended, if the plane has room for the pages of a block. See
    `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(K)`: action 0 moves nothing. Action 1 empties the block that the device's own rule
    (`ftl.levelling`) would empty, if it would empty one. The next actions empty the other closed blocks of
    the plane, those with fewest erases first. Actions without a block are masked.

    `info["proposed"][0]` is the number of the action that the device's own rule would choose. An agent that
    always chooses it leaves the same device as the rule, bit for bit.

    ## Observation Space
    For each block: its valid share, the pages reclaimed per page relocated, the host pages written since it
    was closed and since its last invalidation, and its wear relative to the plane's mean; all of these are 0
    for action 0. For the decision: the host pages and the time since the last decision, the spread of wear
    in the plane, and the free pages of the plane's pool.

    ## Rewards
    The default objective is `{"relocations": 1.0, "levelling": 0.01}`. The first term counts relocations of
    garbage collection and of levelling, in blocks. The second term is the increase of the sum of squared
    erase counts, per block. The default reward is `"plain"`.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `workload` | see `DecisionEnv` | `"cold60"` | a workload with data that is never overwritten |
    | `horizon` | see `DecisionEnv` | `32768` | episodes long enough for wear to differ |
    | `candidates` | int | `8` | number of candidates K |
    | `victims` | str | `"greedy"` | policy that chooses the blocks to erase |
    | `levelling` | str | `"dual_pool(threshold=8)"` | levelling rule of devices that have none of their own |
    """

    options_type = WearLevelOptions


WearLevelVectorEnv = vectorized(WearLevelEnv)
