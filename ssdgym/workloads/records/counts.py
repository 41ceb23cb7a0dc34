"""Counts of whole numbers, with percentiles and histograms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssdgym.types import BoolArray, IntArray

_FEW = 1 << 16


class KeyCounts:
    """Counts per number; the memory grows with the different numbers, not with those counted."""

    def __init__(self) -> None:
        """Start with no number."""
        self._keys = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._pending: list[tuple[IntArray, IntArray]] = []
        self._pending_keys = 0

    def add(self, keys: IntArray) -> None:
        """Count every number of `keys` once more, shape (n,)."""
        different, counts = np.unique(keys, return_counts=True)
        self._pending.append((different.astype(np.int64), counts.astype(np.int64)))
        self._pending_keys += len(different)
        # Merging only what has grown as large as the rest keeps the total work near n log n.
        if self._pending_keys > max(len(self._keys), _FEW):
            self.merge()

    @property
    def merged_keys(self) -> int:
        """How many different numbers there are, but for the latest, which `merge` has not sorted in yet."""
        return len(self._keys)

    def items(self) -> tuple[IntArray, IntArray]:
        """Return the different numbers in order, and how often each was counted, shape (numbers,)."""
        self.merge()
        return self._keys, self._counts

    def keep(self, is_kept: Callable[[IntArray], BoolArray]) -> None:
        """Forget the numbers for which `is_kept` is False."""
        keys, counts = self.items()
        kept = is_kept(keys)
        self._keys, self._counts = keys[kept], counts[kept]

    def merge(self) -> None:
        """Sort the latest numbers into the others."""
        if not self._pending:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._pending)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._pending)])
        self._pending, self._pending_keys = [], 0
        # The parts are sorted, which a stable sort makes use of.
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        first = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
        self._keys, self._counts = keys[first], np.add.reduceat(counts, first) if len(first) else counts


@dataclass(frozen=True)
class Distribution:
    """How often each of some values was seen.

    Attributes:
        values: in order, none twice, shape (n,).
        counts: how often each was seen, shape (n,).
    """

    values: IntArray
    counts: IntArray

    def __add__(self, other: Distribution) -> Distribution:
        """Return what both have seen together."""
        values, position = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, position, np.concatenate([self.counts, other.counts]))
        return Distribution(values, counts)

    @property
    def total(self) -> int:
        """How many values were seen, with repetitions."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """Their mean; `None` if none was seen."""
        return float(self.values.astype(float) @ self.counts) / self.total if self.total else None

    def percentile(self, percent: float) -> int | None:
        """Return the smallest value that at least `percent` % of the values do not exceed (nearest rank)."""
        if not self.total:
            return None
        rank = max(int(np.ceil(percent / 100 * self.total)), 1)
        return int(self.values[np.searchsorted(np.cumsum(self.counts), rank)])

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "mean": self.mean,
            **{f"p{percent}": self.percentile(percent) for percent in (50, 90, 99)},
            "max": self.percentile(100),
            "histogram": [
                {"from": first, "below": end, "requests": count} for first, end, count in self.octaves()
            ],
        }

    def octaves(self) -> list[tuple[int, int, int]]:
        """Return a histogram by powers of two: per bin its first value, the end of its values, its count."""
        # frexp gives the exponent of the power of two above; 0 has a bin of its own.
        exponents = np.frexp(self.values.astype(float))[1]
        counts = np.bincount(exponents, weights=self.counts) if len(exponents) else np.zeros(0)
        return [
            (2 ** (exponent - 1) if exponent else 0, 2**exponent, int(count))
            for exponent, count in enumerate(counts.tolist())
            if count
        ]


class LogHistogram:
    """Counts of times, in ns, in bins that grow with them.

    The middle of a bin is within 1/256 (0.4 %) of every value in it; values below 256 have a bin each.
    """

    RELATIVE_ERROR = 1 / 256
    _PER_OCTAVE = 128

    def __init__(self) -> None:
        """Start with no time."""
        self._counts = np.zeros(57 * self._PER_OCTAVE, np.int64)
        self.sum = 0
        self.max = 0

    def add(self, values: IntArray) -> None:
        """Count values from 0 to 2**63 - 1, shape (n,)."""
        if not len(values):
            return
        shift = np.maximum(np.frexp(values.astype(float))[1] - 8, 0)
        # Large numbers just below a power of two are rounded up to it as floats.
        shift -= (shift > 0) & (values >> shift < self._PER_OCTAVE)
        bins = shift * self._PER_OCTAVE + (values >> shift)
        self._counts += np.bincount(bins, minlength=len(self._counts))
        self.sum += int(values.sum())
        self.max = max(self.max, int(values.max()))

    def distribution(self) -> Distribution:
        """Return the counts, each with the middle of its bin as the value."""
        number = np.flatnonzero(self._counts)
        shift = np.maximum(number // self._PER_OCTAVE - 1, 0)
        low = (number - shift * self._PER_OCTAVE) << shift
        return Distribution(low + ((1 << shift) - 1) // 2, self._counts[number])
