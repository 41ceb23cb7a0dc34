"""The sub-page reference as its users see it."""

from __future__ import annotations

from typing import Any

from ..page.policies import Policy
from ..page.simulator import Reference
from .config import SubpageConfig
from .device import SubpageDevice
from .events import EventLoop
from .rules import Asked
from .untimed import UntimedLoop


class SubpageReference(Reference):
    """As the page family's; `to_region` and `keeps` answer the questions about the region if given.

    `to_region` is asked with the first dirty sector of a partial group that is about to leave the
    buffer, `keeps` with a valid sector of a region's victim.
    """

    def __init__(
        self,
        config: SubpageConfig,
        policy: Policy | None = None,
        to_region: Asked | None = None,
        keeps: Asked | None = None,
    ) -> None:
        self.config = config
        self.policy = policy
        self.device = SubpageDevice(config, keeps)
        loop = UntimedLoop if config.timing == "none" else EventLoop
        self.loop = loop(self.device, to_region)
        self._serial = 0

    def pass_days(self, days: int) -> None:
        """Let whole days pass; nothing may be outstanding."""
        self.drive(self.loop.pass_days(days))

    def export(self) -> dict[str, Any]:
        """All state as plain lists; what an erase or a trim has made meaningless is left out."""
        device, regions = self.device, self.device.regions
        main = [block for p in range(self.config.planes) for block in device.blocks_of_plane(p)]
        sectors = range(self.config.logical_pages)
        mapped = [lpn for lpn in sectors if device.is_mapped(lpn)]
        used = [page for page, use in enumerate(device.page_use) if use]
        return {
            **self.export_of_collecting(),
            "physical": {lpn: device.stored(device.logical[lpn].ppn) for lpn in mapped},
            "page_use": list(device.page_use),
            "page_valid": [
                len(device.valid_slots(device.slots_of_page(page))) for page in range(len(device.pages))
            ],
            "stored_h": {page: device.stored_h[page] for page in used},
            "updated": [lpn for lpn in mapped if self._is_in_region(lpn) and lpn in device.updated],
            "written": {block: device.written[block] for block in main},
            "valid": {block: device.valid_in_block(block) for block in main},
            "closed_at": {block: device.closed_at[block] for block in main if device.is_indexed(block)},
            "invalidated_at": {
                block: device.invalidated_at[block]
                for block in main
                if device.is_indexed(block) and device.invalid_in_block(block)
            },
            "open": [self._open_block(plane, 0) for plane in range(self.config.planes)],
            "buffer": [(group, sorted(dirty)) for group, dirty in self.loop.buffer.items()],
            "region_blocks": [region.blocks for region in regions],
            "region_open": [_or_none(region.open) for region in regions],
            "region_reserve": [_or_none(region.reserve) for region in regions],
            "region_victim": [_or_none(region.victim) for region in regions],
            "region_passes": [[region.passes[block] for block in region.blocks] for region in regions],
            "region_valid": [
                [device.valid_in_region_block(block) for block in region.blocks] for region in regions
            ],
            "calendar_h": device.calendar_h,
            **self.export_of_life(),
        }

    def _is_in_region(self, lpn: int) -> bool:
        return self.device.is_in_region(self.device.block_of_slot(self.device.logical[lpn].ppn))


def _or_none(block: int | None) -> int:
    return -1 if block is None else block
