"""The flash translation layer of the reference; it knows no time."""

from __future__ import annotations

from . import erase_sets
from .collecting import Collecting
from .config import ReferenceConfig
from .flash import UNMAPPED
from .groups import BlockGroups
from .hotness import HotnessTable
from .placement import place_host_page, stream_of_host_page
from .places import Place, Scattered


class Device(Collecting):
    """The page map, placement, hotness and block groups of one device."""

    def __init__(self, config: ReferenceConfig) -> None:
        super().__init__(config)
        self.hotness = HotnessTable(config) if config.asks_for_hotness else None
        self.groups: list[BlockGroups] = []
        if config.placement == "hotness_groups":
            self.groups = [
                BlockGroups(self.blocks_of_plane(plane), config.groups, config.group_limit)
                for plane in range(config.planes)
            ]

    # Host pages

    def trim(self, lpn: int) -> None:
        page = self.logical[lpn]
        page.accepted += 1
        page.version = page.accepted
        old = page.ppn
        self._invalidate(lpn)
        if self.rule and old != UNMAPPED:
            self.rule.trimmed(lpn, old)
        self.counters["host_pages_trimmed"] += 1

    def host_program(self, plane: int, lpn: int, version: int, row: int | None = None) -> None:
        """Program one host page in the plane and switch foreground GC on if the plane needs it.

        If a row is given, what lies before it is padded.
        """
        page = self.logical[lpn]
        is_newest = version > page.version
        old = page.ppn if is_newest else UNMAPPED
        place = self._count_and_place(plane, lpn, is_newest)
        if row is not None:
            self.pad(plane, place, row, lpn)
        ppn = self.program(plane, place, lpn, version, relocated=False)
        if is_newest:
            page.ppn, page.version = ppn, version
        self.programmed(plane, place)
        self.clock += 1
        if self.rule:
            self.rule.written(lpn, old, ppn)
        self.counters["host_pages_written"] += 1
        self.switch_on_if_needed(plane)

    def _count_and_place(self, plane: int, lpn: int, is_newest: bool) -> Place:
        """Where the page goes, with its update counted and the old page invalidated."""
        stream = None if self.config.scatters else stream_of_host_page(self, plane, lpn)
        was_hot = self.hotness_group(lpn) > 0
        if self.hotness:
            self.hotness.count_update(lpn)
        self.counters["hot_pages_written"] += self.hotness_group(lpn) > 0 if stream is None else was_hot
        if is_newest:
            self._invalidate(lpn)
        return place_host_page(self, plane, lpn) if stream is None else stream

    def host_row(self, plane: int, lpn: int) -> int | None:
        """The row to which the plane would program the page of the host now."""
        return self.row(plane, stream_of_host_page(self, plane, lpn))

    def reaches_row(self, plane: int, lpn: int, row: int) -> bool:
        """Whether the page of the host could be programmed to the row, with padding where it is allowed."""
        lowest = self.host_row(plane, lpn)
        return lowest is not None and 0 <= row - lowest <= self.config.pad_limit

    def hotness_group(self, lpn: int) -> int:
        """1 to g; 0 for pages that are not hot."""
        return self.hotness.group(lpn) if self.hotness else 0

    def read_flash(self, lpn: int) -> None:
        """Read a mapped page and check that it holds the newest programmed version."""
        self.counters["flash_reads"] += 1
        self.counters["lost_pages"] += not self.holds_newest(lpn)

    def _invalidate(self, lpn: int) -> None:
        page = self.logical[lpn]
        if page.ppn == UNMAPPED:
            return
        block = self.block_of_page(page.ppn)
        page.ppn = UNMAPPED
        self.invalidated_at[block] = self.clock
        if self.is_indexed(block):
            self.change_bucket(block)
        self.reclassify(block)

    # Block groups

    def programmed(self, plane: int, place: Place) -> None:
        super().programmed(plane, place)
        if isinstance(place, Scattered):
            self.reclassify(place.sub_block // self.config.sub_blocks_per_block)

    def reclassify(self, block: int) -> None:
        is_victim = any(block == victim for pairs in self.rounds.values() for victim, _ in pairs)
        if self.groups and not is_victim:
            rank, mask = erase_sets.rank(self, block), 0
            if self.config.isolation != "hardware":
                mask = erase_sets.best_set_of_block(self, block) or 0
            self.groups[self.plane_of_block(block)].reclassify(block, rank, mask)
