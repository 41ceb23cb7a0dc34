"""Base of access patterns; `pacing` adds the arrival times.

A pattern is a model with fields, and a picker that chooses pages:

    @workload_kind
    class UniformConfig(AccessConfig):
        kind: Literal["uniform"] = "uniform"

        def picker(self, footprint, rng):
            return UniformPicker(footprint, rng)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, TRIM, WRITE, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import Picker, split_at_end
from ssdgym.workloads.base import CHUNK, Share, Weight
from ssdgym.workloads.generators.pacing import PacedConfig


def as_size_weights(value: Any) -> Any:
    """Convert a plain number to a mapping that gives this size all the weight."""
    if isinstance(value, list):
        raise ValueError("must be a number of pages, or a mapping of numbers of pages to weights")
    return value if isinstance(value, dict) else {value: 1.0}


SizeWeights = Annotated[dict[PositiveInt, Weight], Field(min_length=1), BeforeValidator(as_size_weights)]


class RegionConfig(PacedConfig):
    """Fields of workloads that read and write a part of the logical space, their footprint."""

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
    the footprint; if it would then cross the end of the footprint, it starts earlier.
    """

    trim_fraction: Share = Field(0.0, description="Share of the requests that trim; the rest writes.")
    request_pages: SizeWeights = Field(
        {1: 1.0}, description="Pages per request: a number, or a mapping of pages to weights."
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
        """Return the picker that chooses pages.

        Args:
            footprint: number of pages to choose from.
            rng: random generator that only this picker uses.

        Raises:
            SsdgymError: the pattern does not fit the footprint.
        """


class Accesses:
    """An endless source of requests with one pattern; every `arrival_ns` is 0.

    Pages, operations and sizes have separate random generators, so two workloads that differ only in their
    share of reads access the same pages.
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
    """Draws sizes of requests by their weights."""

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
