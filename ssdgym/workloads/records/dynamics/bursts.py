"""Bursts: how unevenly requests arrive over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssdgym.types import IntArray

#: The shortest window in which arrivals are counted; all others are multiples of it.
FINEST_NS = 100_000_000
#: Windows, in units of the shortest, for which the index of dispersion is told.
_TOLD = {"0.1s": 1, "1s": 10, "10s": 100}
_OCTAVES = 40
#: A figure over fewer whole windows is none.
_FEWEST_WINDOWS = 10
#: Windows that a variance needs to count in the estimate of the Hurst exponent, and points of its line.
_FEWEST_WINDOWS_FITTED = 32
_FEWEST_POINTS = 4


@dataclass(frozen=True)
class Bursts:
    """How bursty arrivals are.

    Counts are those of whole windows that follow each other from the first arrival on; the part of a window
    in which the last arrival lies is left out.

    Attributes:
        dispersion: index of dispersion, the variance of the counts over their mean, by width of the window;
            1 for independent arrivals. `None` of fewer than 10 windows.
        peak_to_mean: largest count over the mean, likewise.
        hurst: estimate of the Hurst exponent by aggregated variance: half of one more than the slope of
            log(dispersion) over log(width), by least squares over all widths of 0.1 s times a power of two
            that have 32 windows or more. 0.5 for independent arrivals; `None` of fewer than four widths.
    """

    dispersion: dict[str, float | None]
    peak_to_mean: dict[str, float | None]
    hurst: float | None


class ArrivalCounts:
    """Counts of arrivals in windows of many widths; the memory does not grow."""

    def __init__(self) -> None:
        """Start before the first arrival."""
        self._last = 0
        self._told = {name: _Windows(units) for name, units in _TOLD.items()}
        self._octaves = [_Windows(1 << octave) for octave in range(_OCTAVES)]

    def add(self, arrivals: IntArray) -> None:
        """Count arrivals in ns since the first, none before the one in front of it, shape (n,), n > 0."""
        window = arrivals // FINEST_NS
        starts = np.flatnonzero(np.diff(window, prepend=window[0] - 1))
        window, counts = window[starts], np.diff(starts, append=len(arrivals))
        self._last = int(window[-1])
        for windows in (*self._told.values(), *self._octaves):
            windows.add(window, counts)

    def bursts(self) -> Bursts:
        """Return how bursty the arrivals so far are."""
        return Bursts(
            dispersion={name: windows.dispersion(_FEWEST_WINDOWS) for name, windows in self._told.items()},
            peak_to_mean={name: windows.peak_to_mean() for name, windows in self._told.items()},
            hurst=self._hurst(),
        )

    def _hurst(self) -> float | None:
        points = [windows.dispersion(_FEWEST_WINDOWS_FITTED) for windows in self._octaves]
        # A dispersion of 0, of arrivals as regular as a clock, has no logarithm.
        logs = np.array([(octave, np.log2(value)) for octave, value in enumerate(points) if value])
        if len(logs) < _FEWEST_POINTS:
            return None
        slope = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
        return float((1 + slope) / 2)


class _Windows:
    """Moments of the counts in windows of one width; a window counts once a later one has an arrival."""

    def __init__(self, units: int) -> None:
        self._units = units
        self._number = 0
        self._count = 0
        self._sum = 0
        self._squares = 0.0
        self._most = 0

    def add(self, window: IntArray, counts: IntArray) -> None:
        """Count arrivals by number of the shortest window, rising, shape (n,), n > 0."""
        number = window // self._units
        starts = np.flatnonzero(np.diff(number, prepend=self._number))
        if not len(starts):
            self._count += int(counts.sum())
            return
        sums = np.add.reduceat(counts, starts)
        whole = np.append(self._count + counts[: starts[0]].sum(), sums[:-1])
        self._sum += int(whole.sum())
        self._squares += float(whole.astype(float) @ whole)
        self._most = max(self._most, int(whole.max()))
        self._number, self._count = int(number[-1]), int(sums[-1])

    def dispersion(self, fewest: int) -> float | None:
        """Return variance over mean of the whole windows, of which there must be at least `fewest`."""
        if self._number < fewest:
            return None
        mean = self._sum / self._number
        return max(self._squares / self._number - mean * mean, 0.0) / mean

    def peak_to_mean(self) -> float | None:
        """Return the largest count over the mean."""
        return None if self._number < _FEWEST_WINDOWS else self._most * self._number / self._sum
