"""Chests of drawers as devices."""

from __future__ import annotations

from typing import Literal

from my_lab.chest import CHEST, DRAWER

from ssdgym.config.device import DeviceConfig
from ssdgym.config.ftl import FtlConfig
from ssdgym.simulator.families import FamilyBuilder


class ChestFtl(FtlConfig):
    """An FTL without options of its own."""

    mapping: Literal["chest"] = "chest"


class ChestFamily(FamilyBuilder):
    """The family of chests."""

    engine = CHEST
    policy_decision = DRAWER
    agent_decisions = frozenset({DRAWER})

    def check(self, device: DeviceConfig) -> None:
        """Accept every device: a chest always has room."""

    def params(self, device: DeviceConfig) -> dict[str, int]:
        """Return the fields of PARAMS that only this family uses."""
        return {}

    def sizes(self, device: DeviceConfig) -> dict[str, int]:
        """Return the lengths of the arrays, by the names in their shapes."""
        return {"sub_blocks": device.geometry.planes * device.geometry.blocks_per_plane}
