"""Survey of all records, from which they can be played."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssdgym.requests import WRITE
from ssdgym.types import IntArray
from ssdgym.workloads.records.pages import Compact, to_pages, volume_starts
from ssdgym.workloads.records.ranges import RangeSet
from ssdgym.workloads.records.record import RecordSource


@dataclass(frozen=True, eq=False)
class Survey:
    """Facts about the records of a source, played once on pages of a given size.

    Attributes:
        records: how many there are.
        requests: how many of them reach a device: a trim of less than a page does not.
        out_of_order: records with an earlier time than one before them; they take its time.
        last_ns: arrival of the last request.
        starts: first page of each volume, shape (volumes,).
        ranges: the pages touched as separate ranges: starts and ends, each of shape (ranges,).
        written: pages that the writes are of, each counted every time.
        written_different: how many different ones.
    """

    records: int
    requests: int
    out_of_order: int
    last_ns: int
    starts: IntArray
    ranges: tuple[IntArray, IntArray]
    written: int
    written_different: int

    @cached_property
    def compact(self) -> Compact:
        """A numbering of the pages touched, from 0 on in address order."""
        return Compact(*self.ranges)

    @property
    def pages(self) -> int:
        """How many different pages are touched."""
        return int((self.ranges[1] - self.ranges[0]).sum())


class Arrivals:
    """Times that count from the first record and never fall.

    A record that is earlier than one before it takes the time of that one.
    """

    def __init__(self) -> None:
        """Start before the first record."""
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
    """Read all records of a source, in memory that grows only with the ranges touched.

    Args:
        source: is used up.
        page_size: bytes per page.
    """
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
    return Survey(
        records,
        requests,
        arrivals.out_of_order,
        arrivals.latest_ns,
        starts,
        touched.ranges(),
        written,
        of_writes.size(),
    )
