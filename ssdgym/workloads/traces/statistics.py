"""Statistics of a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ssdgym.requests import FLUSH, OP_NAMES, READ, TRIM, WRITE, Requests
from ssdgym.workloads.traces.distributions import Distribution, KeyCounts, LogHistogram, PageWrites, Skew
from ssdgym.workloads.traces.dynamics import ArrivalCounts, Bursts, Lives, OperationRuns, Runs, WriteLives
from ssdgym.workloads.traces.record import Records, RecordSource, Volumes, to_pages, volume_starts
from ssdgym.workloads.traces.recorded import PlayedConfig
from ssdgym.workloads.traces.replay import Arrivals, RangeSet

#: Bytes per page in which footprints are counted.
UNIT_BYTES = 4096


@dataclass(frozen=True, eq=False)
class RecordSummary:
    """Counts over records, played once.

    Attributes:
        requests, reads, writes, trims, flushes: numbers of requests.
        bytes_read, bytes_written, bytes_trimmed: sums of the sizes.
        unique_bytes_read, unique_bytes_written: different bytes, where a page of `UNIT_BYTES` that a request
            touches counts whole.
        unique_bytes: the same for reads and writes together.
        exact_unique_bytes_written: different bytes written, counted byte by byte.
        sequential: requests that start where the request before them on the same volume ended, whatever
            that did; flushes are passed over.
        out_of_order: requests with an earlier time than one before them; they arrive at its time.
        duration_ns: from the first arrival to the last.
        volumes: requests per volume, by name.
        read_sizes, write_sizes: bytes per request.
        gaps: ns from each arrival to the next, binned (`LogHistogram`).
        mean_gap_ns: their mean, exact; none for a single request.
        max_gap_ns: the longest, exact.
        skew: of the writes per written page of `UNIT_BYTES`.
        bursts: of the arrivals.
        runs: of one operation.
        lives: of the writes, in pages of `UNIT_BYTES`.
    """

    requests: int
    reads: int
    writes: int
    trims: int
    flushes: int
    bytes_read: int
    bytes_written: int
    bytes_trimmed: int
    unique_bytes_read: int
    unique_bytes_written: int
    unique_bytes: int
    exact_unique_bytes_written: int
    sequential: int
    out_of_order: int
    duration_ns: int
    volumes: dict[str, int]
    read_sizes: Distribution
    write_sizes: Distribution
    gaps: Distribution
    mean_gap_ns: float | None
    max_gap_ns: int
    skew: Skew
    bursts: Bursts
    runs: Runs
    lives: Lives

    @property
    def overwrite_factor(self) -> float | None:
        """Bytes written over different bytes written (at `UNIT_BYTES`); `None` if nothing is written."""
        return self.bytes_written / self.unique_bytes_written if self.unique_bytes_written else None

    @property
    def sequential_share(self) -> float | None:
        """Share of the requests other than flushes that are sequential; `None` if there is none of those."""
        with_bytes = self.requests - self.flushes
        return self.sequential / with_bytes if with_bytes else None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON; times of gaps in ns, sizes in bytes."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: value for name, value in values.items() if isinstance(value, int)}
        return plain | {
            "unit_bytes": UNIT_BYTES,
            "duration_s": self.duration_ns / 1e9,
            "overwrite_factor": self.overwrite_factor,
            "sequential_share": self.sequential_share,
            "sizes_bytes": (self.read_sizes + self.write_sizes).as_dict(),
            "read_sizes_bytes": self.read_sizes.as_dict(),
            "write_sizes_bytes": self.write_sizes.as_dict(),
            "gaps_ns": self.gaps.as_dict()
            | {
                "mean": self.mean_gap_ns,
                "max": self.max_gap_ns,
                "relative_error": LogHistogram.RELATIVE_ERROR,
            },
            "skew": self.skew.as_dict(),
            "bursts": asdict(self.bursts),
            "runs": asdict(self.runs) | {"persistence": self.runs.persistence},
            "lives": asdict(self.lives),
            "volumes": self.volumes,
        }


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


@dataclass(frozen=True)
class Deviation:
    """One published column beside what was generated.

    Attributes:
        column: its name.
        generated, published: values in the same unit, which the name gives.
    """

    column: str
    generated: float
    published: float

    @property
    def percent(self) -> float:
        """How far the generated value is from the published one, in % of the latter."""
        return 100 * (self.generated - self.published) / self.published

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {**asdict(self), "deviation_percent": self.percent}


def trace_facts(config: PlayedConfig, summary: RecordSummary) -> dict[str, Any]:
    """Return what is known of a trace or a synthetic trace, for JSON."""
    facts = {**config.origin(), **summary.as_dict()}
    if config.is_drawn:
        facts["published"] = [item.as_dict() for item in deviations(config, summary)]
        facts["assumed"] = assumed_fields(config)
    return facts


def deviations(config: PlayedConfig, summary: RecordSummary) -> list[Deviation]:
    """Return the published columns of a synthetic trace beside what it generated; nothing for a trace."""
    columns = config.published() if config.is_whole else {}
    return [Deviation(column, getattr(summary, column), value) for column, value in columns.items()]


def assumed_fields(config: PlayedConfig) -> dict[str, str]:
    """Return the fields of a synthetic trace that no source gives, each with the reason for its value."""
    return dict(getattr(config, "assumed", {}))
