"""When garbage is collected, and which plane of a die takes a page: what no mapping decides."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from . import erase_sets, rounds
from .blocks import Blocks, Stream
from .config import ReferenceConfig
from .erase_sets import Pair
from .flash import UNMAPPED
from .lifetime import Life


class Collecting(Blocks):
    """Need for garbage collection, the rounds that run, and room in planes."""

    def __init__(self, config: ReferenceConfig) -> None:
        super().__init__(config)
        self._refuse_if_too_full()
        self.rounds: dict[int, list[Pair]] = {}  # plane that leads -> pairs of the running round
        self.foreground = [False] * config.planes
        self.plane_cursors = [0] * config.dies
        self.life = self.new_life()
        self.holders: list[Callable[[int], None]] = []  # that forget a page with the device

    def new_life(self) -> Life:
        return Life(self)

    def _refuse_if_too_full(self) -> None:
        c = self.config
        if c.allocation == "static":
            fits = ceil(c.logical_pages / c.planes) <= c.max_valid_pages
        else:
            fits = c.logical_pages < c.planes * c.max_valid_pages
        if not fits:
            raise ValueError(
                f"{c.logical_pages} logical pages do not fit into {c.planes} planes of {c.max_valid_pages} "
                "valid pages each; lower logical_pages or the threshold"
            )

    def unusable_blocks(self, plane: int) -> list[int]:
        return [block for block in self.life.retired if self.plane_of_block(block) == plane]

    # What is mapped

    def is_mapped(self, lpn: int) -> bool:
        return self.logical[lpn].ppn != UNMAPPED

    def newer_version_waits(self, lpn: int) -> bool:
        return self.logical[lpn].accepted > self.logical[lpn].version

    def accept_write(self, lpn: int) -> int:
        """Promise the host a new version of the page; returns it."""
        self.logical[lpn].accepted += 1
        return self.logical[lpn].accepted

    def audit(self) -> None:
        """Count every mapped page whose flash page is not what the map says."""
        mapped = [lpn for lpn in range(self.config.logical_pages) if self.is_mapped(lpn)]
        self.counters["lost_pages"] += sum(not self.holds_newest(lpn) for lpn in mapped)

    def holds_newest(self, lpn: int) -> bool:
        """Whether flash holds the newest programmed version of a mapped page where the map says."""
        page = self.logical[lpn]
        return self.is_written(page.ppn) and self.physical[page.ppn] == (lpn, page.version)

    def trim(self, lpn: int) -> None:
        self.unmap_newest(lpn)
        self.counters["host_pages_trimmed"] += 1

    def forget(self, lpn: int) -> None:
        """Drop a page that the device gives up."""
        for drop in self.holders:
            drop(lpn)
        self.unmap_newest(lpn)

    def unmap_newest(self, lpn: int) -> None:
        """Leave no copy of the page valid, of which a new version is accepted."""
        page = self.logical[lpn]
        page.accepted += 1
        page.version = page.accepted
        self.unmap(lpn)

    def unmap(self, lpn: int) -> None:
        """Forget where the page is, if it is anywhere."""
        raise NotImplementedError

    def reclassify(self, block: int) -> None:
        """Follow what has changed in the block, where blocks are sorted into groups."""

    # When garbage is collected

    def needs_gc(self, plane: int) -> bool:
        return self._is_short(plane, self.config.threshold) or self.is_on_floor(plane)

    def _is_short(self, plane: int, limit: int) -> bool:
        if self.config.threshold_blocks is None:
            return self.free_pages(plane) < limit
        return self.pool_pages(plane) < limit * self.config.pages_per_block

    def is_on_floor(self, plane: int) -> bool:
        return self.pool_pages(plane) < self.config.floor * self.config.pages_per_block

    def switch_on_if_needed(self, plane: int) -> None:
        """Switch foreground GC on if the plane needs it; where that waits for empty queues, it may be on."""
        is_on = self.config.waits_for_empty_queues and self.foreground[plane]
        if self.needs_gc(plane) and not is_on:
            self.foreground[plane] = True
            self.counters["gc_episodes"] += 1

    def goes_on(self, plane: int) -> bool:
        """Whether the plane's foreground GC has not reached its goal yet."""
        if self.life.is_overfull(plane):
            return False
        short = self.config.gc_mode == "barrier" and self._is_short(plane, self.config.threshold)
        return short or self.is_on_floor(plane)

    def wants_background_gc(self, plane: int, limit: float) -> bool:
        """Whether it has a victim, and fewer free pages than the limit."""
        is_under = self.free_pages(plane) < limit and not self.life.is_overfull(plane)
        return is_under and any(self.is_eligible(block) for block in self.blocks_of_plane(plane))

    def must_gain(self, plane: int) -> bool:
        """Whether rounds are repeated until a level is reached, which sets that gain no pages never would."""
        c = self.config
        collects_idle = c.background_pages is not None or c.idle is not None
        repeats = c.gc_mode == "barrier" or c.gc_start == "queue_empty"
        is_on_floor = self.is_on_floor(plane) and not self.life.is_overfull(plane)
        return repeats or collects_idle or is_on_floor

    # Rounds

    def planes_of(self, pairs: list[Pair]) -> set[int]:
        return {self.plane_of_block(block) for block, _ in pairs}

    def leader_of(self, plane: int) -> int | None:
        """The plane that leads the round running in this one; None if none is running."""
        leaders = [leader for leader, pairs in self.rounds.items() if plane in self.planes_of(pairs)]
        assert len(leaders) <= 1
        return leaders[0] if leaders else None

    def objection(self, plane: int, pairs: list[Pair]) -> str | None:
        """Why a round led by the plane may not collect the erase set; None if it may."""
        return erase_sets.objection(self, plane, pairs)

    def start_round(self, plane: int, pairs: list[Pair]) -> None:
        """Make the set the victim of a round; IllegalEraseSet, and no change, where it may not be."""
        rounds.start(self, plane, pairs)

    def levels_next(self, plane: int) -> bool:
        """Whether wear may be levelled there before the next round."""
        is_free = self.leader_of(plane) is None and not self.foreground[plane]
        return self.levelling[plane] == "due" and is_free

    def start_levelling(self, plane: int) -> bool:
        """Start a round that levels wear, if the rule wants one and there is room; whether it did."""
        assert self.level is not None
        has_room = self.pool_pages(plane) >= 2 * self.config.pages_per_block
        block = self.level.choose(plane) if has_room else None
        self.levelling[plane] = ""
        if block is not None:
            rounds.start_levelling(self, plane, block)
        return block is not None

    def move_next(self, plane: int) -> int:
        """The next move of the round running in the plane; returns its pages, 0 if none is left to move."""
        leader = self.leader_of(plane)
        assert leader is not None
        return rounds.move_next(self, self.rounds[leader])

    def moves_left(self, plane: int) -> int:
        """How many pages the plane has still to move for the round running in it."""
        leader = self.leader_of(plane)
        pairs = [] if leader is None else self.rounds[leader]
        own = [pair for pair in pairs if self.plane_of_block(pair[0]) == plane]
        return sum(erase_sets.moves(self, block, mask) for block, mask in own)

    def takes_host_pages(self, plane: int) -> bool:
        """Whether a page of the host may be programmed there although a round may be running."""
        if self.leader_of(plane) is None:
            return True
        needed = self.moves_left(plane) + self.config.pages_per_block
        return self.config.preemptible and self.pool_pages(plane) >= needed

    def finish_round(self, plane: int) -> None:
        """Carry out all that is left of the round that runs in the plane."""
        while self.move_next(plane):
            pass
        self.erase(plane)

    def erase(self, plane: int) -> None:
        """End the round running in the plane."""
        leader = self.leader_of(plane)
        assert leader is not None
        rounds.erase(self, leader)

    # Dynamic and late allocation inside a die

    def plane_with_room(self, die: int) -> int | None:
        """Of the planes that hold fewer than V_max valid pages the first from the die's cursor on.

        With aligned rows the one whose row lags most behind that of the first.
        """
        with_room = filter(self.has_room, self.planes_from_cursor(die))
        return next(iter(self.most_lagging_first(list(with_room)) if self.config.aligns else with_room), None)

    def most_lagging_first(self, planes: list[int]) -> list[int]:
        """The planes that have a row for the host, by how far it lags behind the first's; all if none has."""
        rows = {plane: row for plane in planes if (row := self.row(plane, Stream(0))) is not None}
        if not rows:
            return planes
        of_first, per_block = next(iter(rows.values())), self.config.pages_per_block

        def lead(plane: int) -> int:
            half = per_block // 2
            return half - (of_first - rows[plane] + half) % per_block

        return sorted(rows, key=lead)

    def has_room(self, plane: int) -> bool:
        return self.life.room(plane) > 0

    def planes_from_cursor(self, die: int) -> list[int]:
        planes, cursor = self.planes_of_die(die), self.plane_cursors[die]
        return planes[cursor:] + planes[:cursor]

    def advance_plane_cursor(self, plane: int) -> None:
        """Behind the plane."""
        die = self.die_of_plane(plane)
        position = self.planes_of_die(die).index(plane)
        self.plane_cursors[die] = (position + 1) % self.config.planes_per_die

    def emptiest_plane(self) -> int:
        """The plane that takes most valid pages more, the lowest number of equals."""
        return max(range(self.config.planes), key=self.life.room)
