"""Statistics of a trace over time: bursts of arrivals, lifetimes of writes, runs of operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.types import IntArray
from ssdgym.workloads.traces.distributions import Merging, expanded

#: Length of the shortest windows in which arrivals are counted; other windows are multiples of it.
FINEST_NS = 100_000_000
#: Windows for which the index of dispersion is reported: their lengths in units of `FINEST_NS`.
_REPORTED = {"0.1s": 1, "1s": 10, "10s": 100}
_OCTAVES = 40
#: Fewest whole windows for a statistic.
_FEWEST_WINDOWS = 10
#: Fewest windows of each width, and fewest widths, for an estimate of the Hurst exponent.
_FEWEST_WINDOWS_FITTED = 32
_FEWEST_POINTS = 4


@dataclass(frozen=True)
class Bursts:
    """Statistics of bursts of arrivals.

    Arrivals are counted in consecutive windows, which begin at the first arrival; the last window, which is
    incomplete, is left out.

    Attributes:
        dispersion: index of dispersion (variance of the counts / their mean) by width of the window. It is 1
            for independent arrivals, and `None` for fewer than 10 windows.
        peak_to_mean: largest count / mean count, by width of the window; `None` for fewer than 10 windows.
        hurst: estimate of the Hurst exponent by aggregated variance: (1 + slope) / 2, where the slope of
            log(dispersion) over log(width) is fitted by least squares. Widths are 0.1 s times powers of two,
            with at least 32 windows. It is 0.5 for independent arrivals, `None` for fewer than 4 widths.
    """

    dispersion: dict[str, float | None]
    peak_to_mean: dict[str, float | None]
    hurst: float | None


def bursts_of(windows: IntArray, counts: IntArray) -> Bursts:
    """Return the statistics of bursts.

    Args:
        windows: numbers, rising from 0, of the windows of `FINEST_NS` that have arrivals, shape (n,).
        counts: number of arrivals in each of the windows, shape (n,).
    """

    def moments(units: int, fewest: int) -> tuple[float, float] | None:
        """Return dispersion and peak / mean in windows of `units` units; None for too few windows."""
        number = windows // units
        whole = int(number[-1]) if len(number) else 0
        if whole < fewest:
            return None
        sums = np.add.reduceat(counts, np.flatnonzero(np.diff(number, prepend=-1)))[:-1]
        mean = int(sums.sum()) / whole
        variance = max(float(sums.astype(float) @ sums) / whole - mean * mean, 0.0)
        return variance / mean, int(sums.max()) * whole / int(sums.sum())

    reported = {name: moments(units, _FEWEST_WINDOWS) for name, units in _REPORTED.items()}
    # A dispersion of 0 (perfectly regular arrivals) is left out, because it has no logarithm.
    fitted = [(octave, moments(1 << octave, _FEWEST_WINDOWS_FITTED)) for octave in range(_OCTAVES)]
    logs = np.array([(octave, np.log2(found[0])) for octave, found in fitted if found and found[0]])
    return Bursts(
        dispersion={name: found and found[0] for name, found in reported.items()},
        peak_to_mean={name: found and found[1] for name, found in reported.items()},
        hurst=None
        if len(logs) < _FEWEST_POINTS
        else float((1 + np.polyfit(logs[:, 0], logs[:, 1], 1)[0]) / 2),
    )


#: Most writes that are followed (kept until their pages are overwritten) at the same time.
MOST_FOLLOWED = 1 << 20
_CLASSES = 64


@dataclass(frozen=True)
class Lives:
    """Correlation of the lives of consecutive writes.

    The life of a write is the number of write requests until its first page is written again. Pairs are the
    first and the second write, the third and the fourth, and so on. Only pairs of two overwritten writes
    count.

    Attributes:
        correlation: Pearson correlation of the logarithms of the two lives of a pair. It is near 0 for
            independent requests, and `None` for fewer than 10 pairs or if all lives are equal.
        pairs: number of pairs that count.
        sampled_share: share of all pairs that were followed; 1 means all.
    """

    correlation: float | None
    pairs: int
    sampled_share: float


class WriteLives(Merging):
    """Follows pairs of writes until both are overwritten, in bounded memory.

    If more than `most_followed` writes are followed, every second pair is dropped; this repeats as necessary.
    The sums for the correlation are kept by class: the exponent of the largest power of two that divides the
    number of a pair. So the result leaves out all dropped pairs, also those whose writes ended earlier.
    """

    def __init__(self, most_followed: int = MOST_FOLLOWED) -> None:
        # Merged pairs are the first page and the key of each followed write that is not overwritten yet. A
        # key is twice the number of the write, plus 1 for the first page of the write.
        super().__init__()
        self._most_followed = most_followed
        self._writes = 0
        self._halvings = 0
        # Number and life of the overwritten writes whose pair has another write that is not overwritten yet.
        self._ended, self._lives = np.zeros((2, 0), np.int64)
        self._sums = np.zeros((_CLASSES, 6))

    def add(self, first: IntArray, pages: IntArray) -> None:
        """Add the next writes; write i covers the pages `first[i]` to `first[i] + pages[i] - 1`."""
        numbers = self._writes + np.arange(len(first))
        self._writes += len(first)
        for page, position in expanded(first, pages):
            self._add(np.stack([page, numbers[position] * 2 + (page == first[position])]))

    def lives(self) -> Lives:
        """Return the correlation of lives for all writes so far."""
        self._merge()
        pairs, a, b, aa, bb, ab = self._sums[self._halvings :].sum(axis=0)
        share = 0.5**self._halvings
        if pairs < 10:
            return Lives(None, int(pairs), share)
        spread = (aa - a * a / pairs) * (bb - b * b / pairs)
        together = ab - a * b / pairs
        return Lives(float(together / np.sqrt(spread)) if spread > 1e-9 else None, int(pairs), share)

    def _joined(self, pairs: IntArray) -> IntArray:
        """End the writes whose first page is overwritten; return the pairs of all other followed writes."""
        pages, keys = pairs[:, np.lexsort(pairs[::-1])]
        ends = np.append(pages[1:] == pages[:-1], False)
        numbers, counts = keys >> 1, (keys & 1 == 1) & self._is_followed(keys >> 1)
        over, living = ends & counts, ~ends & counts
        lives = np.roll(numbers, -1)[over] - numbers[over]
        self._end(numbers[over], lives)
        alive = np.stack([pages, keys])[:, living]
        while alive.shape[1] + len(self._ended) > self._most_followed:
            self._halvings += 1
            waits = self._is_followed(self._ended)
            self._ended, self._lives = self._ended[waits], self._lives[waits]
            alive = alive[:, self._is_followed(alive[1] >> 1)]
        return alive

    def _end(self, numbers: IntArray, lives: IntArray) -> None:
        """Add pairs whose writes are both overwritten to the sums; keep other overwritten writes."""
        numbers, lives = np.append(self._ended, numbers), np.append(self._lives, lives)
        order = np.argsort(numbers)
        numbers, lives = numbers[order], lives[order]
        left = np.flatnonzero(np.diff(numbers >> 1) == 0)
        a, b = np.log(lives[left]), np.log(lives[left + 1])
        moments = np.stack([np.ones(len(left)), a, b, a * a, b * b, a * b], axis=1)
        np.add.at(self._sums, _trailing_zeros(numbers[left] >> 1), moments)
        waits = np.ones(len(numbers), bool)
        waits[left] = waits[left + 1] = False
        self._ended, self._lives = numbers[waits], lives[waits]

    def _is_followed(self, numbers: IntArray) -> npt.NDArray[np.bool_]:
        return (numbers >> 1) & ((1 << self._halvings) - 1) == 0


def _trailing_zeros(numbers: IntArray) -> IntArray:
    """Return the exponent of the largest power of two that divides each number; `_CLASSES - 1` for 0."""
    lowest = numbers & -numbers
    return np.where(numbers == 0, _CLASSES - 1, np.frexp(lowest.astype(float))[1] - 1)


@dataclass(frozen=True)
class Runs:
    """Statistics of runs (consecutive reads, or consecutive writes); trims and flushes are skipped.

    Attributes:
        mean: mean number of requests per run; `None` if there are neither reads nor writes.
        independent: approximate mean number of requests per run if the requests were in random order; `None`
            if there are no reads or no writes.
    """

    mean: float | None
    independent: float | None

    @classmethod
    def of(cls, reads: int, writes: int, runs: int) -> Runs:
        """Return the statistics from the numbers of reads, writes and runs."""
        both = reads + writes
        # In random order of r reads and w writes (n in all), neighbours differ with probability 2rw / n(n-1).
        return cls(
            mean=both / runs if both else None,
            independent=both / (1 + 2 * reads * writes / both) if reads and writes else None,
        )

    @property
    def persistence(self) -> float | None:
        """1 - (changes between reads and writes) / (changes in a random order); None if not defined."""
        if self.mean is None or self.independent is None:
            return None
        return 1 - self.independent / self.mean
