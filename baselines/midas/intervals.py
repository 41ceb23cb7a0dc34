"""The update interval distribution: how long pages live until they are written again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

#: Units of an epoch in which bin 0 is counted over all pages, where only a sample of the pages is timed.
COUNTED_UNITS = 10


def unit_of(pages_per_block: int) -> int:
    """Return the width of a bin at the start, in host pages: a quarter of a block, rounded up."""
    return -(-pages_per_block // 4)


def corrected(
    counts: np.ndarray, once: int, unsampled: int = 0, sample: int = 1, counted_units: int = COUNTED_UNITS
) -> np.ndarray:
    """Return the histogram of an epoch, with what the end of the epoch has cut off.

    Args:
        counts: intervals of timed pages by bin, shape (T,), whole numbers.
        once: timed pages that were written once in the epoch; their interval is as long as the epoch.
        unsampled: intervals of bin 0 over all pages, in `counted_units` units of the epoch.
        sample: one page in so many is timed; 1: `unsampled` is not needed.
        counted_units: in how many units `unsampled` was counted.

    Returns:
        Intervals by bin, shape (T,), int64.
    """
    counts = np.array(counts, np.int64)
    bins = len(counts)
    counts[-1] += once
    if sample > 1:
        counts[0] = unsampled * bins // counted_units // sample
    i = np.arange(1, bins)
    left = ((bins % i) * 2 + i) / (2 * i)
    counts[1:] += np.floor(counts[1:] * left * i / bins).astype(np.int64)
    return counts


@dataclass(frozen=True, eq=False)
class Intervals:
    """A histogram of intervals, and its sums up to each bin.

    Attributes:
        counts: intervals by bin, shape (T,); bin `j` begins at `j * width`.
        width: of a bin, in blocks of host pages.
    """

    counts: np.ndarray
    width: float

    @property
    def bins(self) -> int:
        """T, the number of bins."""
        return len(self.counts)

    @cached_property
    def upto(self) -> np.ndarray:
        """Intervals of all bins before one, shape (T + 1,) float64."""
        return _sums(self.counts)

    @cached_property
    def summed_upto(self) -> np.ndarray:
        """The sum of `upto` behind each bin, over all bins before one, shape (T + 1,) float64."""
        return _sums(self.upto[1:])

    @cached_property
    def length_upto(self) -> np.ndarray:
        """The sum of the intervals of all bins before one, in blocks, shape (T + 1,) float64."""
        return _sums(self.counts * (np.arange(self.bins) * self.width))

    def first_from(self, blocks: np.ndarray) -> np.ndarray:
        """Return the first bin that begins at this length or later, T if there is none or no such length."""
        return np.fmin(np.ceil(blocks / self.width), self.bins).astype(np.int64)


def _sums(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
