"""Placements by how long pages live: as SepBIT infers it, and bounds that know it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from .base import Placement

# SepBIT (FAST 2022): streams by how long pages have lived, against the mean life of short-lived blocks.

SHORT_LIVED, LONG_LIVED, OF_SHORT_LIVED, YOUNG, OLDER, OLDEST = range(6)


class SepBit(Placement):
    """With the exact times of all writes."""

    def begin(self) -> None:
        self.written_at: dict[int, int] = {}
        self.opened_at: dict[int, int] = {}
        self.lives: list[int] = []
        self.mean_life = inf

    def age(self, lpn: int) -> int:
        """Host pages since it was written, all since the start if it never was."""
        return self.clock - self.written_at.get(lpn, -1)

    def limit(self) -> float:
        """Pages of the host that are younger are short-lived."""
        return self.mean_life

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        """Pages written before that lived shortly are expected to do so again."""
        is_short = lpn in self.written_at and self.age(lpn) < self.limit()
        return SHORT_LIVED if is_short else LONG_LIVED

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        """Pages that survived a block of short-lived ones, and others by age."""
        if self.stream_of_page(source) == SHORT_LIVED:
            return OF_SHORT_LIVED
        if self.age(lpn) < 4 * self.mean_life:
            return YOUNG
        return OLDER if self.age(lpn) < 16 * self.mean_life else OLDEST

    def written(self, lpn: int, old: int, new: int) -> None:
        self.written_at[lpn] = self.clock - 1

    def opened(self, block: int, stream: int) -> None:
        super().opened(block, stream)
        self.opened_at[block] = self.clock

    def collected(self, block: int) -> None:
        """The mean life is that of the last `nc` blocks of short-lived pages, taken every `nc` blocks."""
        if self.streams[block] == SHORT_LIVED:
            self.lives.append(self.clock - self.opened_at[block])
        if len(self.lives) == self.parameters["nc"]:
            self.mean_life = sum(self.lives) / len(self.lives)
            self.lives = []


# Bounds: placements that are told beforehand what the host will write and trim.

WRITE, TRIM = 1, 2
#: Logical spaces after the end of a run at which data dies that is not seen to.
BEYOND = 4


class Oracle(Placement):
    """Knows when each page dies: at its next write or trim, in host pages."""

    def begin(self) -> None:
        super().begin()
        self.deaths: list[int] = []  # of the pages the host writes, in order
        self.dies_at: dict[int, int] = {}
        self.writes: dict[int, int] = {}

    def foresee(self, requests: Sequence[tuple[int, ...]]) -> None:
        """All requests of the run, from a new device on."""
        events: list[tuple[int, int, int]] = []  # page, clock, what
        clock = 0
        for _, first, pages, op, *_ in requests:
            for lpn in range(first, first + pages) if op in (WRITE, TRIM) else ():
                events.append((lpn, clock, op))
                clock += op == WRITE
        end = clock + BEYOND * len(self.device.logical)
        for k, (lpn, _, op) in enumerate(events):
            if op == WRITE:
                later = [time for page, time, _ in events[k + 1 :] if page == lpn]
                self.deaths.append(later[0] if later else end)
                self.writes[lpn] = self.writes.get(lpn, 0) + 1

    def written(self, lpn: int, old: int, new: int) -> None:
        super().written(lpn, old, new)
        self.dies_at[lpn] = self.deaths[self.clock - 1]

    def group(self, life: float, groups: int, first: float, ratio: float) -> int:
        """0 for the shortest lives."""
        bound, group = first * len(self.device.logical), 0
        while group < groups - 1 and bound <= life:
            bound, group = bound * ratio, group + 1
        return group

    def host_group(self, groups: int) -> int:
        return self.group(self.deaths[self.clock] - self.clock, groups, 0.02, 3.0)

    def relocated_group(self, lpn: int, groups: int) -> int:
        return self.group(self.dies_at[lpn] - self.clock, groups, 0.02, 3.0)


class OracleK(Oracle):
    """By remaining life, whoever writes."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.host_group(8)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return self.relocated_group(lpn, 8)


class OracleRate(Oracle):
    """By the mean interval between writes in the whole run."""

    def rate_group(self, lpn: int) -> int:
        if not self.writes.get(lpn):
            return 5
        return self.group(len(self.deaths) / self.writes[lpn], 6, 1 / 32, 4.0)

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.rate_group(lpn)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return self.rate_group(lpn)
