"""The flash translation layer of the reference; it knows no time."""

from __future__ import annotations

from fractions import Fraction

from .. import erase_sets
from ..blocks import Place, Scattered, Stream
from ..collecting import Collecting
from ..config import BY_HOTNESS, SCATTERING, ReferenceConfig
from ..flash import UNMAPPED
from ..placement import place_host_page, stream_of_host_page
from .speedupgc import BlockGroups, HotnessTable


class Device(Collecting):
    """The page map, placement, hotness and block groups of one device."""

    def __init__(self, config: ReferenceConfig) -> None:
        super().__init__(config)
        self.place_by(config.placement)

    def place_by(self, placement: str) -> None:
        """Begin to place pages so, with nothing known of them yet."""
        config, self.placement = self.config, placement
        self.scatters = placement in SCATTERING
        self.hotness = HotnessTable(config) if placement in BY_HOTNESS else None
        self.groups: list[BlockGroups] = []
        if placement == "hotness_groups":
            self.groups = [
                BlockGroups(self.blocks_of_plane(plane), config.groups, config.group_limit)
                for plane in range(config.planes)
            ]

    def adopt(self) -> None:
        """Let the placement of the configuration go on from where all pages were put in stream 0."""
        self.place_by(self.config.placement)
        for plane, groups in enumerate(self.groups):
            if (plane, 0) in self.open:
                self._put_back(plane, self.open.pop((plane, 0)).block)
            groups.deal({block: self.rank_and_mask(block) for block in self.blocks_of_plane(plane)})

    def _put_back(self, plane: int, block: int) -> None:
        """To the tail of the pool, unwritten pages and all."""
        self.pools[plane].append(block)
        if self.written_in_block(block):
            self.enter_index(block)

    def valid_in_sub_block(self, sub_block: int) -> int:
        """As from every `is_valid`, without calls: planes are counted for every page written."""
        logical, physical = self.logical, self.physical
        first = sub_block * self.config.pages_per_sub_block
        written = range(first, first + self.written[sub_block])
        return len([ppn for ppn in written if logical[physical[ppn][0]].ppn == ppn])

    def valid_in_plane(self, plane: int) -> int:
        """As from every block of it: a valid page is where a logical page says that it is."""
        size = self.config.blocks_per_plane * self.config.pages_per_block
        first, end = plane * size, (plane + 1) * size
        return len([page for page in self.logical if first <= page.ppn < end])

    # Host pages

    def unmap_newest(self, lpn: int) -> None:
        old = self.logical[lpn].ppn
        super().unmap_newest(lpn)
        if self.rule and old != UNMAPPED:
            self.rule.trimmed(lpn, old)

    def host_program(self, plane: int, lpn: int, version: int, row: int | None = None) -> None:
        """Program one host page in the plane and switch foreground GC on if the plane needs it.

        If a row is given, what lies before it is padded.
        """
        assert self.takes_host_pages(plane)
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
        stream = None if self.scatters else stream_of_host_page(self, plane, lpn)
        is_first, was_hot = self.is_first_write(lpn), self.hotness_group(lpn) > 0
        if self.hotness and not is_first:
            self.hotness.count_update(lpn)
            is_hot = self.hotness_group(lpn) > 0 if stream is None else was_hot
            self.counters["hot_pages_written"] += is_hot
        if is_newest:
            self.unmap(lpn)
        return place_host_page(self, plane, lpn, is_first) if stream is None else stream

    def is_first_write(self, lpn: int) -> bool:
        """Whether a page of the host, programmed now, is none of the updates that are counted."""
        return self.config.hotness_counts == "updates" and not self.is_mapped(lpn)

    def host_row(self, plane: int, lpn: int) -> int | None:
        """The row to which the plane would program the page of the host now."""
        return self.row(plane, stream_of_host_page(self, plane, lpn))

    def reaches_row(self, plane: int, lpn: int, row: int) -> bool:
        """Whether the page of the host could be programmed to the row, with padding where it is allowed."""
        lowest = self.host_row(plane, lpn)
        return lowest is not None and 0 <= row - lowest <= self.config.pad_limit

    def row(self, plane: int, place: Place) -> int | None:
        """Pages by hotness group are moved and written alone."""
        return None if self.groups else super().row(plane, place)

    def hotness_group(self, lpn: int) -> int:
        """1 to g; 0 for pages that are not hot."""
        return self.hotness.group(lpn) if self.hotness else 0

    def read_flash(self, lpn: int) -> None:
        """Read a mapped page and check that it holds the newest programmed version."""
        self.counters["flash_reads"] += 1
        self.counters["lost_pages"] += not self.holds_newest(lpn)

    def unmap(self, lpn: int) -> None:
        page = self.logical[lpn]
        if page.ppn == UNMAPPED:
            return
        block = self.block_of_page(page.ppn)
        page.ppn = UNMAPPED
        self.invalidated_at[block] = self.clock
        # What is left of a worn block between two rounds is in no index and keeps its group.
        if self.is_indexed(block):
            self.change_bucket(block)
            self.reclassify(block)

    # Block groups

    def programmed(self, plane: int, place: Place) -> None:
        if isinstance(place, Scattered):
            block = place.sub_block // self.config.sub_blocks_per_block
        else:
            block = self.open[plane, place.number].block
        super().programmed(plane, place)
        self.reclassify(block)

    def _open_block(self, plane: int, place: Stream) -> None:
        super()._open_block(plane, place)
        self._classify(self.open[plane, place.number].block)

    def reclassify(self, block: int) -> None:
        """Victims and open blocks keep their places until they are neither."""
        is_victim = any(block == victim for pairs in self.rounds.values() for victim, _ in pairs)
        if not is_victim and not self.is_open(block):
            self._classify(block)

    def _classify(self, block: int) -> None:
        if self.groups:
            self.groups[self.plane_of_block(block)].reclassify(block, *self.rank_and_mask(block))

    def rank_and_mask(self, block: int) -> tuple[Fraction, int]:
        """What the block's place among the others of its plane depends on."""
        rank = erase_sets.rank(self, block)
        if self.config.isolation == "hardware":
            return rank, 0
        return rank, erase_sets.best_set_of_block(self, block) or 0
