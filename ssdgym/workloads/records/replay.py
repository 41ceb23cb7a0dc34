"""Play records on the pages of a device, in loops."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.workloads.addresses import split_at_end
from ssdgym.workloads.chunks import NO_REQUESTS, ChunkedStream
from ssdgym.workloads.records.pages import Compact, narrow, to_pages
from ssdgym.workloads.records.ranges import RangeSet
from ssdgym.workloads.records.record import RecordSource
from ssdgym.workloads.records.survey import Arrivals, Survey
from ssdgym.workloads.requests import Requests

IntArray = npt.NDArray[np.int64]


def play(
    source: RecordSource,
    known: Survey,
    *,
    name: str,
    addresses: str,
    loops: int | None,
    logical_pages: int,
    page_size: int,
) -> ChunkedStream:
    """Start a fresh source on a device; `known` is the survey of such a source.

    Raises:
        SsdgymError: it touches more pages than the device has, and they are not folded.
    """
    compact = None
    if addresses == "compact":
        compact = known.compact
        if known.pages > logical_pages:
            raise SsdgymError(
                f"{name}: the trace touches {known.pages} pages but the device has {logical_pages} logical "
                "pages; use a larger device, or set addresses to fold."
            )
    footprint = known.pages if compact is not None else _folded(known.ranges, logical_pages)
    report = {
        "requests": known.records,
        "footprint_pages": footprint,
        "trace_pages": known.pages,
        "out_of_order": known.out_of_order,
        "trims_below_a_page": known.records - known.requests,
    }
    played = _Played(source, known, compact, logical_pages, page_size)
    return ChunkedStream(Loops(played, known, loops), report)


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


class Loops:
    """A source that plays requests `loops` times, or for ever.

    Each time starts one mean time between arrivals after the last request of the time before.
    """

    def __init__(self, fresh: _Played, known: Survey, loops: int | None) -> None:
        self._fresh = fresh
        self._now = copy.deepcopy(fresh)
        self._left = loops
        self._start_ns = 0
        self._period_ns = known.last_ns + known.last_ns // max(known.requests - 1, 1)

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
        if self._left == 0:
            return NO_REQUESTS
        requests = self._now.chunk()
        if not len(requests):
            self._start_ns += self._period_ns
            self._now = copy.deepcopy(self._fresh)
            if self._left is not None:
                self._left -= 1
            return self.chunk()
        requests["arrival_ns"] += self._start_ns
        return requests


class _Played:
    """Records, once through, as requests of a device."""

    def __init__(
        self,
        source: RecordSource,
        known: Survey,
        compact: Compact | None,
        logical_pages: int,
        page_size: int,
    ) -> None:
        self._source = source
        self._arrivals = Arrivals()
        self._starts = known.starts
        self._compact = compact
        self._logical_pages = logical_pages
        self._page_size = page_size

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
                return narrow(self._on_device(requests))
        return NO_REQUESTS

    def _on_device(self, requests: Requests) -> Requests:
        if self._compact is None:
            return split_at_end(requests, self._logical_pages)
        return self._compact(requests)
