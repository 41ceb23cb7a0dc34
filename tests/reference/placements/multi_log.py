"""MultiLog (VLDB 2013): levels that pages leave upwards by chance when rewritten soon, downwards if moved."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..randomness import HOST_STREAM, draw
from .base import Placement

LEVELS = 6


class MultiLog(Placement):
    """The level of a page is the stream of its block."""

    def __init__(self, *arguments: Any, **parameters: int) -> None:
        super().__init__(*arguments, **parameters)
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
