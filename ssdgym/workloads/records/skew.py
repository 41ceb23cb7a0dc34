"""Skew: how unevenly writes are spread over the pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.mixing import mixed
from ssdgym.workloads.records.counts import KeyCounts

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
        """Start with no write; `most_pages` is the largest number of pages that are counted one by one."""
        self._most_pages = most_pages
        self._counts = KeyCounts()
        self._halvings = 0

    def add(self, first: IntArray, pages: IntArray) -> None:
        """Count a write of each of the pages `first[i]..first[i] + pages[i] - 1`.

        Args:
            first: shape (n,).
            pages: shape (n,).
        """
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
    """Yield the numbers of all pages of ranges, and to which range each belongs, some ranges at a time.

    Args:
        first: first page of each range, shape (n,).
        pages: how many each has, shape (n,).
    """
    ends = np.cumsum(pages)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_EXPANDED_AT_ONCE, total, _EXPANDED_AT_ONCE))
    for ranges in np.split(np.arange(len(pages)), cuts):
        count = pages[ranges]
        start = np.cumsum(count) - count
        numbers = np.repeat(first[ranges] - start, count) + np.arange(count.sum())
        yield numbers, np.repeat(ranges, count)
