"""Play records on the pages of a device, lap by lap."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from ssdgym.requests import Requests
from ssdgym.types import IntArray
from ssdgym.workloads.addresses import split_at_end
from ssdgym.workloads.chunks import NO_REQUESTS, ChunkedStream
from ssdgym.workloads.laps import Loops
from ssdgym.workloads.records.pages import Compact, narrow, to_pages, volume_starts
from ssdgym.workloads.records.ranges import RangeSet
from ssdgym.workloads.records.record import RecordSource
from ssdgym.workloads.records.survey import Arrivals, Survey


def play(
    source: RecordSource,
    *,
    again: RecordSource | None = None,
    compact: Compact | None,
    loops: int | None,
    logical_pages: int,
    page_size: int,
    report: Callable[[], dict[str, int]],
) -> ChunkedStream:
    """Start a fresh source on a device.

    Args:
        source: the records.
        again: fresh, those that are played from the second lap on; by default the same.
        compact: numbers their pages; None: page numbers are taken modulo the logical pages.
        loops: how often they are played; None: for ever.
        logical_pages: of the device.
        page_size: bytes per page.
        report: see `ChunkedStream`.
    """
    laps = RecordLaps(source, source if again is None else again, compact, logical_pages, page_size)
    return ChunkedStream(Loops(laps, loops), report)


def report_on(known: Survey, addresses: str, logical_pages: int) -> dict[str, int]:
    """Return the facts about records that are played on a device; see `RequestStream`.

    Args:
        known: the records.
        addresses: `compact` or `fold`.
        logical_pages: of the device.
    """
    is_folded = addresses == "fold"
    return {
        "requests": known.records,
        "footprint_pages": _folded(known.ranges, logical_pages) if is_folded else known.pages,
        "trace_pages": known.pages,
        "out_of_order": known.out_of_order,
        "trims_below_a_page": known.records - known.requests,
        "written_pages": known.written,
        "rewritten_pages": known.written - known.written_different,
    }


def _folded(ranges: tuple[IntArray, IntArray], logical_pages: int) -> int:
    """Return how many different pages ranges touch modulo the logical pages."""
    start, end = ranges
    if not len(start):
        return 0
    if int((end - start).max()) >= logical_pages:
        return logical_pages
    first, last = start % logical_pages, (end - 1) % logical_pages
    wraps = last < first
    touched = RangeSet()
    touched.add(first, np.where(wraps, logical_pages, last + 1))
    touched.add(np.zeros(int(wraps.sum()), np.int64), last[wraps] + 1)
    return touched.size()


class RecordLaps:
    """Laps over the same records, the first from another of them on; see `ssdgym.workloads.laps.Circuit`."""

    def __init__(
        self,
        first: RecordSource,
        again: RecordSource,
        compact: Compact | None,
        logical_pages: int,
        page_size: int,
    ) -> None:
        """Take the records.

        Args:
            first: fresh, those of the first lap.
            again: fresh, those of every other one.
            compact: numbers their pages; None: page numbers are taken modulo the logical pages.
            logical_pages: of the device.
            page_size: bytes per page.
        """
        self._sources = first, again
        self._compact = compact
        self._logical_pages = logical_pages
        self._page_size = page_size

    def lap(self, number: int) -> _Played:
        """See `Circuit`."""
        source = copy.deepcopy(self._sources[number > 0])
        return _Played(source, self._compact, self._logical_pages, self._page_size)


class _Played:
    """Records, once through, as requests of a device.

    Attributes:
        requests: how many have been played.
    """

    def __init__(
        self, source: RecordSource, compact: Compact | None, logical_pages: int, page_size: int
    ) -> None:
        self._source = source
        self._arrivals = Arrivals()
        self._starts = volume_starts(source.volumes, page_size)
        self._compact = compact
        self._logical_pages = logical_pages
        self._page_size = page_size
        self.requests = 0

    @property
    def last_ns(self) -> int:
        """Arrival of the last request so far."""
        return self._arrivals.latest_ns

    def __deepcopy__(self, memo: dict[int, object]) -> _Played:
        """Copy what changes; the tables, which may be large, are shared."""
        twin = copy.copy(self)
        twin._source = copy.deepcopy(self._source, memo)
        twin._arrivals = copy.deepcopy(self._arrivals, memo)
        return twin

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        while len(records := self._source.chunk()):
            records["time_ns"] = self._arrivals(records["time_ns"])
            requests = to_pages(records, self._page_size, self._starts)
            if len(requests):
                self.requests += len(requests)
                return narrow(self._on_device(requests))
        return NO_REQUESTS

    def _on_device(self, requests: Requests) -> Requests:
        if self._compact is None:
            return split_at_end(requests, self._logical_pages)
        return self._compact(requests)
