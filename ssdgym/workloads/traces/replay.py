"""Replay records as requests for pages of a device, and survey the pages that records touch."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssdgym.requests import REQUEST, WRITE, Requests
from ssdgym.types import IntArray
from ssdgym.workloads.addresses import split_at_end
from ssdgym.workloads.base import NO_REQUESTS
from ssdgym.workloads.traces.distributions import RangeSet
from ssdgym.workloads.traces.record import Compact, RecordSource, cast, to_pages, volume_starts


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts over all records of a source, for pages of a given size.

    Attributes:
        records: number of records.
        requests: number of requests for a device: all records except trims that cover no whole page.
        out_of_order: number of records that are earlier than a previous record.
        ranges: the touched pages as separate ranges: first pages and ends (exclusive), shape (2, ranges).
        written: number of page writes.
        written_different: number of different pages written.
    """

    records: int
    requests: int
    out_of_order: int
    ranges: IntArray
    written: int
    written_different: int

    @cached_property
    def compact(self) -> Compact:
        """The numbers of the touched pages with compact addresses."""
        return Compact(*self.ranges)

    @property
    def pages(self) -> int:
        """Number of different touched pages."""
        return int((self.ranges[1] - self.ranges[0]).sum())

    def report(self, addresses: str, logical_pages: int) -> dict[str, int]:
        """Return the facts of `RequestStream.report` for a device; `addresses` is `compact` or `fold`."""
        return {
            "requests": self.records,
            "footprint_pages": _folded(self.ranges, logical_pages) if addresses == "fold" else self.pages,
            "trace_pages": self.pages,
            "out_of_order": self.out_of_order,
            "trims_below_a_page": self.records - self.requests,
            "written_pages": self.written,
            "rewritten_pages": self.written - self.written_different,
        }


class Arrivals:
    """Computes arrival times since the first record; they never decrease.

    A record that is earlier than a previous record gets the latest time of the previous records.
    """

    def __init__(self) -> None:
        self.latest_ns = 0
        self.out_of_order = 0
        self._first_ns: int | None = None

    def __call__(self, time_ns: IntArray) -> IntArray:
        """Return the arrival times in ns of the next records, shape (n,), n > 0."""
        if self._first_ns is None:
            self._first_ns = int(time_ns[0])
        time_ns = time_ns - self._first_ns
        arrivals = np.maximum(np.maximum.accumulate(time_ns), self.latest_ns)
        self.out_of_order += int(np.count_nonzero(time_ns < arrivals))
        self.latest_ns = int(arrivals[-1])
        return arrivals


def survey(source: RecordSource, page_size: int) -> Survey:
    """Read all records of a source; memory grows only with the number of separate touched ranges."""
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


def _folded(ranges: IntArray, logical_pages: int) -> int:
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


class Played:
    """One lap (see `Lap`): the records of a copy of a source, as requests for pages of a device."""

    def __init__(
        self,
        first: RecordSource,
        again: RecordSource,
        compact: Compact | None,
        logical_pages: int,
        page_size: int,
        number: int,
    ) -> None:
        """Begin a lap.

        Args:
            first: source of the records of lap 0.
            again: source of the records of later laps.
            compact: new numbers of the pages; None: page numbers are taken modulo the logical pages.
            logical_pages: number of logical pages of the device.
            page_size: bytes per page.
            number: number of the lap.
        """
        self._source = copy.deepcopy(again if number else first)
        self._arrivals = Arrivals()
        self._starts = volume_starts(self._source.volumes, page_size)
        self._compact = compact
        self._logical_pages = logical_pages
        self._page_size = page_size
        self.requests = 0

    @property
    def last_ns(self) -> int:
        """See `Lap`."""
        return self._arrivals.latest_ns

    def __deepcopy__(self, memo: dict[int, object]) -> Played:
        """Copy the position in the source; share the tables, which may be large."""
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
