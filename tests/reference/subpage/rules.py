"""The rules of a region: which page is next, what is collected, what stays, which blocks are exchanged."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .config import SUBFTL, SubpageConfig
from .flash import Region
from .jobs import Job, Programming

#: Answers for a sector: whether it goes to the region, or stays there.
Asked = Callable[[int], bool]
#: What stands between a job and its page: nothing, a valid subpage to advance, a collection.
READY, ADVANCE, COLLECTING = "ready", "advance", "collecting"


class RegionRules(Programming):
    """`keeps` answers for the valid subpages of victims; without it the FTL's own rule does."""

    def __init__(self, config: SubpageConfig, keeps: Asked | None = None) -> None:
        super().__init__(config)
        self.keeps = keeps

    # The page for the next job

    def prepare(self, region: Region) -> str:
        """Open, skip and choose until the page that comes next can be programmed, or something else must."""
        while region.victim is None:
            if region.open is None:
                self._open_or_collect(region)
            elif region.next_page[region.open] == self.config.flash_pages_per_block:
                region.open = None
            elif not self._is_held(self.next_page(region)):
                return READY
            elif self.config.advance == "always":
                return ADVANCE
            else:
                region.next_page[region.open] += 1
        return COLLECTING

    def next_page(self, region: Region) -> int:
        assert region.open is not None
        return self.pages_of_block(region.open)[region.next_page[region.open]]

    def _is_held(self, page: int) -> bool:
        return self.config.kind == SUBFTL and bool(self.valid_slots(self.slots_of_page(page)))

    def valid_in_region_block(self, block: int) -> int:
        return len(self.valid_slots(self.slots_of_block(block)))

    def _open_or_collect(self, region: Region) -> None:
        targets, valid, passes = region.targets(), self.valid_in_region_block, region.passes
        with_passes = [block for block in targets if passes[block] < self.config.passes]
        if self.config.rule == "printed" and self.config.kind == SUBFTL:
            if not region.to_collect and not with_passes:
                region.to_collect = self.config.collect_blocks or len(targets)
            if region.to_collect:
                region.to_collect -= 1
                block = min(set(targets) - set(with_passes), key=lambda b: (valid(b), b))
            else:
                block = min(with_passes, key=lambda b: (passes[b], valid(b), b))
        else:
            block = min(targets, key=lambda b: (valid(b), passes[b], b))
        if block in with_passes:
            region.begin_pass(block)
        else:
            self.counters["region_collections"] += 1
            self.count_round()
            region.begin_collection(block)

    def program_in_region(self, job: Job, region: Region) -> None:
        """Program the job, which carries something, in the next page."""
        self.program_at(job, self.next_page(region))
        self._turn_page(region)

    def _turn_page(self, region: Region) -> None:
        assert region.open is not None
        region.next_page[region.open] += 1

    def advance_subpage(self, region: Region) -> None:
        """Program the valid subpage of the next page as the page's next one."""
        page = self.next_page(region)
        [slot] = self.valid_slots(self.slots_of_page(page))
        self._copy_subpage(slot, region, advances=True)
        self.counters["advances"] += 1

    def _copy_subpage(self, slot: int, region: Region, *, advances: bool) -> None:
        stored = self.stored(slot)
        assert stored is not None
        self.read_page([stored[0]])
        self.program_subpage(self.next_page(region), stored, advances=advances)
        self.counters["small_flash_bytes"] += self.config.subpage_bytes
        self._turn_page(region)

    # Collections

    def next_to_collect(self, region: Region) -> int | None:
        """The next valid slot of the victim that has not been looked at."""
        assert region.victim is not None
        left = self.slots_of_block(region.victim)[region.scan :]
        return next(iter(self.valid_slots(left)), None)

    def pass_slot(self, region: Region, slot: int) -> None:
        region.scan = slot % self.config.slots_per_block + 1

    def is_kept(self, region: Region, lpn: int) -> bool:
        if self.config.kind != SUBFTL or region.kept >= self.config.most_kept:
            return False
        return self.keeps(lpn) if self.keeps else lpn in self.updated

    def move_in_region(self, region: Region, slot: int) -> None:
        self._copy_subpage(slot, region, advances=False)
        region.kept += 1
        self.counters["region_moves"] += 1

    def can_erase_victim(self, region: Region) -> bool:
        """Whether nothing holds it up: it must have been scanned."""
        assert region.victim is not None
        return not region.evictions and self.valid_in_region_block(region.victim) == 0

    def erase_victim(self, region: Region) -> None:
        victim, region.victim = region.victim, None
        assert victim is not None
        self.erase_cells(victim)
        self.erases[victim] += 1
        self.counters["erases"] += 1
        self.counters["erased_sub_blocks"] += 1
        region.passes[victim] = 0
        if self.life.wears:
            self.life.note_erased(victim, [victim])
        if victim in self.life.worn:
            stays = self._replaced(region, victim)
        else:
            stays = self._exchanged(region, victim)
        if self.config.kind == SUBFTL:
            region.reserve = stays

    def _replaced(self, region: Region, worn: int) -> int:
        """The block that stands in for a worn one, which is retired; the device ends where there is none."""
        pool = self.pools[region.plane]
        if not pool:
            self.life.over = True
            return worn
        fresh = min(pool, key=lambda block: self.erases[block])
        pool.remove(fresh)
        region.exchange(worn, fresh)
        self.life.retire(worn)
        self.life.settle()
        if not self.life.is_overfull(region.plane):
            self.switch_on_if_needed(region.plane)
        return fresh

    def _exchanged(self, region: Region, victim: int) -> int:
        """The block that stays in the region: another one if the victim is too worn."""
        pool = [block for block in self.pools[region.plane] if self.written_in_block(block) == 0]
        if self.config.kind != SUBFTL or self.config.wear_gap == 0 or not pool:
            return victim
        mean = Fraction(sum(self.erases[block] for block in pool), len(pool))
        if self.erases[victim] - mean <= self.config.wear_gap:
            return victim
        fresh = min(pool, key=lambda block: (self.erases[block], block))
        self.pools[region.plane].append(victim)
        self.pools[region.plane].remove(fresh)
        region.exchange(victim, fresh)
        self.counters["region_conversions"] += 1
        return fresh

    # Retention

    def expired(self) -> list[int]:
        """The sectors in regions that are older than they may become, in the order of the sweep."""
        if not self.config.sweeps:
            return []
        slots = [slot for region in self.regions for b in region.blocks for slot in self.slots_of_block(b)]
        lpns = [self.sector_in(slot) for slot in self.valid_slots(slots)]
        return [lpn for lpn in lpns if self.age_h(lpn) > self.config.evict_after_h]
