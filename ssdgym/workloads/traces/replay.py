"""Replay records as requests for pages, once or repeatedly."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ssdgym.requests import REQUEST, WRITE, Requests
from ssdgym.types import IntArray
from ssdgym.workloads.addresses import split_at_end
from ssdgym.workloads.base import NO_REQUESTS, Loops, RequestStream
from ssdgym.workloads.traces.record import Compact, RecordSource, cast, to_pages, volume_starts

_FEW = 1 << 16


class RangeSet:
    """The union of half-open ranges of integers.

    Memory grows with the number of separate ranges, not with the number of added ranges.
    """

    def __init__(self) -> None:
        self._merged = _nothing()
        self._pending: list[tuple[IntArray, IntArray]] = []
        self._pending_ranges = 0

    def add(self, start: IntArray, end: IntArray) -> None:
        """Add the ranges `start[i]..end[i]-1`; empty ones are allowed."""
        start, end = _union(start[start < end], end[start < end])
        self._pending.append((start, end))
        self._pending_ranges += len(start)
        # Merging only when the new part is as large as the rest keeps the total work near n log n.
        if self._pending_ranges > max(len(self._merged[0]), _FEW):
            self._merge()

    def ranges(self) -> tuple[IntArray, IntArray]:
        """Return the separate ranges in rising order: starts and ends, each of shape (ranges,)."""
        self._merge()
        return self._merged

    def size(self) -> int:
        """Return the number of integers in the ranges."""
        start, end = self.ranges()
        return int((end - start).sum())

    def _merge(self) -> None:
        if self._pending:
            parts = [self._merged, *self._pending]
            self._pending, self._pending_ranges, self._merged = [], 0, _nothing()
            self._merged = _union(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))


def _nothing() -> tuple[IntArray, IntArray]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _union(start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return the union of non-empty ranges as separate ranges in rising order."""
    if not len(start):
        return _nothing()
    order = np.argsort(start, kind="stable")
    start = start[order]
    end = np.maximum.accumulate(end[order])
    opens = np.ones(len(start), bool)
    opens[1:] = start[1:] > end[:-1]
    first = np.flatnonzero(opens)
    return start[first], end[np.append(first[1:], len(start)) - 1]


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts over all records of a source, for pages of a given size.

    Attributes:
        records: number of records.
        requests: number of requests that a device gets. Trims of less than a page are left out.
        out_of_order: number of records that are earlier than a previous record. They get its time.
        ranges: the touched pages as separate ranges: starts and ends, each of shape (ranges,).
        written: number of page writes.
        written_different: number of different pages written.
    """

    records: int
    requests: int
    out_of_order: int
    ranges: tuple[IntArray, IntArray]
    written: int
    written_different: int

    @cached_property
    def compact(self) -> Compact:
        """A numbering of the touched pages, from 0 in address order."""
        return Compact(*self.ranges)

    @property
    def pages(self) -> int:
        """Number of different touched pages."""
        return int((self.ranges[1] - self.ranges[0]).sum())


class Arrivals:
    """Computes arrival times since the first record; they never decrease.

    A record that is earlier than a previous record gets the time of that record.
    """

    def __init__(self) -> None:
        self.latest_ns = 0
        self.out_of_order = 0
        self._first_ns: int | None = None

    def __call__(self, time_ns: IntArray) -> IntArray:
        """Return the arrival times of the next records, shape (n,), n > 0."""
        if self._first_ns is None:
            self._first_ns = int(time_ns[0])
        time_ns = time_ns - self._first_ns
        arrivals = np.maximum(np.maximum.accumulate(time_ns), self.latest_ns)
        self.out_of_order += int(np.count_nonzero(time_ns < arrivals))
        self.latest_ns = int(arrivals[-1])
        return arrivals


def survey(source: RecordSource, page_size: int) -> Survey:
    """Survey all records of a source; memory grows only with the number of separate touched ranges."""
    starts = volume_starts(source.volumes, page_size)
    touched, of_writes = RangeSet(), RangeSet()
    arrivals = Arrivals()
    records = requests = written = 0
    while len(chunk := source.chunk()):
        records += len(chunk)
        arrivals(chunk["time_ns"])
        pages = to_pages(chunk, page_size, starts)
        requests += len(pages)
        touched.add(pages["lpn"], pages["lpn"] + pages["pages"])
        writes = pages[pages["op"] == WRITE]
        of_writes.add(writes["lpn"], writes["lpn"] + writes["pages"])
        written += int(writes["pages"].sum(dtype=np.int64))
    return Survey(records, requests, arrivals.out_of_order, touched.ranges(), written, of_writes.size())


def play(
    source: RecordSource,
    *,
    again: RecordSource | None = None,
    compact: Compact | None,
    loops: int | None,
    logical_pages: int,
    page_size: int,
    report: Callable[[], dict[str, int]],
) -> RequestStream:
    """Return the requests of a fresh source for a device.

    `again` has the records of every lap except the first; by default it is `source`. `compact` numbers the
    pages; if it is None, page numbers are taken modulo the logical pages.
    """
    laps = partial(_Played, source, again or source, compact, logical_pages, page_size)
    return RequestStream(Loops(laps, loops), report)


def report_on(known: Survey, addresses: str, logical_pages: int) -> dict[str, int]:
    """Return the report of records that a device serves; see `RequestStream.report`."""
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
    """Return the number of different pages in ranges if pages are taken modulo the logical pages."""
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


class _Played:
    """One lap: the records of a source as requests of a device."""

    def __init__(
        self,
        first: RecordSource,
        again: RecordSource,
        compact: Compact | None,
        logical_pages: int,
        page_size: int,
        number: int,
    ) -> None:
        """Begin lap `number`; lap 0 replays `first`, later laps replay `again`."""
        self._source = copy.deepcopy(again if number else first)
        self._arrivals = Arrivals()
        self._starts = volume_starts(self._source.volumes, page_size)
        self._compact = compact
        self._logical_pages = logical_pages
        self._page_size = page_size
        self.requests = 0

    @property
    def last_ns(self) -> int:
        """Arrival of the last request so far."""
        return self._arrivals.latest_ns

    def __deepcopy__(self, memo: dict[int, object]) -> _Played:
        """Copy the position; share the tables, which may be large."""
        twin = copy.copy(self)
        twin._source = copy.deepcopy(self._source, memo)
        twin._arrivals = copy.deepcopy(self._arrivals, memo)
        return twin

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.base.Source`."""
        while len(records := self._source.chunk()):
            records["time_ns"] = self._arrivals(records["time_ns"])
            requests = to_pages(records, self._page_size, self._starts)
            if len(requests):
                self.requests += len(requests)
                if self._compact is None:
                    return cast(split_at_end(requests, self._logical_pages), REQUEST)
                return cast(self._compact(requests), REQUEST)
        return NO_REQUESTS
