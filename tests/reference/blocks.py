"""The blocks of the reference: pools, open blocks, the index of the others, and how a page is programmed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .config import ReferenceConfig
from .flash import NOTHING, Flash
from .levelling import ALLOCATIONS, LEVELLINGS, most_worn
from .placements import PLACEMENTS


@dataclass(frozen=True)
class Stream:
    """The open block of this stream of the plane."""

    number: int
    opens: int | None = None  # the block to open if none is open; None: as the allocation says


@dataclass(frozen=True)
class Scattered:
    """This sub-block, counted over the device."""

    sub_block: int


Place = Stream | Scattered


COUNTERS = (
    "host_reads",
    "host_pages_written",
    "host_pages_trimmed",
    "hot_pages_written",
    "relocated_pages",
    "overflow_pages",
    "clustered_pages",
    "relocated_runs",
    "joined_moves",
    "joined_writes",
    "joined_reads",
    "padded_pages",
    "flash_reads",
    "rmw_reads",
    "queue_hits",
    "unmapped_reads",
    "rounds",
    "levelling_rounds",
    "levelling_moves",
    "gc_episodes",
    "victim_valid_pages",
    "max_victim_valid_pages",
    "erases",
    "erased_sub_blocks",
    "lost_pages",
)


@dataclass(eq=False)
class Told:
    """What a request says to who places its pages."""

    lpn: int = 0
    pages: int = 0
    hint: int = 0


@dataclass
class OpenBlock:
    block: int
    sub_block: int


class Blocks(Flash):
    """Where pages are programmed, and which blocks could be victims."""

    def __init__(self, config: ReferenceConfig) -> None:
        super().__init__(config)
        planes = range(config.planes)
        blocks = config.planes * config.blocks_per_plane
        self.closed_at = [0] * blocks
        self.invalidated_at = [0] * blocks
        self.pools = [deque(self.blocks_of_plane(plane)) for plane in planes]
        self.open: dict[tuple[int, int], OpenBlock] = {}
        self.ages: list[list[int]] = [[] for _ in planes]
        self.buckets: list[list[list[int]]] = [
            [[] for _ in range(config.pages_per_block + 1)] for _ in planes
        ]
        # How many relocated pages were programmed last in the block, without a host page or an erase since.
        self.relocated_last = [0] * blocks
        self.clock = 0
        self.rounds_started = 0
        self.request = Told()
        rule = PLACEMENTS.get(config.placement)
        self.rule = rule(self, **config.parameters) if rule else None
        level = LEVELLINGS[config.levelling] if config.levelling else None
        self.level = level(self, **config.levelling_parameters) if level else None
        # "due": wear may be levelled next; "runs": the round of the plane does so.
        self.levelling = [""] * config.planes
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.overflow = [0] * config.streams  # relocated pages of each stream that went to another one

    def reset_metrics(self) -> None:
        """Count anew; nothing that was programmed before is a neighbour of what comes."""
        self.counters.update(dict.fromkeys(self.counters, 0))
        self.overflow = [0] * self.config.streams
        self.relocated_last = [0] * len(self.relocated_last)

    def count_round(self) -> None:
        self.rounds_started += 1
        self.counters["rounds"] += 1

    def pool_pages(self, plane: int) -> int:
        return sum(map(self.free_in_block, self.pools[plane]))

    def is_indexed(self, block: int) -> bool:
        return block in self.ages[self.plane_of_block(block)]

    def is_open(self, block: int) -> bool:
        return any(block == place.block for place in self.open.values())

    def is_eligible(self, block: int) -> bool:
        return self.is_indexed(block) and self.invalid_in_block(block) > 0

    # Where pages are programmed

    def row(self, plane: int, place: Place) -> int | None:
        """Number within its block of the page that would be programmed next; None if that is no stream's.

        None, too, for a stream that has nothing open and nothing to open.
        """
        if isinstance(place, Scattered):
            return None
        if (plane, place.number) in self.open:
            return self.number_in_block(self._next_page(self.open[plane, place.number].sub_block))
        if not self.pools[plane]:
            return None
        block = self._block_to_open(plane, place)
        return self.number_in_block(self._next_page(self.writable_sub_blocks(block)[0]))

    def program(self, plane: int, place: Place, lpn: int, version: int, relocated: bool) -> int:
        """Program the page there; the map and the block's state are the caller's."""
        if isinstance(place, Scattered):
            sub_block = place.sub_block
        else:
            if (plane, place.number) not in self.open:
                self._open_block(plane, place)
            sub_block = self.open[plane, place.number].sub_block
        ppn = self._next_page(sub_block)
        self.physical[ppn] = (lpn, version)
        self.written[sub_block] += 1
        self._count_clustered(self.block_of_page(ppn), relocated)
        return ppn

    def pad(self, plane: int, place: Place, row: int, lpn: int) -> None:
        """Program pages that hold nothing, for this logical page, until the next one is that of the row."""
        while self.row(plane, place) != row:
            self.program(plane, place, lpn, NOTHING, relocated=False)
            self.programmed(plane, place)
            self.counters["padded_pages"] += 1

    def programmed(self, plane: int, place: Place) -> None:
        """What follows for the block, once the map knows whether the new page is valid."""
        if isinstance(place, Stream):
            self._go_on_or_close(plane, place.number)
            return
        block = place.sub_block // self.config.sub_blocks_per_block
        if not self.is_indexed(block):
            self.enter_index(block)
        elif block not in self.buckets[plane][self.invalid_in_block(block)]:  # the page was dead at birth
            self.change_bucket(block)
        if self.free_in_block(block) == 0:
            self.closed_at[block] = self.clock
            self.pools[plane].remove(block)

    def _next_page(self, sub_block: int) -> int:
        return self.pages_of_sub_block(sub_block)[self.written[sub_block]]

    def _count_clustered(self, block: int, relocated: bool) -> None:
        """Every page of an unbroken row of two or more relocated ones counts."""
        self.relocated_last[block] = self.relocated_last[block] + 1 if relocated else 0
        if self.relocated_last[block] == 1:
            self.counters["relocated_runs"] += 1
        elif self.relocated_last[block] == 2:
            self.counters["clustered_pages"] += 2  # the page before it is clustered only now
        elif self.relocated_last[block] > 2:
            self.counters["clustered_pages"] += 1

    def _block_to_open(self, plane: int, place: Stream) -> int:
        if not self.pools[plane]:
            raise RuntimeError(f"plane {plane} has no block left to open")
        if place.opens is not None:
            return place.opens
        if place.number == self.config.streams:
            return self.level.destination(plane) if self.level else most_worn(self, plane)
        return ALLOCATIONS[self.config.block_allocation](self, plane)

    def open_first(self, plane: int, place: Stream) -> None:
        """Open a block for the stream, which has none open."""
        self._open_block(plane, place)

    def _open_block(self, plane: int, place: Stream) -> None:
        block = self._block_to_open(plane, place)
        self.pools[plane].remove(block)
        if self.is_indexed(block):
            self.leave_index(block)
        self.open[plane, place.number] = OpenBlock(block, self.writable_sub_blocks(block)[0])
        if self.level and self.levelling[plane] == "runs":
            self.level.filled(block)
        if self.rule:
            self.rule.opened(block, min(place.number, self.config.streams - 1))

    def _go_on_or_close(self, plane: int, stream: int) -> None:
        place = self.open[plane, stream]
        if self.written[place.sub_block] < self.config.pages_per_sub_block:
            return
        higher = [sub for sub in self.writable_sub_blocks(place.block) if sub > place.sub_block]
        if higher:
            place.sub_block = higher[0]
        else:
            del self.open[plane, stream]
            self.closed_at[place.block] = self.clock
            self.enter_index(place.block)
            if self.rule:
                self.rule.closed(place.block)

    # Index

    def enter_index(self, block: int) -> None:
        self.ages[self.plane_of_block(block)].append(block)
        self._enter_bucket(block)

    def leave_index(self, block: int) -> None:
        self.ages[self.plane_of_block(block)].remove(block)
        self._leave_bucket(block)

    def change_bucket(self, block: int) -> None:
        """To the tail of the bucket of the invalid pages it has now."""
        self._leave_bucket(block)
        self._enter_bucket(block)

    def _enter_bucket(self, block: int) -> None:
        self.buckets[self.plane_of_block(block)][self.invalid_in_block(block)].append(block)

    def _leave_bucket(self, block: int) -> None:
        for bucket in self.buckets[self.plane_of_block(block)]:
            if block in bucket:
                bucket.remove(block)
