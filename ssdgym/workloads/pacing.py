"""When requests arrive, how many there are, and the flushes between them."""

from __future__ import annotations

import numpy as np

from ssdgym.config.workload import PacedConfig
from ssdgym.workloads.addresses import IntArray
from ssdgym.workloads.chunks import NO_REQUESTS, Source
from ssdgym.workloads.requests import FLUSH, WRITE, Requests


class Paced:
    """Gives the accesses of a source their arrival times, ends them, and adds flushes."""

    def __init__(self, source: Source, config: PacedConfig, seed: np.random.SeedSequence) -> None:
        self._source = source
        self._left = config.requests
        self._clock = _Clock(config, np.random.Generator(np.random.PCG64(seed)))
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


class _Clock:
    """Arrival times in ns, from 0 upwards."""

    def __init__(self, config: PacedConfig, rng: np.random.Generator) -> None:
        self._mean_ns = config.interarrival_ns
        self._is_poisson = config.arrivals == "poisson"
        self._rng = rng
        self._arrived = 0
        self._now_ns = 0

    def arrivals(self, count: int) -> IntArray:
        if self._is_poisson:
            return self._poisson(count)
        numbers = np.arange(self._arrived, self._arrived + count)
        self._arrived += count
        return (numbers * self._mean_ns).astype(np.int64)

    def _poisson(self, count: int) -> IntArray:
        gaps = np.rint(self._rng.standard_exponential(count) * self._mean_ns).astype(np.int64)
        times = self._now_ns + np.cumsum(gaps)
        self._now_ns = int(times[-1])
        return times
