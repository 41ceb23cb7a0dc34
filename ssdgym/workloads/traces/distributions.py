"""Distributions of sizes, pages and gaps in a trace, counted in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.addresses import mixed

_FEW = 1 << 16


class KeyCounts:
    """Counts per number; the memory grows with the different numbers, not with those counted.

    Of more than `most` numbers every second one is left out by a hash of it, and so on: each is counted in
    full or not at all, however they come (spatial sampling, as in Waldspurger et al., "Efficient MRC
    Construction with SHARDS", FAST 2015, section 3). Where a few numbers make up much of all counts, a
    sample may miss some of them or weigh them more.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._halvings = 0
        self._keys, self._counts = np.zeros((2, 0), np.int64)
        self._pending: list[tuple[IntArray, IntArray]] = []
        self._pending_keys = 0

    @property
    def sampled_share(self) -> float:
        """Share of the different numbers that are counted; 1 is all."""
        return 0.5**self._halvings

    def add(self, keys: IntArray) -> None:
        """Count every number of `keys` once more, shape (n,)."""
        if self._halvings:
            keys = keys[self._is_sampled(keys)]
        different, counts = np.unique(keys, return_counts=True)
        self._pending.append((different.astype(np.int64), counts.astype(np.int64)))
        self._pending_keys += len(different)
        # Merging only what has grown as large as the rest keeps the total work near n log n.
        if self._pending_keys > max(len(self._keys), _FEW):
            self.items()

    def items(self) -> tuple[IntArray, IntArray]:
        """Return the different numbers in order, and how often each was counted, shape (numbers,)."""
        parts = [(self._keys, self._counts), *self._pending]
        self._pending, self._pending_keys = [], 0
        self._keys, self._counts = _summed(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        while self._most is not None and len(self._keys) > self._most:
            self._halvings += 1
            kept = self._is_sampled(self._keys)
            self._keys, self._counts = self._keys[kept], self._counts[kept]
        return self._keys, self._counts

    def _is_sampled(self, keys: IntArray) -> BoolArray:
        sampled: BoolArray = mixed(keys) >> np.uint64(64 - self._halvings) == 0
        return sampled


def _summed(keys: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different keys in order, and the sum of the counts of each."""
    # The parts are sorted, which a stable sort makes use of.
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return keys[first], np.add.reduceat(counts, first) if len(first) else counts


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
        both = zip((self.values, self.counts), (other.values, other.counts), strict=True)
        return Distribution(*_summed(*(np.concatenate(column) for column in both)))

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


#: How far `log_bins` moves a value at most, as a share of it.
RELATIVE_ERROR = 1 / 256
_PER_OCTAVE = 128


def log_bins(values: IntArray) -> IntArray:
    """Move values from 0 to 2**63 - 1 to the middle of their bin, 128 an octave from 256 up, shape (n,)."""
    shift = np.maximum(np.frexp(values.astype(float))[1].astype(np.int64) - 8, 0)
    # Large numbers just below a power of two are rounded up to it as floats.
    shift -= (shift > 0) & (values >> shift < _PER_OCTAVE)
    return (values >> shift << shift) + ((1 << shift) - 1) // 2


_EXPANDED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Skew:
    """The shape of the writes per written page.

    Attributes:
        writes: of the pages counted, from the most to the least written, shape (pages,).
        sampled_share: share of the written pages that were counted; 1 is all.
    """

    writes: IntArray
    sampled_share: float

    def share_of_top(self, page_share: float) -> float | None:
        """Return the share of all page writes that go to the most written `page_share` of written pages.

        Part of a page counts in part. `None` if nothing is written.
        """
        if not len(self.writes):
            return None
        pages, writes = self.curve()
        return float(np.interp(page_share, pages, writes))

    def curve(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the Lorenz curve, most written first: shares of pages and of writes, from 0 to 1."""
        total = np.concatenate([[0.0], np.cumsum(self.writes, dtype=np.float64)])
        return np.linspace(0, 1, len(total)), total / total[-1]

    def as_dict(self) -> dict[str, float | None]:
        """Return the figures for JSON."""
        return {
            "top_1_percent_share": self.share_of_top(0.01),
            "top_10_percent_share": self.share_of_top(0.1),
            "top_20_percent_share": self.share_of_top(0.2),
            "written_once_share": self.written_once,
            "sampled_share": self.sampled_share,
        }

    @property
    def written_once(self) -> float | None:
        """Share of the written pages that are written only once; `None` if nothing is written."""
        return float(np.count_nonzero(self.writes == 1) / len(self.writes)) if len(self.writes) else None


def expanded(first: IntArray, pages: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the numbers of all pages of ranges, and to which range each belongs, some ranges at a time."""
    ends = np.cumsum(pages)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_EXPANDED_AT_ONCE, total, _EXPANDED_AT_ONCE))
    for ranges in np.split(np.arange(len(pages)), cuts):
        count = pages[ranges]
        start = np.cumsum(count) - count
        numbers = np.repeat(first[ranges] - start, count) + np.arange(count.sum())
        yield numbers, np.repeat(ranges, count)
