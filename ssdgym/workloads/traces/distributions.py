"""Distributions of sizes, pages and gaps in a trace, counted in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.addresses import mixed

_FEW = 1 << 16


class KeyCounts:
    """Counts per number; the memory grows with the different numbers, not with those counted."""

    def __init__(self) -> None:
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


#: Pages whose writes are counted one by one; of more, only a sample is.
MOST_PAGES = 1 << 21
_EXPANDED_AT_ONCE = 1 << 20


class PageWrites:
    """Writes per page, of all pages or of a sample of them.

    When there are more than `most_pages`, every second page is forgotten by a hash of its number, and so on:
    each page is counted in full or not at all (spatial sampling, as in Waldspurger et al., "Efficient MRC
    Construction with SHARDS", FAST 2015, section 3). The sample does not depend on the pieces in which
    writes come. Where a few pages take much of all writes, it may miss some of them or weigh them more.
    """

    def __init__(self, most_pages: int = MOST_PAGES) -> None:
        self._most_pages = most_pages
        self._counts = KeyCounts()
        self._halvings = 0

    def add(self, first: IntArray, pages: IntArray) -> None:
        """Count a write of each of the pages `first[i]..first[i] + pages[i] - 1`."""
        for numbers, _ in expanded(first, pages):
            self._counts.add(numbers[self._is_sampled(numbers)] if self._halvings else numbers)
            self._thin()

    def skew(self) -> Skew:
        """Return how uneven the writes so far are."""
        self._counts.merge()
        self._thin()
        return Skew(np.sort(self._counts.items()[1])[::-1], 0.5**self._halvings)

    def _thin(self) -> None:
        while self._counts.merged_keys > self._most_pages:
            self._halvings += 1
            self._counts.keep(self._is_sampled)

    def _is_sampled(self, pages: IntArray) -> BoolArray:
        sampled: BoolArray = mixed(pages) >> np.uint64(64 - self._halvings) == 0
        return sampled


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
