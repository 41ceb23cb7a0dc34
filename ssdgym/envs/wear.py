"""The environment of wear levelling: which block of cold data moves, if any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.fields import is_whole
from ssdgym.config.page import SUB_BLOCK_PLACEMENTS, PageFtl
from ssdgym.engine.decisions import LEVEL
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.page.describing import block_describer
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, Options, spec_without_sets, victims_of, with_victims
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError, shown

#: Most candidates.
_MOST_CANDIDATES = 4096


class ColdBlockDecision(DescribedDecision):
    """Which closed block is emptied to level wear, or none; action k takes candidate k.

    `victims` names the policy that chooses victims, `own` the levelling rule of devices without one.
    """

    kind: ClassVar[int] = LEVEL

    def __init__(self, candidates: int, victims: str, own: str) -> None:
        if not is_whole(candidates) or not 2 <= candidates <= _MOST_CANDIDATES:
            raise SsdgymError(
                f"candidates must be a whole number from 2 to {_MOST_CANDIDATES}, not {shown(candidates)}."
            )
        self.candidates, self.own = candidates, own
        self.policy = victims_of(victims)
        self.propose("candidate", ["levelling_rule"])

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with a levelling rule, which proposes, and with the policy that chooses victims.

        Raises:
            SsdgymError: pages are not placed in streams there.
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

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return K."""
        return self.candidates

    def spec(self) -> ObservationSpec:
        """Return the request for observations without features."""
        spec = spec_without_sets(1 << self.kind, block_describer())
        return spec._replace(proposed_columns=np.full(1, -1))


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
        """Return the decision that the agent takes."""
        return ColdBlockDecision(self.candidates, self.victims, self.levelling)


class WearLevelEnv(DecisionEnv):
    """Choose whether a block of cold data moves to a worn block, and which.

    ## Description
    A block of data that the host never writes again is never erased, while the others wear out. Wear is
    levelled by moving such data to the most worn free block, at the cost of the moves. A decision is due in a
    plane whenever its garbage collection has ended, if there is room. See `ssdgym.envs.DecisionEnv` for
    spaces, rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(K)`: 0 moves nothing. Then come the block that the device's own rule (`ftl.levelling`) would
    empty, if any, and the closed blocks of the plane, the least erased first. Further rows are masked.

    `info["proposed"][0]` is what the device's own rule does: to play it leaves the device that the rule
    leaves, bit for bit.

    ## Observation Space
    Of each block how much of it is valid, when it was closed and invalidated last, and its wear, of the
    plane's mean; all 0 for nothing. Of the decision: the spread of wear in the plane, and the room in it.

    ## Rewards
    The default is `{"relocations": 1.0, "levelling": 0.01}` and `"plain"`: moves of collection and levelling
    in blocks, and the rise of the sum of the squared erase counts.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `workload` | as everywhere | `"cold60"` | with data that is never written again |
    | `horizon` | as everywhere | `32768` | so long that wear differs |
    | `candidates` | int | `8` | K |
    | `victims` | str | `"greedy"` | policy that chooses what is erased |
    | `levelling` | str | `"dual_pool(threshold=8)"` | the rule of devices without one, which proposes |
    """

    options_type = WearLevelOptions


WearLevelVectorEnv = vectorized(WearLevelEnv)
