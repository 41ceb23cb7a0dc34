"""Reads of the reference that have errors, section by section of docs/aging.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import erase_sets, rounds

if TYPE_CHECKING:
    from .page.device import Device

DAY_NS = 24 * 60 * 60 * 10**9


class Aging:
    """How old the data of a device is, how often it was read, and what is looked for."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.config = device.config
        self.errors = device.config.bit_errors
        self.now = 0  # of the clock
        self.passed_ns = 0
        self.begun: dict[int, int] = {}  # sub-block -> when its first page was to be written
        self.reads: dict[int, int] = {}  # sub-block -> since its erase
        self.to_visit: dict[int, list[int]] = {}  # plane -> blocks that a patrol has not looked at
        self.refreshed: set[int] = set()  # planes whose round refreshes
        self.slowest = 0  # retries of the reads since a command was started
        if self.errors:
            device.counters |= {
                "read_retries": 0,
                "uncorrectable_reads": 0,
                "refreshes": 0,
                "refreshed_pages": 0,
            }

    # Rates

    def note_begun(self, sub: int) -> None:
        if self.device.written[sub] == 0:
            self.begun[sub] = self.now + self.passed_ns

    def note_erased(self, subs: list[int]) -> None:
        for sub in subs:
            self.reads.pop(sub, None)

    def cycles(self, sub: int) -> float:
        assert self.errors
        return float(self.errors.cycles_before + self.device.erases[sub])

    def rate_when_new(self, sub: int) -> float:
        assert self.errors
        factor, power = self.errors.wear
        return self.errors.base + factor * self.cycles(sub) ** power

    def rate(self, sub: int) -> float:
        e, cycles = self.errors, self.cycles(sub)
        assert e
        days = (self.now + self.passed_ns - self.begun[sub]) / DAY_NS
        time = days if e.time_unit == "day" else (self.now + self.passed_ns - self.begun[sub]) / (DAY_NS / 24)
        reads = self.reads.get(sub, 0) / (self.config.pages_per_sub_block if e.reads_of == "page" else 1)
        kept = e.retention[0] * cycles ** e.retention[1] * time ** e.retention[2]
        disturbed = e.disturb[0] * cycles ** e.disturb[1] * reads ** e.disturb[2]
        return self.rate_when_new(sub) + kept + disturbed

    # Reads

    def note_read(self, ppn: int) -> None:
        if self.errors is None:
            return
        sub = ppn // self.config.pages_per_sub_block
        self.reads[sub] = self.reads.get(sub, 0) + 1
        rate = self.rate(sub)
        over = sum(rate > limit for limit in self.errors.limits)
        retries = min(over, len(self.errors.limits) - 1)
        self.device.counters["read_retries"] += retries
        self.device.counters["uncorrectable_reads"] += over == len(self.errors.limits)
        self.slowest = max(self.slowest, retries)

    def take_slowest(self) -> int:
        slowest, self.slowest = self.slowest, 0
        return slowest

    def note_requested(self, ppn: int) -> None:
        """Look at the block of a page that the host has requested, which has been read."""
        if self.is_stale(self.device.block_of_page(ppn)):
            self.begin_patrol(self.device.plane_of_page(ppn))

    # Refresh

    def is_stale(self, block: int) -> bool:
        limit = self.errors.refresh_above if self.errors else None
        if limit is None or not self.device.is_indexed(block):
            return False
        subs = [sub for sub in self.device.sub_blocks_of_block(block) if self.device.valid_in_sub_block(sub)]
        return any(self.rate_when_new(sub) <= limit < self.rate(sub) for sub in subs)

    def begin_patrol(self, plane: int) -> None:
        self.to_visit.setdefault(plane, list(self.device.blocks_of_plane(plane)))

    def refreshes_next(self, plane: int) -> bool:
        is_free = self.device.leader_of(plane) is None and not self.device.foreground[plane]
        return plane in self.to_visit and is_free

    def plane_to_patrol(self) -> int | None:
        return next(filter(self.refreshes_next, range(self.config.planes)), None)

    def start_refresh(self, plane: int) -> bool:
        """Go on with the patrol of the plane; whether a round has started."""
        has_room = self.device.pool_pages(plane) >= 2 * self.config.pages_per_block
        blocks = self.to_visit[plane]
        while blocks and has_room:
            if self.is_stale(blocks[0]):
                self.refreshed.add(plane)
                rounds.begin(self.device, plane, [(blocks[0], erase_sets.whole(self.config))])
                self.device.counters["refreshes"] += 1
                return True
            blocks.pop(0)
        del self.to_visit[plane]
        return False

    def end_refresh(self, plane: int) -> bool:
        """Whether the round of the plane that ends is one."""
        was = plane in self.refreshed
        self.refreshed.discard(plane)
        return was

    def pass_day(self) -> None:
        self.passed_ns += DAY_NS
        if self.errors and self.errors.refresh_above is not None:
            for plane in range(self.config.planes):
                self.begin_patrol(plane)
