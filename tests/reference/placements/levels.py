"""Placements by levels that pages go up and down, and by what the host says of them."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from ..randomness import HOST_STREAM, draw
from .base import Placement

# DAC (1999), with unconditional promotion and demotion: one region up per write, one down per relocation.

COLDEST, HOTTEST = 0, 5


class Dac(Placement):
    """The regions are the streams."""

    def begin(self) -> None:
        self.regions: dict[int, int] = {}

    def promoted(self, lpn: int) -> int:
        """The region of the page after one more write."""
        if lpn not in self.regions:
            return COLDEST
        return min(self.regions[lpn] + 1, HOTTEST)

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.promoted(lpn)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return max(self.regions.get(lpn, COLDEST) - 1, COLDEST)

    def written(self, lpn: int, old: int, new: int) -> None:
        if self.is_alive(lpn, new):
            self.regions[lpn] = self.promoted(lpn)

    def relocated(self, lpn: int, old: int, new: int) -> None:
        self.regions[lpn] = self.stream_of_relocated_page(lpn, old)

    def trimmed(self, lpn: int, old: int) -> None:
        del self.regions[lpn]


# MiDA (APSys 2021): the stream of a page is how often it has been moved since the host wrote it.

LAST = 4


class Mida(Placement):
    """Of pages the block knows it: they have all been moved as often as its stream says."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return 0

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return min(self.stream_of_page(source) + 1, LAST)


# MiDA behind the hot filter of MiDAS (FAST 2024).

HOT, HOST = 0, 1
FULL = 3


class MidaHot(Mida):
    """Stream 0 takes hot pages of the host, 1 the others; what survives goes one stream on."""

    def begin(self) -> None:
        self.counters: defaultdict[int, int] = defaultdict(int)
        self.tau = float(self.device.config.logical_pages)
        self.ignored = 0  # events, at the start
        self.overwrites = 0  # of the present window ...
        self.hot_ages: list[int] = []  # ... and the ages of the hot victims in it

    @property
    def is_asleep(self) -> bool:
        return self.ignored < self.device.config.logical_pages

    def age_of_block(self, block: int, clock: int) -> int:
        """Host pages since it was full, none if there is still room."""
        return 0 if self.device.free_in_block(block) else clock - self.device.closed_at[block]

    def counter_after_overwrite(self, lpn: int, old: int, clock: int) -> int:
        counter, stream = self.counters[lpn], self.stream_of_page(old)
        if stream not in (HOT, HOST):
            return counter
        is_young = self.age_of_block(self.device.block_of_page(old), clock) <= self.tau
        return min(counter + 1, FULL) if stream == HOT or is_young else max(counter - 1, 0)

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        counter = self.counters[lpn]
        if self.device.is_mapped(lpn) and not self.is_asleep:
            counter = self.counter_after_overwrite(lpn, self.device.logical[lpn].ppn, self.clock)
        return HOT if counter == FULL else HOST

    def written(self, lpn: int, old: int, new: int) -> None:
        if old < 0:
            return
        if self.is_asleep:
            self.ignored += 1
            return
        self.counters[lpn] = self.counter_after_overwrite(lpn, old, self.clock - 1)
        self.overwrites += 1
        self.end_window()

    def relocated(self, lpn: int, old: int, new: int) -> None:
        stream = self.stream_of_page(old)
        if stream not in (HOT, HOST):
            return
        if self.is_asleep:
            self.ignored += 1
            return
        self.counters[lpn] = max(self.counters[lpn] - (2 if stream == HOT else 1), 0)

    def trimmed(self, lpn: int, old: int) -> None:
        self.counters[lpn] = 0

    def collected(self, block: int) -> None:
        if self.streams[block] == HOT and not self.is_asleep:
            self.hot_ages.append(self.clock - self.device.closed_at[block])
            self.end_window()

    def end_window(self) -> None:
        """A window is `tau` overwrites long, and longer until it has seen a hot victim."""
        if self.overwrites < self.tau or not self.hot_ages:
            return
        mean = sum(self.hot_ages) / len(self.hot_ages)
        self.tau = 1.5 * self.tau if mean >= 2 * self.tau else (mean + self.tau) / 2
        self.overwrites, self.hot_ages = 0, []


# MultiLog (VLDB 2013): levels that pages leave upwards by chance when rewritten soon, downwards if moved.

LEVELS = 6


class MultiLog(Placement):
    """The level of a page is the stream of its block."""

    def begin(self) -> None:
        self.written_at: dict[int, int] = {}
        self.last = 0
        self.seen = {level: [0, 0] for level in range(LEVELS)}  # pages of victims, and the invalid ones

    def level(self, ppn: int) -> int:
        return min(self.stream_of_page(ppn), self.last)

    def valid(self, level: int) -> int:
        return sum(self.device.valid_in_block(b) for b, s in self.streams.items() if s == level)

    def leaves(self, lpn: int, level: int) -> bool:
        pages, invalid = self.seen[level]
        if not pages:
            return False
        expected = self.valid(level) * (1.0 - invalid / pages) / 2.0
        interval = self.clock + 1 - self.written_at.get(lpn, 0)
        chance = Fraction(draw(self.device.config.seed, HOST_STREAM, self.clock, lpn) >> 11, 1 << 53)
        return interval < expected and chance < 1.0 - interval / expected

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        if not self.device.is_mapped(lpn):
            return 0
        level = self.level(self.device.logical[lpn].ppn)
        return level - 1 if level and self.leaves(lpn, level) else level

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        level = self.level(source)
        opens = level + 1 < LEVELS and self.valid(level) >= self.device.config.pages_per_block
        return level + 1 if level < self.last or opens else level

    def written(self, lpn: int, old: int, new: int) -> None:
        self.written_at[lpn] = self.clock

    def opened(self, block: int, stream: int) -> None:
        super().opened(block, stream)
        self.last = max(self.last, stream)

    def collected(self, block: int) -> None:
        seen, device = self.seen[min(self.streams[block], self.last)], self.device
        seen[0] += device.valid_in_block(block) + device.invalid_in_block(block)
        seen[1] += device.invalid_in_block(block)


# What the host says of its data, one stream for each of eight handles.

HANDLES = 8


class Hints(Placement):
    """Relocated pages of all handles come together."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.device.request.hint % HANDLES

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return HANDLES


class HintsIsolated(Hints):
    """Relocated pages of each handle stay among themselves."""

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        handle = self.stream_of_page(source) % HANDLES
        return HANDLES + handle
