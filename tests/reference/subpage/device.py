"""The sub-page FTLs of the reference: what flushes and evictions ask for, and garbage collection."""

from __future__ import annotations

from collections.abc import Iterable

from .. import rounds
from ..erase_sets import Pair
from .config import FGM
from .flash import Stored
from .jobs import GROUP, Job
from .rules import RegionRules


class SubpageDevice(RegionRules):
    """All that a device is, but for the requests and the time."""

    # Jobs

    def by_page(self, lpns: Iterable[int]) -> list[list[int]]:
        """The mapped sectors as reads: of each flash page one, by the lowest sector."""
        reads: dict[int, list[int]] = {}
        for lpn in sorted(lpns):
            reads.setdefault(self.page_of(lpn), []).append(lpn)
        return list(reads.values())

    def group_job(self, group: int, dirty: dict[int, int], is_partial: bool) -> Job:
        """The job that writes the whole group; what it does not bring is read first."""
        others = [] if len(dirty) == self.config.slots_per_page else self.mapped_in(group)
        reads = self.by_page(lpn for lpn in others if lpn not in dirty)
        self.counters["rmw_count"] += bool(reads)
        return Job(kind=GROUP, dirty=dirty, group=group, is_partial=is_partial, reads=reads)

    def is_being_evicted(self, lpn: int) -> bool:
        return lpn // self.config.slots_per_page in self.evicting

    def evict(self, lpn: int, collector: int | None) -> Job | None:
        """The job that takes the sector's group to the main area; None if one is under way."""
        group = lpn // self.config.slots_per_page
        if self.is_being_evicted(lpn):
            return None
        self.counters["evictions"] += 1
        self.evicting.add(group)
        job = self.group_job(group, {}, is_partial=False)
        job.is_eviction, job.collector = True, collector
        if collector is not None:
            self.regions[collector].evictions.add(job)
        return job

    # The main area

    def has_room(self, plane: int) -> bool:
        """Whether a page more leaves a victim."""
        return self.life.room(plane) > 0

    def is_eligible(self, block: int) -> bool:
        """Whether collecting the block wins a page."""
        return self.is_indexed(block) and self.invalid_in_block(block) >= self.config.units_per_page

    def objection(self, plane: int, pairs: list[Pair]) -> str | None:
        wins_none = [block for block, _ in pairs if not self.is_eligible(block)]
        return f"blocks {wins_none} win no page" if wins_none else super().objection(plane, pairs)

    def move_next(self, plane: int) -> int:
        """Copy the next page of the victim; returns how many pages were read for it, 0 if nothing is left."""
        [(block, _)] = self.rounds[plane]
        valid = self.valid_slots(self.slots_of_block(block))
        if not valid:
            return 0
        self.life.ensure_page(plane)
        lpns = [self.sector_in(slot) for slot in self._of_one_page(valid)]
        reads = self.by_page(lpns)
        for read in reads:
            self.read_page(read)
        slots: list[Stored | None] = [None] * self.config.slots_per_page
        for k, lpn in enumerate(lpns):
            stored = (lpn, self.logical[lpn].version)
            slots[k if self.config.kind == FGM else lpn % self.config.slots_per_page] = stored
        self.program_page(plane, slots, relocated=True)
        self.counters["relocated_pages"] += len(lpns)
        return len(reads)

    def _of_one_page(self, valid: list[int]) -> list[int]:
        """Of the valid slots of the victim those that one program takes."""
        n = self.config.slots_per_page
        if self.config.kind == FGM:
            return valid[:n]
        return [slot for slot in valid if slot // n == valid[0] // n]

    def erase(self, plane: int) -> None:
        [(block, _)] = self.rounds[plane]
        self.erase_cells(block)
        rounds.erase(self, plane)
