"""The choice of a block by its wear, as both environments have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.fields import is_whole
from ssdgym.config.page import SUB_BLOCK_PLACEMENTS, PageFtl
from ssdgym.engine.decisions import KINDS
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.page.describing import block_describer
from ssdgym.envs.decisions import DescribedDecision, spec_without_sets, victims_of, with_victims
from ssdgym.envs.features import Setting
from ssdgym.errors import SsdgymError, shown

#: Most candidates.
_MOST_CANDIDATES = 4096


class WearDecision(DescribedDecision):
    """A choice of a block by its wear; action k takes candidate k.

    `victims` names the policy that chooses what is erased; `rule` is the label of the device's own rule.
    """

    rule: ClassVar[str]

    def __init__(self, candidates: int, victims: str) -> None:
        if not is_whole(candidates) or not 2 <= candidates <= _MOST_CANDIDATES:
            raise SsdgymError(
                f"candidates must be a whole number from 2 to {_MOST_CANDIDATES}, not {shown(candidates)}."
            )
        self.candidates = candidates
        self.policy = victims_of(victims)
        self.names = [self.rule]
        self.labels = {"candidate": self.names}
        self.observe("default", ())

    def setting(self, devices: Sequence[DeviceConfig]) -> Setting:
        """Return what the features are chosen by."""
        return Setting(tuple(devices), kinds=(KINDS[self.kind],))

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with the policy that chooses victims.

        Raises:
            SsdgymError: pages are not placed in streams there.
        """
        if PageFtl.of(device.ftl).placement in SUB_BLOCK_PLACEMENTS:
            raise SsdgymError(
                f"device {device.name} opens blocks by what they hold; set ftl.placement to one that writes "
                "to streams, such as sep_gc."
            )
        return with_victims(device, self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return K."""
        return self.candidates

    def spec(self) -> ObservationSpec:
        """Return the request for observations without features."""
        spec = spec_without_sets(1 << self.kind, block_describer())
        return spec._replace(proposed_columns=np.full(1, -1))
