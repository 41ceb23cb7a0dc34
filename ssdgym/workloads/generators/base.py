"""Base of generated workloads: arrival times, number of requests, and access patterns.

An access pattern is a model with a method `picker`; the picker chooses pages:

    @workload_kind
    class UniformConfig(AccessConfig):
        kind: Literal["uniform"] = "uniform"

        def picker(self, footprint, rng):
            return UniformPicker(footprint, rng)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, TRIM, WRITE, Requests
from ssdgym.types import FloatArray, IntegerArray
from ssdgym.workloads.addresses import Picker, split_at_end
from ssdgym.workloads.base import (
    CHUNK,
    NO_REQUESTS,
    RequestStream,
    Share,
    Source,
    Weight,
    WorkloadConfig,
    seeds_of,
)

Number = Annotated[int, Field(ge=1, lt=2**31)]


class PacedConfig(WorkloadConfig):
    """Fields of all generated workloads: the number of requests and their arrival times."""

    requests: PositiveInt | None = Field(None, description="Number of requests; null: no end.")
    interarrival_ns: float = Field(
        0.0,
        ge=0,
        le=1e12,
        description="Mean time between arrivals in ns; 0: all arrive at time 0. Closed loops ignore it.",
    )
    arrivals: Literal["constant", "poisson", "bursts"] = Field(
        "constant",
        description="Times between arrivals; constant: all equal; poisson: exponentially distributed; bursts:"
        " burst_interarrival_ns within a burst, exponentially distributed between bursts.",
    )
    burst_requests: float | None = Field(
        None, gt=1, le=1e9, description="Mean requests of a burst; their number is geometrically distributed."
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
        """Return an endless source of the requests, whose arrival times are 0.

        Args:
            logical_pages: number of logical pages of the device.
            page_size: bytes per page.
            seed: seed of all random numbers.

        Raises:
            SsdgymError: the workload does not fit the device.
        """

    @abstractmethod
    def footprint_pages(self, logical_pages: int, page_size: int) -> int:
        """Return the number of logical pages that the workload can access."""


class _Paced:
    """A source that adds arrival times to the requests of another source, and limits their number.

    The times never decrease; with `constant`, the first is 0.
    """

    def __init__(self, source: Source, config: PacedConfig, seed: np.random.SeedSequence) -> None:
        self._source = source
        self._config = config
        self._rng = np.random.default_rng(seed)
        self._made = 0
        self._now_ns = 0
        self._fraction_ns = 0.0

    def chunk(self) -> Requests:
        left = None if self._config.requests is None else self._config.requests - self._made
        if left == 0:
            return NO_REQUESTS
        requests = self._source.chunk()[:left]
        requests["arrival_ns"] = self._arrivals(len(requests))
        self._made += len(requests)
        return requests

    def _arrivals(self, count: int) -> IntegerArray:
        """Return the next `count` arrival times in ns, shape (count,)."""
        mean_ns = self._config.interarrival_ns
        match self._config.arrivals:
            case "constant":
                return (np.arange(self._made, self._made + count) * mean_ns).astype(np.int64)
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
        """Return the time in ns before each request; a request starts a burst with probability 1 / n."""
        n, within_ns = self._config.burst_requests, self._config.burst_interarrival_ns
        assert n is not None
        gaps = np.full(count, within_ns)
        starts = np.flatnonzero(self._rng.random(count) < 1 / n)
        # A burst has n requests on average; the gap before it and its n - 1 gaps sum to n * interarrival_ns.
        between_ns = n * self._config.interarrival_ns - (n - 1) * within_ns
        gaps[starts] = self._rng.standard_exponential(len(starts)) * between_ns
        return gaps


def as_size_weights(value: Any) -> Any:
    """Convert a number, the only size, to a mapping from sizes to weights; return a mapping unchanged."""
    if isinstance(value, list):
        raise ValueError("must be a number of pages, or a mapping of numbers of pages to weights")
    return value if isinstance(value, dict) else {value: 1.0}


SizeWeights = Annotated[dict[PositiveInt, Weight], Field(min_length=1), BeforeValidator(as_size_weights)]


class RegionConfig(PacedConfig):
    """Fields of workloads with a footprint: the part of the logical space that they read and write."""

    read_fraction: Share = Field(0.0, description="Share of the requests that read.")
    footprint: float = Field(1.0, gt=0, le=1, description="Share of the logical space that is used.")
    start: float = Field(0.0, ge=0, lt=1, description="Start of the footprint, as a share of logical space.")

    @model_validator(mode="after")
    def _region_fits(self) -> RegionConfig:
        if self.start + self.footprint > 1 + 1e-12:
            raise ValueError("needs start + footprint to be at most 1")
        return self

    def writes_nothing(self) -> bool:
        """See `WorkloadConfig`."""
        return self.read_fraction >= 1

    def region(self, logical_pages: int) -> tuple[int, int]:
        """Return the first page of the footprint and its number of pages.

        Raises:
            SsdgymError: the footprint is too small for the workload.
        """
        first = min(round(self.start * logical_pages), logical_pages - 1)
        return first, min(max(round(self.footprint * logical_pages), 1), logical_pages - first)

    def footprint_pages(self, logical_pages: int, page_size: int) -> int:
        """See `PacedConfig`."""
        return self.region(logical_pages)[1]


class AccessConfig(RegionConfig):
    """Fields of workloads with one pattern of access.

    In random patterns, a request of several pages starts at a multiple of its size, counted from the start of
    the footprint. If it would cross the end of the footprint, it starts just early enough to end there.
    """

    trim_fraction: Share = Field(0.0, description="Share of the requests that trim; all others write.")
    request_pages: SizeWeights = Field(
        {1: 1.0}, description="Pages per request: a number, or a mapping from numbers to weights."
    )

    @model_validator(mode="after")
    def _shares_fit(self) -> AccessConfig:
        if self.read_fraction + self.trim_fraction > 1:
            raise ValueError("needs read_fraction + trim_fraction to be at most 1")
        return self

    def writes_nothing(self) -> bool:
        """See `WorkloadConfig`."""
        return self.read_fraction + self.trim_fraction >= 1

    def source(self, logical_pages: int, page_size: int, seed: np.random.SeedSequence) -> Accesses:
        """See `PacedConfig`."""
        return Accesses(self, logical_pages, seed)

    def region(self, logical_pages: int) -> tuple[int, int]:
        """See `RegionConfig`."""
        first, pages = super().region(logical_pages)
        largest = max(self.request_pages)
        if largest > pages:
            raise SsdgymError(
                f"a workload takes {largest} pages at once (request_pages) but its footprint has only "
                f"{pages} of the {logical_pages} logical pages; make the footprint larger or the requests "
                "smaller."
            )
        return first, pages

    @abstractmethod
    def picker(self, footprint: int, rng: np.random.Generator) -> Picker:
        """Return a picker, which chooses the pages of requests.

        Args:
            footprint: number of pages to choose from.
            rng: random generator that only this picker uses.

        Raises:
            SsdgymError: the pattern does not fit the footprint.
        """


class Accesses:
    """An endless source of requests with one pattern; every `arrival_ns` is 0.

    Pages, operations and sizes have separate random generators. So two workloads that differ only in
    `read_fraction` access the same pages.
    """

    def __init__(self, config: AccessConfig, logical_pages: int, seed: np.random.SeedSequence) -> None:
        pages, ops, sizes = seed.spawn(3)
        self._first, self._footprint = config.region(logical_pages)
        self._sizes = SizeDraw(config.request_pages, sizes)
        self._op_rng = np.random.default_rng(ops)
        self._read, self._read_or_trim = config.read_fraction, config.read_fraction + config.trim_fraction
        self._pick = config.picker(self._footprint, np.random.Generator(np.random.PCG64(pages)))

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.base.Source`."""
        requests = np.zeros(CHUNK, REQUEST)
        requests["op"] = WRITE
        if self._read_or_trim > 0:
            draw = self._op_rng.random(CHUNK)
            requests["op"][draw < self._read_or_trim] = TRIM
            requests["op"][draw < self._read] = READ
        requests["pages"] = sizes = self._sizes.draw(CHUNK)
        requests["lpn"] = self._pick(sizes)
        requests = split_at_end(requests, self._footprint)
        if self._first:
            requests["lpn"] += self._first
        return requests


class SizeDraw:
    """Draws sizes of requests; the probability of a size is its weight / sum of all weights."""

    def __init__(self, weights: Mapping[int, float], seed: np.random.SeedSequence) -> None:
        self._sizes = np.array(sorted(weights), np.int32)
        cumulative = np.cumsum([weights[size] for size in self._sizes.tolist()])
        self._distribution = cumulative / cumulative[-1]
        if len(self._sizes) > 1:
            self._rng = np.random.Generator(np.random.PCG64(seed))

    def draw(self, count: int) -> IntegerArray:
        """Return `count` sizes, shape (count,)."""
        if len(self._sizes) == 1:
            return np.repeat(self._sizes, count)
        return self._sizes[np.searchsorted(self._distribution, self._rng.random(count), side="right")]
