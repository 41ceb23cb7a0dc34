"""The flash translation layer of the reference: maps, pool, index, streams, rounds; it knows no time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil

from . import erase_sets
from .config import ReferenceConfig
from .flash import UNMAPPED, Flash
from .groups import BlockGroups
from .hotness import HotnessTable
from .placement import Place, Scattered, Stream, place_host_page, place_relocated_page

SPOILED = -1  # the version of a page that an erase next to it has disturbed

COUNTERS = (
    "host_reads",
    "host_pages_written",
    "host_pages_trimmed",
    "hot_pages_written",
    "relocated_pages",
    "flash_reads",
    "rmw_reads",
    "queue_hits",
    "unmapped_reads",
    "rounds",
    "gc_episodes",
    "erases",
    "erased_sub_blocks",
    "lost_pages",
)


class IllegalEraseSet(ValueError):
    """The chosen erase set is refused; the device is as it was."""


@dataclass
class OpenBlock:
    block: int
    sub_block: int


class Device(Flash):
    """Maps, pools, index and garbage collection of one device."""

    def __init__(self, config: ReferenceConfig) -> None:
        super().__init__(config)
        self._refuse_if_too_full()
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
        self.rounds: dict[int, tuple[int, int]] = {}  # plane -> (victim, mask) of the running round
        self.foreground = [False] * config.planes
        self.plane_cursors = [0] * config.dies
        self.clock = 0
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.hotness = HotnessTable(config) if config.asks_for_hotness else None
        self.groups: list[BlockGroups] = []
        if config.placement == "hotness_groups":
            self.groups = [
                BlockGroups(self.blocks_of_plane(p), config.groups, config.group_limit) for p in planes
            ]

    def _refuse_if_too_full(self) -> None:
        c = self.config
        if c.allocation == "static":
            fits = ceil(c.logical_pages / c.planes) <= c.max_valid_pages
        else:
            fits = c.logical_pages < c.planes * c.max_valid_pages
        if not fits:
            raise ValueError(
                f"{c.logical_pages} logical pages do not fit into {c.planes} planes of {c.max_valid_pages} "
                "valid pages each; lower logical_pages, the threshold or the barrier"
            )

    def pool_pages(self, plane: int) -> int:
        return sum(self.free_in_block(block) for block in self.pools[plane])

    def is_indexed(self, block: int) -> bool:
        return block in self.ages[self.plane_of_block(block)]

    def is_eligible(self, block: int) -> bool:
        return self.is_indexed(block) and self.invalid_in_block(block) > 0

    # Host pages

    def is_mapped(self, lpn: int) -> bool:
        return self.logical[lpn].ppn != UNMAPPED

    def newer_version_waits(self, lpn: int) -> bool:
        return self.logical[lpn].accepted > self.logical[lpn].version

    def accept_write(self, lpn: int) -> int:
        """Promise the host a new version of the page; returns it."""
        self.logical[lpn].accepted += 1
        return self.logical[lpn].accepted

    def trim(self, lpn: int) -> None:
        page = self.logical[lpn]
        page.accepted += 1
        page.version = page.accepted
        self._invalidate(lpn)
        self.counters["host_pages_trimmed"] += 1

    def host_program(self, plane: int, lpn: int, version: int) -> None:
        """Program one host page in the plane and switch foreground GC on if the plane needs it."""
        page = self.logical[lpn]
        self._count_update(lpn)
        is_newest = version > page.version
        if is_newest:
            self._invalidate(lpn)
        place = place_host_page(self, plane, lpn)
        ppn = self._program(plane, place, lpn, version)
        if is_newest:
            page.ppn, page.version = ppn, version
        self._programmed(plane, place)
        self.clock += 1
        self.counters["host_pages_written"] += 1
        if self.needs_gc(plane):
            self.foreground[plane] = True
            self.counters["gc_episodes"] += 1

    def hotness_group(self, lpn: int) -> int:
        """1 to g; 0 for pages that are not hot."""
        return self.hotness.group(lpn) if self.hotness else 0

    def _count_update(self, lpn: int) -> None:
        if self.hotness:
            self.hotness.count_update(lpn)
            self.counters["hot_pages_written"] += self.hotness_group(lpn) > 0

    def read_flash(self, lpn: int) -> None:
        """Read a mapped page and check that it holds the newest programmed version."""
        self.counters["flash_reads"] += 1
        self.counters["lost_pages"] += not self._holds_newest(lpn)

    def audit(self) -> None:
        """Count every mapped page whose flash page is not what the map says."""
        mapped = [lpn for lpn in range(self.config.logical_pages) if self.is_mapped(lpn)]
        self.counters["lost_pages"] += sum(not self._holds_newest(lpn) for lpn in mapped)

    def _holds_newest(self, lpn: int) -> bool:
        page = self.logical[lpn]
        return self.is_written(page.ppn) and self.physical[page.ppn] == (lpn, page.version)

    def _invalidate(self, lpn: int) -> None:
        page = self.logical[lpn]
        if page.ppn == UNMAPPED:
            return
        block = self.block_of_page(page.ppn)
        page.ppn = UNMAPPED
        self.invalidated_at[block] = self.clock
        if self.is_indexed(block):
            self._leave_bucket(block)
            self._enter_bucket(block)
        self._reclassify(block)

    # Where pages are programmed

    def _program(self, plane: int, place: Place, lpn: int, version: int) -> int:
        """Program the page there; the map and the block's state are the caller's."""
        if isinstance(place, Scattered):
            sub_block = place.sub_block
        else:
            if (plane, place.number) not in self.open:
                self._open_block(plane, place.number)
            sub_block = self.open[plane, place.number].sub_block
        ppn = self.pages_of_sub_block(sub_block)[self.written[sub_block]]
        self.physical[ppn] = (lpn, version)
        self.written[sub_block] += 1
        return ppn

    def _programmed(self, plane: int, place: Place) -> None:
        """What follows for the block, once the map knows whether the new page is valid."""
        if isinstance(place, Stream):
            self._go_on_or_close(plane, place.number)
            return
        block = place.sub_block // self.config.sub_blocks_per_block
        if not self.is_indexed(block):
            self._enter_index(block)
        elif block not in self.buckets[plane][self.invalid_in_block(block)]:  # the page was dead at birth
            self._leave_bucket(block)
            self._enter_bucket(block)
        if self.free_in_block(block) == 0:
            self.closed_at[block] = self.clock
            self.pools[plane].remove(block)
        self._reclassify(block)

    def _open_block(self, plane: int, stream: int) -> None:
        if not self.pools[plane]:
            raise RuntimeError(f"plane {plane} has no block left to open")
        block = self.pools[plane].popleft()
        if self.is_indexed(block):
            self._leave_index(block)
        self.open[plane, stream] = OpenBlock(block, self.writable_sub_blocks(block)[0])

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
            self._enter_index(place.block)

    # Index

    def _enter_index(self, block: int) -> None:
        self.ages[self.plane_of_block(block)].append(block)
        self._enter_bucket(block)

    def _leave_index(self, block: int) -> None:
        self.ages[self.plane_of_block(block)].remove(block)
        self._leave_bucket(block)

    def _enter_bucket(self, block: int) -> None:
        self.buckets[self.plane_of_block(block)][self.invalid_in_block(block)].append(block)

    def _leave_bucket(self, block: int) -> None:
        for bucket in self.buckets[self.plane_of_block(block)]:
            if block in bucket:
                bucket.remove(block)

    # Block groups

    def _reclassify(self, block: int) -> None:
        plane = self.plane_of_block(block)
        is_victim = plane in self.rounds and self.rounds[plane][0] == block
        if self.groups and not is_victim:
            rank, mask = erase_sets.rank(self, block), 0
            if self.config.isolation != "hardware":
                mask = erase_sets.best_set_of_block(self, block) or 0
            self.groups[plane].reclassify(block, rank, mask)

    # Garbage collection

    def needs_gc(self, plane: int) -> bool:
        return self._is_short(plane, self.config.threshold) or self._is_on_floor(plane)

    def _is_short(self, plane: int, limit: int) -> bool:
        if self.config.threshold_blocks is None:
            return self.free_pages(plane) < limit
        return self.pool_pages(plane) < limit * self.config.pages_per_block

    def _is_on_floor(self, plane: int) -> bool:
        return self.pool_pages(plane) < 2 * self.config.pages_per_block

    def _goes_on(self, plane: int) -> bool:
        short = self.config.gc_mode == "barrier" and self._is_short(plane, self.config.stop)
        return short or self._is_on_floor(plane)

    def wants_background_gc(self, plane: int) -> bool:
        limit = self.config.background_pages
        is_under = limit is not None and self.free_pages(plane) < limit
        return is_under and any(self.is_eligible(block) for block in self.blocks_of_plane(plane))

    def must_gain(self, plane: int) -> bool:
        """Whether rounds are repeated until a level is reached, which sets that gain no pages never would."""
        c = self.config
        return c.gc_mode == "barrier" or c.background_pages is not None or self._is_on_floor(plane)

    def objection(self, plane: int, block: int, mask: int) -> str | None:
        """Why the erase set may not be collected in the plane; None if it may."""
        return erase_sets.objection(self, plane, block, mask)

    def start_round(self, plane: int, block: int, mask: int) -> None:
        """Make the set the victim of a round; IllegalEraseSet, and no change, where it may not be."""
        if (reason := self.objection(plane, block, mask)) is not None:
            raise IllegalEraseSet(reason)
        self._leave_index(block)
        if block in self.pools[plane]:
            self.pools[plane].remove(block)
        self.rounds[plane] = (block, mask)
        self.counters["rounds"] += 1

    def move_next(self, plane: int) -> bool:
        """Relocate the first valid page left in the running round's set and neighbours; False if none is."""
        block, mask = self.rounds[plane]
        subs = self.sub_blocks_of_set(block, mask | erase_sets.neighbours(self.config, mask))
        valid = [ppn for sub in subs for ppn in self.pages_of_sub_block(sub) if self.is_valid(ppn)]
        if not valid:
            return False
        lpn, version = self.physical[valid[0]]
        self.read_flash(lpn)
        place = place_relocated_page(self, plane, lpn, valid[0])
        self.logical[lpn].ppn = self._program(plane, place, lpn, version)
        self._programmed(plane, place)
        self.counters["relocated_pages"] += 1
        return True

    def erase(self, plane: int) -> None:
        """End the plane's running round, and its foreground GC if that has reached its goal."""
        block, mask = self.rounds.pop(plane)
        self._disturb(block, mask)
        for sub in self.sub_blocks_of_set(block, mask):
            self.written[sub] = 0
            self.erases[sub] += 1
            self.counters["erased_sub_blocks"] += 1
        self.counters["erases"] += 1
        if self.free_in_block(block):
            self.pools[plane].append(block)
        if self.written_in_block(block):
            self._enter_index(block)
        self._reclassify(block)
        if self.foreground[plane]:
            self.foreground[plane] = self._goes_on(plane)

    def _disturb(self, block: int, mask: int) -> None:
        if not self.config.erase_disturbs or self.config.isolation == "hardware":
            return
        for sub in self.sub_blocks_of_set(block, erase_sets.adjacent(self.config, mask)):
            for ppn in filter(self.is_written, self.pages_of_sub_block(sub)):
                self.physical[ppn] = (self.physical[ppn][0], SPOILED)

    # Dynamic allocation inside a die

    def plane_with_room(self, die: int) -> int | None:
        """The first plane from the die's cursor on that holds fewer than V_max valid pages."""
        planes, cursor = self.planes_of_die(die), self.plane_cursors[die]
        for plane in planes[cursor:] + planes[:cursor]:
            if self.valid_in_plane(plane) < self.config.max_valid_pages:
                return plane
        return None

    def advance_plane_cursor(self, plane: int) -> None:
        die = self.die_of_plane(plane)
        position = self.planes_of_die(die).index(plane)
        self.plane_cursors[die] = (position + 1) % self.config.planes_per_die

    def emptiest_plane(self) -> int:
        """The plane with the fewest valid pages, the lowest number of equals."""
        return min(range(self.config.planes), key=self.valid_in_plane)
