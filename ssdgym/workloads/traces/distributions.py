"""Distributions of sizes, pages and gaps in a trace, and sets of pages, in little memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.addresses import mixed

_FEW = 1 << 16


class Merging(ABC):
    """Base of collections of pairs of numbers, which are added in batches and merged now and then."""

    def __init__(self) -> None:
        self._merged: IntArray = np.zeros((2, 0), np.int64)
        self._pending: list[IntArray] = []
        self._pending_pairs = 0

    def _add(self, pairs: IntArray) -> None:
        """Add pairs, shape (2, n)."""
        self._pending.append(pairs)
        self._pending_pairs += pairs.shape[1]
        # Merging only once the new pairs are as many as the merged pairs limits all work to about n log n.
        if self._pending_pairs > max(self._merged.shape[1], _FEW):
            self._merge()

    def _merge(self) -> IntArray:
        """Merge all added pairs; return the result, shape (2, n)."""
        if self._pending:
            pairs = np.concatenate([self._merged, *self._pending], axis=1)
            self._pending, self._pending_pairs, self._merged = [], 0, pairs[:, :0]
            self._merged = self._joined(pairs)
        return self._merged

    @abstractmethod
    def _joined(self, pairs: IntArray) -> IntArray:
        """Merge pairs, shape (2, n), of which the first are a former result; return pairs, shape (2, m)."""


class KeyCounts(Merging):
    """Counts how often numbers occur; memory grows only with the number of different numbers.

    If there are more than `most` different numbers, about half of them, chosen by a hash, are dropped; this
    repeats as necessary. The counts of the sampled numbers are complete (spatial sampling, as in Waldspurger
    et al., "Efficient MRC Construction with SHARDS", FAST 2015, section 3). If a few numbers have a large
    part of all counts, the sample may contain too few or too many of these numbers.
    """

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self._most = most
        self._halvings = 0

    @property
    def sampled_share(self) -> float:
        """Approximate share of the different numbers that are sampled; 1 means all."""
        return 0.5**self._halvings

    def add(self, keys: IntArray) -> None:
        """Count the numbers `keys`, shape (n,)."""
        if self._halvings:
            keys = keys[self._is_sampled(keys)]
        self._add(np.array(np.unique(keys, return_counts=True), np.int64))

    def items(self) -> IntArray:
        """Return the sampled numbers in rising order and their counts, shape (2, numbers)."""
        return self._merge()

    def _joined(self, pairs: IntArray) -> IntArray:
        counted = _summed(pairs)
        while self._most is not None and counted.shape[1] > self._most:
            self._halvings += 1
            counted = counted[:, self._is_sampled(counted[0])]
        return counted

    def _is_sampled(self, keys: IntArray) -> BoolArray:
        sampled: BoolArray = mixed(keys) >> np.uint64(64 - self._halvings) == 0
        return sampled


def _summed(pairs: IntArray) -> IntArray:
    """Return the different keys in rising order, and the sum of the counts of each key, shape (2, keys)."""
    # The keys consist of a few sorted parts, for which a stable sort is fast.
    order = np.argsort(pairs[0], kind="stable")
    keys, counts = pairs[0][order], pairs[1][order]
    first = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return np.stack([keys[first], np.add.reduceat(counts, first) if len(first) else counts])


class RangeSet(Merging):
    """The union of half-open ranges of integers.

    Memory grows with the number of separate ranges, not with the number of added ranges.
    """

    def add(self, start: IntArray, end: IntArray) -> None:
        """Add the ranges `start[i]..end[i]-1`, each of shape (n,); ranges can be empty."""
        is_range = start < end
        self._add(self._joined(np.stack([start[is_range], end[is_range]])))

    def ranges(self) -> IntArray:
        """Return the separate ranges in rising order: starts and ends, shape (2, ranges)."""
        return self._merge()

    def size(self) -> int:
        """Return the number of integers in the ranges."""
        start, end = self.ranges()
        return int((end - start).sum())

    def _joined(self, pairs: IntArray) -> IntArray:
        order = np.argsort(pairs[0], kind="stable")
        start, end = pairs[0][order], np.maximum.accumulate(pairs[1][order])
        # A separate range begins where all earlier ranges have ended. It ends at the largest end so far.
        first = np.flatnonzero(np.append(True, start[1:] > end[:-1])[: len(start)])
        return np.stack([start[first], end[np.append(first, len(start))[1:] - 1]])


@dataclass(frozen=True)
class Distribution:
    """A distribution: values and how often each occurs.

    Attributes:
        values: different values in rising order, shape (n,).
        counts: count of each value, shape (n,).
    """

    values: IntArray
    counts: IntArray

    def __add__(self, other: Distribution) -> Distribution:
        """Return a distribution with the sums of the counts of both distributions."""
        both = [(self.values, self.counts), (other.values, other.counts)]
        return Distribution(*_summed(np.concatenate(both, axis=1)))

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """The mean of the values, weighted by their counts; `None` if there are no values."""
        return float(self.values.astype(float) @ self.counts) / self.total if self.total else None

    def percentile(self, percent: float) -> int | None:
        """Return the smallest value that `percent` % of all do not exceed (nearest rank); None if empty."""
        if not self.total:
            return None
        rank = max(int(np.ceil(percent / 100 * self.total)), 1)
        return int(self.values[np.searchsorted(np.cumsum(self.counts), rank)])

    def as_dict(self) -> dict[str, Any]:
        """Return mean, percentiles and histogram for JSON."""
        return {
            "mean": self.mean,
            **{f"p{percent}": self.percentile(percent) for percent in (50, 90, 99)},
            "max": self.percentile(100),
            "histogram": [
                {"from": first, "below": end, "requests": count} for first, end, count in self.octaves()
            ],
        }

    def octaves(self) -> list[tuple[int, int, int]]:
        """Return the bins of a histogram by powers of two: first value, end (exclusive) and count."""
        # frexp returns the exponent of the next larger power of two; the value 0 has a bin of its own.
        exponents = np.frexp(self.values.astype(float))[1]
        counts = np.bincount(exponents, weights=self.counts) if len(exponents) else np.zeros(0)
        return [
            (2 ** (exponent - 1) if exponent else 0, 2**exponent, int(count))
            for exponent, count in enumerate(counts.tolist())
            if count
        ]


#: Largest relative error that `log_bins` makes.
RELATIVE_ERROR = 1 / 256
_PER_OCTAVE = 128


def log_bins(values: IntArray) -> IntArray:
    """Replace values (0 to 2**63 - 1) by the middles of bins, 128 per octave from 256 up; shape (n,)."""
    shift = np.maximum(np.frexp(values.astype(float))[1].astype(np.int64) - 8, 0)
    # A large number just below a power of two is rounded to that power by the conversion to float.
    shift -= (shift > 0) & (values >> shift < _PER_OCTAVE)
    return (values >> shift << shift) + ((1 << shift) - 1) // 2


_EXPANDED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Skew:
    """The distribution of writes over written pages.

    Attributes:
        writes: number of writes of each counted page, in falling order, shape (pages,).
        sampled_share: share of the written pages that were counted; 1 means all.
    """

    writes: IntArray
    sampled_share: float

    def share_of_top(self, page_share: float) -> float | None:
        """Return the share of all page writes that go to the share `page_share` of pages written most.

        The share is interpolated between whole pages. If nothing is written, return `None`.
        """
        if not len(self.writes):
            return None
        pages, writes = self.curve()
        return float(np.interp(page_share, pages, writes))

    def curve(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the Lorenz curve: cumulative shares of pages, most written first, and of their writes.

        Each array has the shape (pages + 1,) and rises from 0 to 1.
        """
        total = np.concatenate([[0.0], np.cumsum(self.writes, dtype=np.float64)])
        return np.linspace(0, 1, len(total)), total / total[-1]

    def as_dict(self) -> dict[str, float | None]:
        """Return the statistics for JSON."""
        return {
            "top_1_percent_share": self.share_of_top(0.01),
            "top_10_percent_share": self.share_of_top(0.1),
            "top_20_percent_share": self.share_of_top(0.2),
            "written_once_share": self.written_once,
            "sampled_share": self.sampled_share,
        }

    @property
    def written_once(self) -> float | None:
        """Share of the written pages that are written exactly once; `None` if nothing is written."""
        return float(np.count_nonzero(self.writes == 1) / len(self.writes)) if len(self.writes) else None


def expanded(first: IntArray, pages: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, in several parts, the numbers of all pages in ranges, and the index of the range of each page.

    Range i has the pages `first[i]` to `first[i] + pages[i] - 1`.
    """
    ends = np.cumsum(pages)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_EXPANDED_AT_ONCE, total, _EXPANDED_AT_ONCE))
    for ranges in np.split(np.arange(len(pages)), cuts):
        count = pages[ranges]
        start = np.cumsum(count) - count
        numbers = np.repeat(first[ranges] - start, count) + np.arange(count.sum())
        yield numbers, np.repeat(ranges, count)
