"""What patterns of programs that lay their data out themselves have in common: parts, and hints.

The host knows which part it writes to and says so: the hint of a request is the number of its part.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, REQUEST, Requests
from ssdgym.types import IntegerArray
from ssdgym.workloads.patterns.base import RegionConfig


class Writer(Protocol):
    """Writes, and trims, of a program; pages count from the start of the footprint."""

    def batch(self) -> Requests:
        """Return the next requests that write or trim, at least one."""

    def pages_to_read(self, count: int, rng: np.random.Generator) -> IntegerArray:
        """Return pages that the program reads.

        Args:
            count: how many.
            rng: draws for reads alone, so that reads do not change what is written.

        Returns:
            Shape (count,).
        """


class StructuredConfig(RegionConfig):
    """Fields of every such pattern."""

    def source(self, logical_pages: int, page_size: int, seed: np.random.SeedSequence) -> Structured:
        """See `PacedConfig`."""
        first, pages = self._range(logical_pages)
        return Structured(self, first, pages, seed)

    def footprint_pages(self, logical_pages: int, page_size: int) -> int:
        """See `PacedConfig`."""
        return self._range(logical_pages)[1]

    def _range(self, logical_pages: int) -> tuple[int, int]:
        first = min(round(self.start * logical_pages), logical_pages - 1)
        pages = min(max(round(self.footprint * logical_pages), 1), logical_pages - first)
        if pages < self.least_pages():
            raise SsdgymError(
                f"workload {self.kind}: its footprint has {pages} of the {logical_pages} logical pages, and "
                f"it needs {self.least_pages()}; make the footprint, or the device, larger."
            )
        return first, pages

    @abstractmethod
    def least_pages(self) -> int:
        """Return the fewest pages of a footprint that all parts fit into."""

    @abstractmethod
    def writer(self, pages: int, rng: np.random.Generator) -> Writer:
        """Return what writes.

        Args:
            pages: of the footprint.
            rng: draws for it alone.
        """


class Structured:
    """An endless source of a program's requests, with reads between them; every `arrival_ns` is 0."""

    def __init__(
        self, config: StructuredConfig, first_page: int, pages: int, seed: np.random.SeedSequence
    ) -> None:
        """Start with the first request.

        Args:
            config: the pattern.
            first_page: of the footprint.
            pages: of the footprint.
            seed: of all draws.
        """
        writes, reads = (np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(2))
        self._writer = config.writer(pages, writes)
        self._read_fraction = config.read_fraction
        self._first_page = first_page
        self._reads = reads

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        requests = self._writer.batch()
        if self._read_fraction > 0:
            requests = self._with_reads(requests)
        requests["lpn"] += self._first_page
        return requests

    def _with_reads(self, requests: Requests) -> Requests:
        """Put reads in front of requests, so many that their share is the configured one in the mean."""
        before = self._reads.geometric(1 - self._read_fraction, len(requests)) - 1
        places = np.arange(len(requests)) + np.cumsum(before)
        mixed = np.zeros(len(requests) + int(before.sum()), REQUEST)
        mixed["op"], mixed["pages"] = READ, 1
        is_read = np.ones(len(mixed), bool)
        is_read[places] = False
        mixed["lpn"][is_read] = self._writer.pages_to_read(int(before.sum()), self._reads)
        mixed[places] = requests
        return mixed


def requests_of(op: int, lpn: IntegerArray, pages: IntegerArray | int, hint: IntegerArray | int) -> Requests:
    """Return requests of one operation.

    Args:
        op: WRITE or TRIM.
        lpn: first pages, shape (n,).
        pages: how many each has.
        hint: of each.
    """
    requests = np.zeros(len(lpn), REQUEST)
    requests["op"], requests["lpn"], requests["pages"], requests["hint"] = op, lpn, pages, hint
    return requests
