"""Count what is in records, in one pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ssdgym.requests import FLUSH, OP_NAMES, READ, TRIM, WRITE, Requests
from ssdgym.workloads.records.counts import Distribution, KeyCounts, LogHistogram
from ssdgym.workloads.records.dynamics.bursts import ArrivalCounts
from ssdgym.workloads.records.dynamics.lives import WriteLives
from ssdgym.workloads.records.dynamics.runs import OperationRuns
from ssdgym.workloads.records.pages import to_pages, volume_starts
from ssdgym.workloads.records.ranges import RangeSet
from ssdgym.workloads.records.record import Records, RecordSource, Volumes
from ssdgym.workloads.records.skew import PageWrites
from ssdgym.workloads.records.summary import UNIT_BYTES, RecordSummary
from ssdgym.workloads.records.survey import Arrivals


def summarize(source: RecordSource, announce: Callable[[int], None] = lambda requests: None) -> RecordSummary:
    """Count what is in a fresh source, in one pass.

    The memory grows with the separate ranges of addresses touched and with the different sizes, not with
    the requests.

    Args:
        source: is used up.
        announce: called now and then with the number of requests counted.

    Raises:
        SsdgymError: the volumes reach so far that their pages cannot be numbered.
    """
    counting = _Counting(source.volumes)
    while len(records := source.chunk()):
        counting.add(records)
        announce(counting.requests)
    return counting.summary()


class _Counting:
    """All counts of one pass."""

    def __init__(self, volumes: Volumes) -> None:
        self.requests = 0
        self._volumes = volumes
        self._per_volume = np.zeros(len(volumes.names), np.int64)
        self._per_op = np.zeros(len(OP_NAMES), np.int64)
        self._bytes = [0] * len(OP_NAMES)
        self._arrivals = Arrivals()
        self._first_ns: int | None = None
        self._gaps = LogHistogram()
        self._sequential = 0
        # No request starts below 0.
        self._ends = np.full(len(volumes.names), -1, np.int64)
        self._sizes = {READ: KeyCounts(), WRITE: KeyCounts()}
        self._page_starts = volume_starts(volumes, UNIT_BYTES)
        self._byte_starts = volume_starts(volumes, 1)
        self._pages = {READ: RangeSet(), WRITE: RangeSet()}
        self._exact_writes = RangeSet()
        self._page_writes = PageWrites()
        self._arrival_counts = ArrivalCounts()
        self._runs = OperationRuns()
        self._write_lives = WriteLives()

    def add(self, records: Records) -> None:
        """Count a chunk, shape (n,), n > 0."""
        self.requests += len(records)
        self._per_volume += np.bincount(records["volume"], minlength=len(self._per_volume))
        self._per_op += np.bincount(records["op"], minlength=len(OP_NAMES))
        self._runs.add(records["op"])
        self._add_arrivals(records)
        self._add_sequence(records[records["op"] != FLUSH])
        pages = to_pages(records, UNIT_BYTES, self._page_starts)
        for op in (READ, WRITE):
            self._add_op(op, records[records["op"] == op], pages[pages["op"] == op])
        self._bytes[TRIM] += int(records["size_bytes"][records["op"] == TRIM].sum(dtype=np.int64))

    def _add_arrivals(self, records: Records) -> None:
        before = self._arrivals.latest_ns
        arrivals = self._arrivals(records["time_ns"])
        self._arrival_counts.add(arrivals)
        if self._first_ns is None:
            self._first_ns = before = int(arrivals[0])
            self._gaps.add(np.diff(arrivals))
        else:
            self._gaps.add(np.diff(arrivals, prepend=before))

    def _add_sequence(self, records: Records) -> None:
        if not len(records):
            return
        records = records[np.argsort(records["volume"], kind="stable")]
        volume = records["volume"]
        end = records["offset_bytes"] + records["size_bytes"]
        is_first = np.diff(volume.astype(np.int64), prepend=-1) != 0
        expected = np.where(is_first, self._ends[volume], np.roll(end, 1))
        self._sequential += int(np.count_nonzero(records["offset_bytes"] == expected))
        is_last = np.append(is_first[1:], True)
        self._ends[volume[is_last]] = end[is_last]

    def _add_op(self, op: int, records: Records, pages: Requests) -> None:
        size = records["size_bytes"].astype(np.int64)
        self._bytes[op] += int(size.sum())
        self._sizes[op].add(size)
        self._pages[op].add(pages["lpn"], pages["lpn"] + pages["pages"])
        if op == WRITE:
            start = records["offset_bytes"] + self._byte_starts[records["volume"]]
            self._exact_writes.add(start, start + size)
            self._page_writes.add(pages["lpn"], pages["pages"])
            self._write_lives.add(pages["lpn"], pages["pages"])

    def summary(self) -> RecordSummary:
        """Return the counts so far."""
        both = RangeSet()
        for touched in self._pages.values():
            both.add(*touched.ranges())
        ops = self._per_op.tolist()
        return RecordSummary(
            requests=self.requests,
            reads=ops[READ],
            writes=ops[WRITE],
            trims=ops[TRIM],
            flushes=ops[FLUSH],
            bytes_read=self._bytes[READ],
            bytes_written=self._bytes[WRITE],
            bytes_trimmed=self._bytes[TRIM],
            unique_bytes_read=self._pages[READ].size() * UNIT_BYTES,
            unique_bytes_written=self._pages[WRITE].size() * UNIT_BYTES,
            unique_bytes=both.size() * UNIT_BYTES,
            exact_unique_bytes_written=self._exact_writes.size(),
            sequential=self._sequential,
            out_of_order=self._arrivals.out_of_order,
            duration_ns=self._gaps.sum,
            volumes=dict(zip(self._volumes.names, self._per_volume.tolist(), strict=True)),
            read_sizes=Distribution(*self._sizes[READ].items()),
            write_sizes=Distribution(*self._sizes[WRITE].items()),
            gaps=self._gaps.distribution(),
            mean_gap_ns=self._gaps.sum / (self.requests - 1) if self.requests > 1 else None,
            max_gap_ns=self._gaps.max,
            skew=self._page_writes.skew(),
            bursts=self._arrival_counts.bursts(),
            runs=self._runs.runs(),
            lives=self._write_lives.lives(),
        )
