"""Bounds: placements that are told beforehand what the host will write and trim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Placement
from .sepbit import SepBit

WRITE, TRIM = 1, 2
#: Logical spaces after the end of a run at which data dies that is not seen to.
BEYOND = 4


class Oracle(Placement):
    """Knows when each page dies: at its next write or trim, in host pages."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
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


class OracleHost(Oracle, SepBit):
    """Host pages by remaining life, relocated ones as SepBIT."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.host_group(4)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return SepBit.stream_of_relocated_page(self, lpn, source) + 2


class OracleGc(Oracle, SepBit):
    """Relocated pages by remaining life, host pages as SepBIT."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return SepBit.stream_of_host_page(self, plane, lpn)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return 2 + self.relocated_group(lpn, 6)


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
