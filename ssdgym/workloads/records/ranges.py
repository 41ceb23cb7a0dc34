"""A union of ranges of addresses, gathered piece by piece."""

from __future__ import annotations

import numpy as np

from ssdgym.types import IntArray

_FEW = 1 << 16


class RangeSet:
    """The union of half-open ranges of integers.

    Its memory grows with the number of separate ranges, not with the number of those added.
    """

    def __init__(self) -> None:
        """Start with no range."""
        self._merged = _nothing()
        self._pending: list[tuple[IntArray, IntArray]] = []
        self._pending_ranges = 0

    def add(self, start: IntArray, end: IntArray) -> None:
        """Add the ranges `start[i]..end[i]-1`; empty ones are allowed.

        Args:
            start: shape (n,).
            end: shape (n,).
        """
        start, end = _union(start[start < end], end[start < end])
        self._pending.append((start, end))
        self._pending_ranges += len(start)
        # Merging only what has grown as large as the rest keeps the total work near n log n.
        if self._pending_ranges > max(len(self._merged[0]), _FEW):
            self._merge()

    def ranges(self) -> tuple[IntArray, IntArray]:
        """Return the separate ranges in order: starts and ends, shape (ranges,)."""
        self._merge()
        return self._merged

    def size(self) -> int:
        """Return how many integers the ranges hold."""
        start, end = self.ranges()
        return int((end - start).sum())

    def _merge(self) -> None:
        if self._pending:
            parts = [self._merged, *self._pending]
            self._pending, self._pending_ranges, self._merged = [], 0, _nothing()
            self._merged = _union(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))


def _nothing() -> tuple[IntArray, IntArray]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _union(start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return the union of ranges that are not empty, as separate ranges in order."""
    if not len(start):
        return _nothing()
    order = np.argsort(start, kind="stable")
    start = start[order]
    end = np.maximum.accumulate(end[order])
    opens = np.ones(len(start), bool)
    opens[1:] = start[1:] > end[:-1]
    first = np.flatnonzero(opens)
    return start[first], end[np.append(first[1:], len(start)) - 1]
