"""The cells of the sub-page family: slots, what is valid, how they are programmed, what they lose in time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from ..blocks import Stream
from ..collecting import Collecting
from ..flash import UNMAPPED
from .config import SUBFTL, SubpageConfig
from .lifetime import SubpageLife


class Region:
    """The region of a plane: its blocks, and what is open, reserved and being collected."""

    def __init__(self, plane: int, blocks_per_plane: int, size: int, reserves: bool) -> None:
        end = (plane + 1) * blocks_per_plane
        self.plane = plane
        self.blocks = list(range(end - size, end))  # rising
        self.passes = dict.fromkeys(self.blocks, 0)  # begun since the erase
        self.next_page = dict.fromkeys(self.blocks, 0)  # within the block
        self.open: int | None = None
        self.reserve = self.blocks[-1] if reserves else None
        self.queue: deque[Any] = deque()  # jobs, in time
        self.victim: int | None = None
        self.scan = 0  # the slot of the victim that comes next, within the block
        self.kept = 0  # subpages of the victim, moved within the region
        self.to_collect = 0  # collections that the rule "printed" has before it chooses passes again
        self.evicts: int | None = None  # the slot that waits for room to be evicted
        self.evictions: set[Any] = set()  # jobs of this collection under way

    def targets(self) -> list[int]:
        return [block for block in self.blocks if block != self.reserve]

    def begin_pass(self, block: int) -> None:
        self.open = block
        self.passes[block] += 1
        self.next_page[block] = 0

    def begin_collection(self, block: int) -> None:
        self.victim, self.scan, self.kept, self.evicts = block, 0, 0, None
        if self.reserve is not None:
            self.begin_pass(self.reserve)
            self.reserve = None

    def exchange(self, old: int, new: int) -> None:
        """Take an erased block in the place of another one."""
        self.blocks = sorted([new, *(block for block in self.blocks if block != old)])
        for state in (self.passes, self.next_page):
            del state[old]
            state[new] = 0


#: What a slot holds: (lpn, version).
Stored = tuple[int, int]
#: The version of a slot that a later subpage of its page has destroyed.
DESTROYED = -1

TALLY = (
    "buffer_hits",
    "buffer_merges",
    "full_programs",
    "subpage_programs",
    "advances",
    "region_moves",
    "evictions",
    "retention_evictions",
    "rmw_count",
    "wasted_slots",
    "small_write_bytes",
    "small_flash_bytes",
    "region_collections",
    "region_conversions",
    "uncorrectable_reads",
)


class OutOfOrder(RuntimeError):
    """A subpage was to be programmed out of order, or over a valid one: the FTL is at fault."""


class SubpageFlash(Collecting):
    """Slots are numbered over the device; `logical[lpn].ppn` is one."""

    config: SubpageConfig
    life: SubpageLife

    def __init__(self, config: SubpageConfig) -> None:
        self.regions = [
            Region(plane, config.blocks_per_plane, config.region_blocks, reserves=config.kind == SUBFTL)
            for plane in range(config.planes)
        ]
        self.pages: list[list[Stored | None]] = [
            [None] * config.slots_per_page for _ in range(config.flash_pages)
        ]
        self.page_use = [0] * config.flash_pages  # slots used up since the erase
        self.stored_h = [0] * config.flash_pages  # when programmed last
        self.calendar_h = 0
        self.invalidated_in: Callable[[Region], None] = lambda region: None  # a listener, in time
        super().__init__(config)
        self.counters |= dict.fromkeys(TALLY, 0)

    def new_life(self) -> SubpageLife:
        return SubpageLife(self)

    def _refuse_if_too_full(self) -> None:
        c = self.config
        units = c.logical_pages // c.slots_per_unit
        if units >= c.planes * (c.max_valid_pages - c.units_per_page + 1):
            raise ValueError(f"{c.logical_pages} sectors do not fit into the main area")

    # Where things are

    def blocks_of_plane(self, plane: int) -> list[int]:
        """Those of the main area, which is all that the victim rules and the pool know."""
        return [b for b in super().blocks_of_plane(plane) if b not in self.regions[plane].blocks]

    def block_of_slot(self, slot: int) -> int:
        return slot // self.config.slots_per_block

    def page_of(self, lpn: int) -> int:
        """The flash page of a mapped sector."""
        return self.logical[lpn].ppn // self.config.slots_per_page

    def plane_of_flash_page(self, page: int) -> int:
        return self.plane_of_block(page // self.config.flash_pages_per_block)

    def pages_of_block(self, block: int) -> range:
        first = block * self.config.flash_pages_per_block
        return range(first, first + self.config.flash_pages_per_block)

    def slots_of_page(self, page: int) -> range:
        return range(page * self.config.slots_per_page, (page + 1) * self.config.slots_per_page)

    def slots_of_block(self, block: int) -> range:
        return range(block * self.config.slots_per_block, (block + 1) * self.config.slots_per_block)

    def sectors_of_group(self, group: int) -> range:
        first = group * self.config.slots_per_page
        return range(first, min(first + self.config.slots_per_page, self.config.logical_pages))

    def mapped_in(self, group: int) -> list[int]:
        return [lpn for lpn in self.sectors_of_group(group) if self.is_mapped(lpn)]

    def is_in_region(self, block: int) -> bool:
        return block in self.regions[self.plane_of_block(block)].blocks

    # What is valid: all by scanning

    def stored(self, slot: int) -> Stored | None:
        page, offset = divmod(slot, self.config.slots_per_page)
        return self.pages[page][offset]

    def sector_in(self, slot: int) -> int:
        stored = self.stored(slot)
        assert stored is not None
        return stored[0]

    def valid_slots(self, slots: Iterable[int]) -> list[int]:
        """Those whose sector is mapped to them; no calls, since every page written looks at slots."""
        logical, pages, size = self.logical, self.pages, self.config.slots_per_page
        stored = [(slot, pages[slot // size][slot % size]) for slot in slots]
        return [slot for slot, held in stored if held is not None and logical[held[0]].ppn == slot]

    def is_valid(self, ppn: int) -> bool:
        """Whether the unit of account holds a valid slot."""
        size = self.config.slots_per_unit
        return self.is_written(ppn) and bool(self.valid_slots(range(ppn * size, (ppn + 1) * size)))

    def valid_in_sub_block(self, sub_block: int) -> int:
        """As from every `is_valid`, without calls."""
        size, first = self.config.slots_per_unit, sub_block * self.config.pages_per_sub_block
        slots = range(first * size, (first + self.written[sub_block]) * size)
        return len({slot // size for slot in self.valid_slots(slots)})

    def holds_newest(self, lpn: int) -> bool:
        return self.stored(self.logical[lpn].ppn) == (lpn, self.logical[lpn].version)

    def unmap(self, lpn: int) -> None:
        """Forget where the sector is."""
        slot = self.logical[lpn].ppn
        self.logical[lpn].ppn = UNMAPPED
        block = self.block_of_slot(slot)
        if slot == UNMAPPED:
            return
        if self.is_in_region(block):
            self.invalidated_in(self.regions[self.plane_of_block(block)])
        elif not self.is_valid(slot // self.config.slots_per_unit):
            self.invalidated_at[block] = self.clock
            if self.is_indexed(block):
                self.change_bucket(block)

    # Programs

    def program_page(self, plane: int, slots: list[Stored | None], relocated: bool = False) -> None:
        """Program one page of the plane's main area; the map follows for what is in its slots."""
        if (plane, 0) not in self.open:
            self._open_block(plane, Stream(0))
        block = self.open[plane, 0].block
        page = self.pages_of_block(block)[self.written[block] // self.config.units_per_page]
        self.written[block] += self.config.units_per_page
        self.program_whole(page, slots)
        for _ in range(self.config.units_per_page):
            self._count_clustered(block, relocated)
        self.programmed(plane, Stream(0))

    def program_whole(self, page: int, slots: list[Stored | None]) -> None:
        """Program all slots of the page at once."""
        self.page_use[page] = self.config.slots_per_page
        self._store(page, dict(enumerate(slots)))
        self.counters["full_programs"] += 1
        self.counters["wasted_slots"] += slots.count(None)

    def program_subpage(self, page: int, stored: Stored, *, advances: bool = False) -> None:
        """Program the next subpage of the page, which destroys those below it."""
        offset = self.page_use[page]
        valid = self.valid_slots(self.slots_of_page(page))
        if offset >= self.config.slots_per_page or (valid and not advances):
            raise OutOfOrder(f"subpage {offset} of page {page} with {len(valid)} valid ones")
        for below in range(offset):
            old = self.pages[page][below]
            self.pages[page][below] = None if old is None else (old[0], DESTROYED)
        self.page_use[page] += 1
        self._store(page, {offset: stored})
        self.counters["subpage_programs"] += 1

    def _store(self, page: int, slots: dict[int, Stored | None]) -> None:
        for offset, stored in slots.items():
            self.pages[page][offset] = stored
            if stored is not None:
                self.logical[stored[0]].ppn = self.slots_of_page(page)[offset]
        self.stored_h[page] = self.calendar_h

    def erase_cells(self, block: int) -> None:
        for page in self.pages_of_block(block):
            self.pages[page] = [None] * self.config.slots_per_page
            self.page_use[page] = 0

    # Reads

    def read_page(self, lpns: list[int]) -> None:
        """Read these sectors of one flash page, and check them."""
        assert len({self.page_of(lpn) for lpn in lpns}) == 1
        self.counters["flash_reads"] += 1
        for lpn in lpns:
            self.counters["lost_pages"] += not self.holds_newest(lpn)
            self.counters["uncorrectable_reads"] += self.age_h(lpn) > self.limit_h(self.logical[lpn].ppn)

    def age_h(self, lpn: int) -> int:
        return self.calendar_h - self.stored_h[self.page_of(lpn)]

    def limit_h(self, slot: int) -> int:
        """For how long the slot keeps its data."""
        c = self.config
        if c.kind == SUBFTL and self.is_in_region(self.block_of_slot(slot)):
            return c.retention_h[slot % c.slots_per_page]
        return c.full_retention_h
