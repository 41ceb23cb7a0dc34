"""The table of update counters that tells how hot a page is (SpeedupGC, section III-B)."""

from __future__ import annotations

from .config import ReferenceConfig
from .randomness import GOLDEN, WORD, below, mix

MOST = 15  # a counter has 4 bits


class HotnessTable:
    """Rows of counters, each with a hash of its own; `rows[r][c]` is counter `c` of row `r`."""

    def __init__(self, config: ReferenceConfig) -> None:
        self.config = config
        self.rows = [[0] * config.row_counters for _ in range(config.hashes)]
        self.updates = 0

    def columns(self, lpn: int) -> list[int]:
        """Where each row counts the page."""
        own = mix(GOLDEN * (lpn + 1) & WORD)
        hashes = [mix((own + GOLDEN * (row + 1)) & WORD) for row in range(self.config.hashes)]
        return [below(self.config.row_counters, z) for z in hashes]

    def count_update(self, lpn: int) -> None:
        for row, column in zip(self.rows, self.columns(lpn), strict=True):
            row[column] = min(row[column] + 1, MOST)
        self.updates += 1
        if self.updates % (self.config.decay_period or self.config.row_counters) == 0:
            self.rows = [[counter // 2 for counter in row] for row in self.rows]

    def degree(self, lpn: int) -> int:
        return min(row[column] for row, column in zip(self.rows, self.columns(lpn), strict=True))

    def group(self, lpn: int) -> int:
        """The page's hotness group, 1 to g; 0 if it is not hot."""
        return sum(threshold <= self.degree(lpn) for threshold in self.config.thresholds)
