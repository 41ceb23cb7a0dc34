"""Chunks of requests: the unit in which workloads are made, and the stream that hands them out.

Sources hold all their state in plain attributes, so that a stream can be copied and pickled at any
point and both copies go on alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ssdgym.requests import REQUEST, Requests

#: Requests drawn at a time. Large enough to hide numpy's cost per call, small enough that the first
#: request after a reset does not wait for many that may never be taken.
CHUNK = 4096

NO_REQUESTS: Requests = np.zeros(0, REQUEST)
NO_REQUESTS.flags.writeable = False


class Source(Protocol):
    """A workload made piece by piece; the pieces do not depend on the portions that are taken."""

    def chunk(self) -> Requests:
        """Return the next requests, shape (n,); an empty array at the end and ever after."""


class ChunkedStream:
    """A stream that hands out the requests of a source in portions of any size."""

    def __init__(self, source: Source, report: Callable[[], dict[str, int]]) -> None:
        """Start with the first request of a source.

        Args:
            source: makes the requests.
            report: makes the report; picklable, and called on demand only, as it may take a while.
        """
        self._make_report = report
        self._source = source
        self._chunk = NO_REQUESTS
        self._taken = 0

    @property
    def report(self) -> dict[str, int]:
        """Facts about the workload as a whole, such as `footprint_pages`."""
        return self._make_report()

    def next(self, max_requests: int) -> Requests:
        """Return the next 1 to `max_requests` requests as an array of dtype REQUEST; empty at the end.

        Raises:
            ValueError: `max_requests` is below 1.
        """
        if max_requests < 1:
            raise ValueError(f"max_requests must be at least 1, not {max_requests}")
        if self._taken == len(self._chunk):
            self._chunk, self._taken = self._source.chunk(), 0
        portion = self._chunk[self._taken : self._taken + max_requests]
        self._taken += len(portion)
        return portion

    def take(self, requests: int) -> Requests:
        """Return exactly `requests` requests, or as many as are left."""
        portions = []
        while requests > 0 and len(portion := self.next(requests)):
            portions.append(portion)
            requests -= len(portion)
        return np.concatenate(portions) if portions else NO_REQUESTS
