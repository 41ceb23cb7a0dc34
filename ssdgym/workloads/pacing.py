"""When requests arrive, how many there are, and the flushes between them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ssdgym.config.generated import PacedConfig
from ssdgym.requests import FLUSH, WRITE, Requests
from ssdgym.workloads.addresses import IntArray
from ssdgym.workloads.chunks import NO_REQUESTS, Source


class Paced:
    """Gives the accesses of a source their arrival times, ends them, and adds flushes."""

    def __init__(self, source: Source, config: PacedConfig, seed: np.random.SeedSequence) -> None:
        self._source = source
        self._left = config.requests
        self._clock = _clock(config, np.random.Generator(np.random.PCG64(seed)))
        self._flush_every = config.flush_every
        self._writes = 0

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        if self._left == 0:
            return NO_REQUESTS
        requests = self._source.chunk()[: self._left]
        if self._left is not None:
            self._left -= len(requests)
        requests["arrival_ns"] = self._clock.arrivals(len(requests))
        return requests if self._flush_every is None else self._with_flushes(requests, self._flush_every)

    def _with_flushes(self, requests: Requests, every: int) -> Requests:
        is_write = requests["op"] == WRITE
        writes = self._writes + np.cumsum(is_write)
        self._writes = int(writes[-1])
        is_due = is_write & (writes % every == 0)
        copies = 1 + is_due
        result = np.repeat(requests, copies)
        flushes = (np.cumsum(copies) - 1)[is_due]
        for field, value in (("op", FLUSH), ("lpn", 0), ("pages", 0), ("flags", 0)):
            result[field][flushes] = value
        return result


def _clock(config: PacedConfig, rng: np.random.Generator) -> _Clock:
    match config.arrivals:
        case "constant":
            return _Constant(config.interarrival_ns)
        case "poisson":
            return _Poisson(config.interarrival_ns, rng)
        case "bursts":
            return _Bursts(config, rng)


class _Clock(Protocol):
    """Arrival times, from 0 upwards."""

    def arrivals(self, count: int) -> IntArray:
        """Return the next `count` times in ns, shape (count,), none below the one before."""


class _Constant:
    """The same gap between all arrivals; fractions of a nanosecond add up."""

    def __init__(self, gap_ns: float) -> None:
        self._gap_ns = gap_ns
        self._arrived = 0

    def arrivals(self, count: int) -> IntArray:
        numbers = np.arange(self._arrived, self._arrived + count)
        self._arrived += count
        return (numbers * self._gap_ns).astype(np.int64)


class _Poisson:
    """Gaps are exponentially distributed."""

    def __init__(self, mean_ns: float, rng: np.random.Generator) -> None:
        self._mean_ns = mean_ns
        self._rng = rng
        self._now_ns = 0

    def arrivals(self, count: int) -> IntArray:
        gaps = np.rint(self._rng.standard_exponential(count) * self._mean_ns).astype(np.int64)
        times = self._now_ns + np.cumsum(gaps)
        self._now_ns = int(times[-1])
        return times


class _Bursts:
    """Every request starts a burst with the same probability, so that lengths are geometric."""

    def __init__(self, config: PacedConfig, rng: np.random.Generator) -> None:
        assert config.burst_requests is not None
        self._within_ns = config.burst_interarrival_ns
        # In the mean, a burst of n requests and the gap before it take n gaps of the overall mean.
        n = config.burst_requests
        self._between_ns = n * config.interarrival_ns - (n - 1) * self._within_ns
        self._starts_burst = 1 / n
        self._rng = rng
        self._now_ns = 0
        self._fraction_ns = 0.0

    def arrivals(self, count: int) -> IntArray:
        gaps = np.full(count, self._within_ns)
        starts = np.flatnonzero(self._rng.random(count) < self._starts_burst)
        gaps[starts] = self._rng.standard_exponential(len(starts)) * self._between_ns
        passed = self._fraction_ns + np.cumsum(gaps)
        whole = np.floor(passed)
        times = self._now_ns + whole.astype(np.int64)
        self._now_ns = int(times[-1])
        self._fraction_ns = float(passed[-1] - whole[-1])
        return times
