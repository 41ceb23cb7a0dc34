"""Arrival times and number of requests of generated workloads."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from ssdgym.requests import Requests
from ssdgym.types import FloatArray, IntegerArray
from ssdgym.workloads.base import NO_REQUESTS, RequestStream, Source, WorkloadConfig, seeds_of

Number = Annotated[int, Field(ge=1, lt=2**31)]


class PacedConfig(WorkloadConfig):
    """Fields of all generated workloads: the number of requests and their arrival times."""

    requests: PositiveInt | None = Field(None, description="Requests in the workload; null: it never ends.")
    interarrival_ns: float = Field(
        0.0,
        ge=0,
        le=1e12,
        description="Mean time between arrivals in ns; 0: all at once. Closed loop ignores it.",
    )
    arrivals: Literal["constant", "poisson", "bursts"] = Field(
        "constant",
        description="Gaps between arrivals: all equal; exponentially distributed; or short within bursts"
        " and exponentially distributed between them.",
    )
    burst_requests: float | None = Field(
        None, gt=1, le=1e9, description="Mean requests per burst; their number is geometrically distributed."
    )
    burst_interarrival_ns: float = Field(
        0.0, ge=0, le=1e12, description="Time between two arrivals of the same burst in ns."
    )

    @model_validator(mode="after")
    def _bursts_fit(self) -> PacedConfig:
        if self.arrivals != "bursts":
            if self.burst_requests is not None or self.burst_interarrival_ns:
                raise ValueError(
                    "sets burst_requests or burst_interarrival_ns, which need arrivals to be bursts"
                )
        elif self.burst_requests is None:
            raise ValueError("needs burst_requests where arrivals is bursts")
        elif self.burst_interarrival_ns >= self.interarrival_ns:
            raise ValueError(
                f"needs burst_interarrival_ns ({self.burst_interarrival_ns:g}) to be below interarrival_ns"
                f" ({self.interarrival_ns:g}), the mean over the gaps within bursts and between them"
            )
        return self

    @property
    def is_endless(self) -> bool:
        """See `WorkloadConfig`."""
        return self.requests is None

    @property
    def has_pace(self) -> bool:
        """See `WorkloadConfig`."""
        return self.interarrival_ns > 0

    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        """See `WorkloadConfig`."""
        pattern_seed, pace_seed = seeds_of(seed).spawn(2)
        source = self.source(logical_pages, page_size, pattern_seed)
        report = partial(self._report, logical_pages, page_size)
        return RequestStream(_Paced(source, self, pace_seed), report)

    def _report(self, logical_pages: int, page_size: int) -> dict[str, int]:
        return {"footprint_pages": self.footprint_pages(logical_pages, page_size)}

    @abstractmethod
    def source(self, logical_pages: int, page_size: int, seed: np.random.SeedSequence) -> Source:
        """Return an endless source of the requests, all with an arrival time of 0.

        Args:
            logical_pages: number of logical pages of the device.
            page_size: bytes per page.
            seed: seed of all draws.

        Raises:
            SsdgymError: the workload does not fit the device.
        """

    @abstractmethod
    def footprint_pages(self, logical_pages: int, page_size: int) -> int:
        """Return the number of logical pages that the workload can access."""


class _Paced:
    """A source that adds arrival times to the requests of another source, and limits their number."""

    def __init__(self, source: Source, config: PacedConfig, seed: np.random.SeedSequence) -> None:
        self._source = source
        self._left = config.requests
        self._clock = _Clock(config, np.random.default_rng(seed))

    def chunk(self) -> Requests:
        if self._left == 0:
            return NO_REQUESTS
        requests = self._source.chunk()[: self._left]
        if self._left is not None:
            self._left -= len(requests)
        requests["arrival_ns"] = self._clock.arrivals(len(requests))
        return requests


class _Clock:
    """Makes arrival times, which begin at 0 and never decrease."""

    def __init__(self, config: PacedConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._arrived = 0
        self._now_ns = 0
        self._fraction_ns = 0.0

    def arrivals(self, count: int) -> IntegerArray:
        """Return the next `count` times in ns, shape (count,)."""
        mean_ns = self._config.interarrival_ns
        match self._config.arrivals:
            case "constant":
                numbers = np.arange(self._arrived, self._arrived + count)
                self._arrived += count
                return (numbers * mean_ns).astype(np.int64)
            case "poisson":
                gaps = np.rint(self._rng.standard_exponential(count) * mean_ns)
            case "bursts":
                gaps = self._burst_gaps(count)
        passed = self._fraction_ns + np.cumsum(gaps)
        whole = np.floor(passed)
        times = self._now_ns + whole.astype(np.int64)
        self._now_ns, self._fraction_ns = int(times[-1]), float(passed[-1] - whole[-1])
        return times

    def _burst_gaps(self, count: int) -> FloatArray:
        """Return the time before each request; every request starts a burst with the same probability."""
        n, within_ns = self._config.burst_requests, self._config.burst_interarrival_ns
        assert n is not None
        gaps = np.full(count, within_ns)
        starts = np.flatnonzero(self._rng.random(count) < 1 / n)
        # On average, a burst of n requests and the gap before it take n mean gaps.
        between_ns = n * self._config.interarrival_ns - (n - 1) * within_ns
        gaps[starts] = self._rng.standard_exponential(len(starts)) * between_ns
        return gaps
