"""MiDA behind the hot filter of MiDAS (FAST 2024)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .mida import Mida

HOT, HOST = 0, 1
FULL = 3


class MidaHot(Mida):
    """Stream 0 takes hot pages of the host, 1 the others; what survives goes one stream on."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
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
