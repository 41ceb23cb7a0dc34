"""The flash translation layer of the reference: maps, pool, index, streams, rounds; it knows no time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil

UNMAPPED = -1
NOTHING_OPEN = -1

COUNTERS = (
    "host_reads",
    "host_pages_written",
    "host_pages_trimmed",
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


@dataclass(frozen=True)
class ReferenceConfig:
    """One device. Thresholds and the barrier share a unit: pages of a plane, or blocks of its pool."""

    channels: int = 1
    chips_per_channel: int = 1
    dies_per_chip: int = 1
    planes_per_die: int = 1
    blocks_per_plane: int = 8
    sub_blocks_per_block: int = 1
    pages_per_block: int = 4
    logical_pages: int = 16
    erase_unit: str = "block"  # or "sub_block_run"
    placement: str = "single"  # or "sep_gc"
    allocation: str = "static"  # or "dynamic"
    gc_mode: str = "barrier"  # or "per_write"
    threshold_pages: int | None = None
    threshold_blocks: int | None = None
    barrier: int | None = None  # in the threshold's unit; None: the threshold
    background_pages: int | None = None
    gc_priority: str = "first"  # or "after_reads"
    timing: str = "none"  # or "event"
    read_ns: int = 0
    program_ns: int = 0
    erase_ns: int = 0
    transfer_ns: int = 0
    closed_loop: bool = False
    queue_depth: int = 1
    window_pages: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.threshold_pages is None) == (self.threshold_blocks is None):
            raise ValueError("give one of threshold_pages and threshold_blocks")
        if self.pages_per_block % self.sub_blocks_per_block:
            raise ValueError("pages_per_block must be a multiple of sub_blocks_per_block")

    @property
    def dies(self) -> int:
        return self.channels * self.chips_per_channel * self.dies_per_chip

    @property
    def planes(self) -> int:
        return self.dies * self.planes_per_die

    @property
    def pages_per_plane(self) -> int:
        return self.blocks_per_plane * self.pages_per_block

    @property
    def pages_per_sub_block(self) -> int:
        return self.pages_per_block // self.sub_blocks_per_block

    @property
    def streams(self) -> int:
        return 2 if self.placement == "sep_gc" else 1

    @property
    def threshold(self) -> int:
        limit = self.threshold_blocks if self.threshold_pages is None else self.threshold_pages
        assert limit is not None
        return limit

    @property
    def stop(self) -> int:
        """The level that ends a `barrier` episode."""
        return self.threshold if self.barrier is None else self.barrier

    @property
    def max_valid_pages(self) -> int:
        """V_max: the most valid pages of a plane that still leave a victim."""
        unit = 1 if self.threshold_blocks is None else self.pages_per_block
        reserve = max(
            self.threshold * unit, self.stop * unit, self.background_pages or 0, 2 * self.pages_per_block
        )
        return self.pages_per_plane - reserve - self.streams * self.pages_per_block


@dataclass
class LogicalPage:
    ppn: int = UNMAPPED
    version: int = 0
    accepted: int = 0


@dataclass
class OpenBlock:
    block: int
    sub_block: int  # counted over the device


class Device:
    """Flash, maps and garbage collection of one device. Block and plane numbers count over the device."""

    def __init__(self, config: ReferenceConfig) -> None:
        self.config = config
        self._refuse_if_too_full()
        blocks = config.planes * config.blocks_per_plane
        sub_blocks = blocks * config.sub_blocks_per_block
        self.logical = [LogicalPage() for _ in range(config.logical_pages)]
        self.physical = [(-1, 0)] * (blocks * config.pages_per_block)  # (lpn, version), kept by an erase
        self.written = [0] * sub_blocks
        self.erases = [0] * sub_blocks
        self.closed_at = [0] * blocks
        self.invalidated_at = [0] * blocks
        self.pools = [deque(self.blocks_of_plane(plane)) for plane in range(config.planes)]
        self.open: dict[tuple[int, int], OpenBlock] = {}
        self.ages: list[list[int]] = [[] for _ in range(config.planes)]
        self.buckets: list[list[list[int]]] = [
            [[] for _ in range(config.pages_per_block + 1)] for _ in range(config.planes)
        ]
        self.rounds: dict[int, tuple[int, int]] = {}  # plane -> (victim, mask) of the running round
        self.foreground = [False] * config.planes
        self.plane_cursors = [0] * config.dies
        self.clock = 0
        self.counters = dict.fromkeys(COUNTERS, 0)

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

    # Geometry

    def die_of_plane(self, plane: int) -> int:
        return plane % self.config.dies

    def planes_of_die(self, die: int) -> list[int]:
        return [plane for plane in range(self.config.planes) if self.die_of_plane(plane) == die]

    def plane_of_block(self, block: int) -> int:
        return block // self.config.blocks_per_plane

    def block_of_page(self, ppn: int) -> int:
        return ppn // self.config.pages_per_block

    def plane_of_page(self, ppn: int) -> int:
        return self.plane_of_block(self.block_of_page(ppn))

    def blocks_of_plane(self, plane: int) -> range:
        first = plane * self.config.blocks_per_plane
        return range(first, first + self.config.blocks_per_plane)

    def sub_blocks_of_block(self, block: int) -> range:
        first = block * self.config.sub_blocks_per_block
        return range(first, first + self.config.sub_blocks_per_block)

    def sub_blocks_of_set(self, block: int, mask: int) -> list[int]:
        return [sub for bit, sub in enumerate(self.sub_blocks_of_block(block)) if mask >> bit & 1]

    def pages_of_sub_block(self, sub_block: int) -> range:
        first = sub_block * self.config.pages_per_sub_block
        return range(first, first + self.config.pages_per_sub_block)

    # What can be derived

    def is_written(self, ppn: int) -> bool:
        sub_block, page = divmod(ppn, self.config.pages_per_sub_block)
        return page < self.written[sub_block]

    def is_valid(self, ppn: int) -> bool:
        return self.is_written(ppn) and self.logical[self.physical[ppn][0]].ppn == ppn

    def valid_in_sub_block(self, sub_block: int) -> int:
        return sum(self.is_valid(ppn) for ppn in self.pages_of_sub_block(sub_block))

    def written_in_block(self, block: int) -> int:
        return sum(self.written[sub] for sub in self.sub_blocks_of_block(block))

    def valid_in_block(self, block: int) -> int:
        return sum(self.valid_in_sub_block(sub) for sub in self.sub_blocks_of_block(block))

    def valid_in_plane(self, plane: int) -> int:
        return sum(self.valid_in_block(block) for block in self.blocks_of_plane(plane))

    def invalid_in_block(self, block: int) -> int:
        return self.written_in_block(block) - self.valid_in_block(block)

    def free_in_block(self, block: int) -> int:
        return self.config.pages_per_block - self.written_in_block(block)

    def free_pages(self, plane: int) -> int:
        return sum(self.free_in_block(block) for block in self.blocks_of_plane(plane))

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
        is_newest = version > page.version
        if is_newest:
            self._invalidate(lpn)
        ppn = self._program(plane, 0, lpn, version)
        if is_newest:
            page.ppn, page.version = ppn, version
        self._go_on_or_close(plane, 0)
        self.clock += 1
        self.counters["host_pages_written"] += 1
        if self.needs_gc(plane):
            self.foreground[plane] = True
            self.counters["gc_episodes"] += 1

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

    # Streams

    def _program(self, plane: int, stream: int, lpn: int, version: int) -> int:
        if (plane, stream) not in self.open:
            self._open_block(plane, stream)
        sub_block = self.open[plane, stream].sub_block
        ppn = self.pages_of_sub_block(sub_block)[self.written[sub_block]]
        self.physical[ppn] = (lpn, version)
        self.written[sub_block] += 1
        return ppn

    def _open_block(self, plane: int, stream: int) -> None:
        if not self.pools[plane]:
            raise RuntimeError(f"plane {plane} has no block left to open")
        block = self.pools[plane].popleft()
        if self.is_indexed(block):
            self._leave_index(block)
        self.open[plane, stream] = OpenBlock(block, self._free_sub_blocks(block)[0])

    def _free_sub_blocks(self, block: int) -> list[int]:
        return [sub for sub in self.sub_blocks_of_block(block) if self.written[sub] == 0]

    def _go_on_or_close(self, plane: int, stream: int) -> None:
        place = self.open[plane, stream]
        if self.written[place.sub_block] < self.config.pages_per_sub_block:
            return
        higher = [sub for sub in self._free_sub_blocks(place.block) if sub > place.sub_block]
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

    def objection(self, plane: int, block: int, mask: int) -> str | None:
        """Why the erase set may not be collected in the plane; None if it may."""
        everything = (1 << self.config.sub_blocks_per_block) - 1
        if block not in self.blocks_of_plane(plane):
            return f"block {block} is not in plane {plane}"
        if not self.is_indexed(block):
            return f"block {block} is open, being collected or empty"
        if not 0 < mask <= everything:
            return f"mask {mask:#b} is no non-empty subset of the sub-blocks"
        is_run = "0" not in f"{mask:b}".rstrip("0")
        if mask != everything and not (self.config.erase_unit == "sub_block_run" and is_run):
            return f"mask {mask:#b} cannot be erased with erase_unit {self.config.erase_unit}"
        subs = self.sub_blocks_of_set(block, mask)
        if all(self.written[sub] == self.valid_in_sub_block(sub) for sub in subs):
            return f"mask {mask:#b} of block {block} holds no invalid page"
        return None

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
        """Relocate the first valid page left in the running round's set; False if there is none."""
        ppns = [
            ppn for sub in self.sub_blocks_of_set(*self.rounds[plane]) for ppn in self.pages_of_sub_block(sub)
        ]
        valid = [ppn for ppn in ppns if self.is_valid(ppn)]
        if not valid:
            return False
        lpn, version = self.physical[valid[0]]
        self.read_flash(lpn)
        stream = self.config.streams - 1
        self.logical[lpn].ppn = self._program(plane, stream, lpn, version)
        self._go_on_or_close(plane, stream)
        self.counters["relocated_pages"] += 1
        return True

    def erase(self, plane: int) -> None:
        """End the plane's running round, and its foreground GC if that has reached its goal."""
        block, mask = self.rounds.pop(plane)
        for sub in self.sub_blocks_of_set(block, mask):
            self.written[sub] = 0
            self.erases[sub] += 1
            self.counters["erased_sub_blocks"] += 1
        self.counters["erases"] += 1
        self.pools[plane].append(block)
        if self.written_in_block(block):
            self._enter_index(block)
        if self.foreground[plane]:
            self.foreground[plane] = self._goes_on(plane)

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
