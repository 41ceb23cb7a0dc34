"""Arrivals in bursts within bursts: a binomial cascade, also called b-model.

The span is halved again and again, and of the requests in each half, one half of it, at random, gets a share
b in the mean, the other the rest (Wang et al., "Data Mining Meets Performance Evaluation: Fast Algorithms for
Modeling Bursty Traffic", ICDE 2002). With s = b^2 + (1 - b)^2, n requests have in windows of 1 / 2^k of the
span the index of dispersion 1 - s^k + n (s^k - 2^-k), from which b is solved.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.types import IntArray
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.synthetic.sizes import bisect

SECOND_NS = 1e9
#: Within spans up to this, requests are spread evenly: 1 ms, about the time of one access to a disk.
_FINEST_NS = 1_000_000
_DIGITS = 9


def dispersion_of(bias: float, requests: int, halvings: float) -> float:
    """Return the index of dispersion in windows of 1 / 2 ** halvings of the span.

    Args:
        bias: share of the requests that one half of each span gets, 0.5 to 1.
        requests: how many in all.
        halvings: how often the span is halved; need not be whole.
    """
    kept = (bias**2 + (1 - bias) ** 2) ** halvings
    return 1 - kept + requests * (kept - 0.5**halvings)


def bias_of(dispersion: float, requests: int, duration_ns: float) -> float | None:
    """Return the bias with which the index of dispersion at 1 s comes out; None if none does.

    Args:
        dispersion: wanted.
        requests: how many in all.
        duration_ns: from the first arrival to the last.
    """
    halvings = np.log2(duration_ns / SECOND_NS)
    if halvings <= 0 or not 1 <= dispersion <= dispersion_of(1.0, requests, halvings):
        return None
    return round(bisect(lambda bias: dispersion_of(bias, requests, halvings) - dispersion, 0.5, 1.0), _DIGITS)


class Cascade:
    """Arrivals of a cascade, the first at 0 and the last at the end; its memory does not grow."""

    def __init__(self, requests: int, duration_ns: int, bias: float, rng: np.random.Generator) -> None:
        """Start at 0.

        Args:
            requests: how many, at least 2.
            duration_ns: from the first to the last.
            bias: share of the requests that one half of each span gets.
            rng: draws for these arrivals alone.
        """
        self._rng = rng
        self._bias = bias
        self._end_ns = duration_ns
        self._made = np.zeros(1, np.int64)
        # Spans that are not split yet, the earliest last: start, width, requests.
        self._spans = [(0, duration_ns, requests - 2)]

    def next(self, count: int) -> IntArray:
        """Return the next times in ns, shape (count,), none below the one before."""
        parts, have = [self._made], len(self._made)
        while have < count and self._spans:
            parts.append(self._within(*self._next_span()))
            have += len(parts[-1])
        if have < count:
            parts.append(np.full(1, self._end_ns))
        made = np.concatenate(parts)
        self._made = made[count:].copy()
        return made[:count]

    def _next_span(self) -> tuple[int, int, int]:
        """Return the earliest span, of few requests."""
        start, width, count = self._spans.pop()
        while count > CHUNK and width > _FINEST_NS:
            half = width // 2
            left = int(self._rng.binomial(count, self._shares(1)[0]))
            self._spans.append((start + half, width - half, count - left))
            width, count = half, left
        return start, width, count

    def _shares(self, spans: int) -> npt.NDArray[np.float64]:
        """Return the share of its requests that the first half of each span gets, shape (spans,)."""
        return np.where(self._rng.random(spans) < 0.5, self._bias, 1 - self._bias)

    def _within(self, start_ns: int, width_ns: int, count: int) -> IntArray:
        """Return the times in a span, all its halves split at once, shape (count,)."""
        start, width, counts = (np.array([value], np.int64) for value in (start_ns, width_ns, count))
        times = []
        while len(start):
            is_even = (counts <= 1) | (width <= _FINEST_NS)
            lows, widths = (np.repeat(values[is_even], counts[is_even]) for values in (start, width))
            times.append(lows + (self._rng.random(len(lows)) * widths).astype(np.int64))
            start, width, counts = start[~is_even], width[~is_even], counts[~is_even]
            left = self._rng.binomial(counts, self._shares(len(counts)))
            half = width // 2
            start, width = np.append(start, start + half), np.append(half, width - half)
            counts = np.append(left, counts - left)
        return np.sort(np.concatenate(times))
