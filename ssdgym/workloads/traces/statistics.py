"""Statistics of the records of a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ssdgym.requests import FLUSH, OP_NAMES, READ, TRIM, WRITE
from ssdgym.types import IntArray
from ssdgym.workloads.traces.distributions import (
    RELATIVE_ERROR,
    Distribution,
    KeyCounts,
    RangeSet,
    Skew,
    expanded,
    log_bins,
)
from ssdgym.workloads.traces.dynamics import FINEST_NS, Bursts, Lives, Runs, WriteLives, bursts_of
from ssdgym.workloads.traces.record import Records, RecordSource, to_pages, volume_starts
from ssdgym.workloads.traces.recorded import PlayedConfig
from ssdgym.workloads.traces.replay import Arrivals

#: Bytes per page of the statistics, whatever the page size of a device.
UNIT_BYTES = 4096
#: Most pages whose writes are counted; if more pages are written, a sample is counted.
MOST_PAGES = 1 << 21


@dataclass(frozen=True, eq=False)
class RecordSummary:
    """Statistics of the records of a trace.

    Attributes:
        requests, reads, writes, trims, flushes: numbers of requests.
        bytes_read, bytes_written, bytes_trimmed: sums of the sizes.
        unique_bytes_read, unique_bytes_written: bytes of all different pages of `UNIT_BYTES` that reads
            (writes) touch.
        unique_bytes: bytes of all different pages of `UNIT_BYTES` that reads or writes touch.
        exact_unique_bytes_written: number of different bytes written.
        sequential: number of requests that start at the end of the previous request, of any operation except
            flush, on the same volume.
        out_of_order: number of requests that are earlier than a previous request.
        duration_ns: time from the first to the last arrival.
        volumes: number of requests of each volume, by its name.
        read_sizes, write_sizes: distributions of bytes per request.
        gaps: distribution of times between arrivals in ns, rounded by `log_bins`.
        mean_gap_ns: exact mean time between arrivals; None for fewer than two requests.
        max_gap_ns: exact longest time between arrivals.
        skew: distribution of writes over written pages of `UNIT_BYTES`.
        bursts: statistics of bursts of arrivals.
        runs: runs of reads and of writes.
        lives: correlation of lifetimes of writes, with pages of `UNIT_BYTES`.
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
        """Bytes written / unique bytes written; `None` if nothing is written."""
        return self.bytes_written / self.unique_bytes_written if self.unique_bytes_written else None

    @property
    def sequential_share(self) -> float | None:
        """`sequential` / requests except flushes; `None` if there are only flushes."""
        with_bytes = self.requests - self.flushes
        return self.sequential / with_bytes if with_bytes else None

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics for JSON."""
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
            | {"mean": self.mean_gap_ns, "max": self.max_gap_ns, "relative_error": RELATIVE_ERROR},
            "skew": self.skew.as_dict(),
            "bursts": asdict(self.bursts),
            "runs": asdict(self.runs) | {"persistence": self.runs.persistence},
            "lives": asdict(self.lives),
            "volumes": self.volumes,
        }


def summarize(source: RecordSource, announce: Callable[[int], None] = lambda requests: None) -> RecordSummary:
    """Summarise the records of a source, which has to be at its start.

    Memory grows with the number of separate touched ranges, of different sizes, and of windows of 0.1 s with
    arrivals.

    Args:
        source: source of the records. All of them are read.
        announce: called after each chunk with the number of requests counted so far.

    Raises:
        SsdgymError: the volumes reach so far that their pages cannot be numbered.
    """
    volumes = source.volumes
    page_starts, byte_starts = volume_starts(volumes, UNIT_BYTES), volume_starts(volumes, 1)
    per_volume, per_op = np.zeros(len(volumes.names), np.int64), np.zeros(len(OP_NAMES), np.int64)
    size_of = np.zeros(len(OP_NAMES), np.int64)
    # End of the last request of each volume: at first -1, where no request starts.
    ends = np.full(len(volumes.names), -1, np.int64)
    arrivals, lives = Arrivals(), WriteLives()
    windows, gaps, page_writes = KeyCounts(), KeyCounts(), KeyCounts(MOST_PAGES)
    sizes, touched, exact = (KeyCounts(), KeyCounts()), (RangeSet(), RangeSet()), RangeSet()
    requests = sequential = runs = max_gap_ns = 0
    latest_op = -1
    while len(records := source.chunk()):
        op = records["op"]
        per_volume += np.bincount(records["volume"], minlength=len(per_volume))
        per_op += np.bincount(op, minlength=len(OP_NAMES))
        before, arrived = arrivals.latest_ns, arrivals(records["time_ns"])
        gap = np.diff(arrived, prepend=before)[int(requests == 0) :]
        gaps.add(log_bins(gap))
        max_gap_ns = max(max_gap_ns, int(gap.max(initial=0)))
        windows.add(arrived // FINEST_NS)
        ops = np.append(latest_op, op[(op == READ) | (op == WRITE)])
        runs += int(np.count_nonzero(np.diff(ops)))
        latest_op = int(ops[-1])
        sequential += _continued(records[op != FLUSH], ends)
        pages = to_pages(records, UNIT_BYTES, page_starts)
        for kind in (READ, WRITE):
            sizes[kind].add(records["size_bytes"][op == kind])
            first, count = (pages[field][pages["op"] == kind] for field in ("lpn", "pages"))
            touched[kind].add(first, first + count)
        lives.add(first, count)  # pages of the writes, because WRITE is the last kind of the loop
        for page, _ in expanded(first, count):
            page_writes.add(page)
        for kind in (READ, WRITE, TRIM):
            size_of[kind] += records["size_bytes"][op == kind].sum(dtype=np.int64)
        writes = records[op == WRITE]
        start = writes["offset_bytes"] + byte_starts[writes["volume"]]
        exact.add(start, start + writes["size_bytes"])
        requests += len(records)
        announce(requests)

    both = RangeSet()
    for ranges in touched:
        both.add(*ranges.ranges())
    ops_counted = per_op.tolist()
    read_sizes, write_sizes = (Distribution(*counts.items()) for counts in sizes)
    return RecordSummary(
        requests=requests,
        reads=ops_counted[READ],
        writes=ops_counted[WRITE],
        trims=ops_counted[TRIM],
        flushes=ops_counted[FLUSH],
        bytes_read=int(size_of[READ]),
        bytes_written=int(size_of[WRITE]),
        bytes_trimmed=int(size_of[TRIM]),
        unique_bytes_read=touched[READ].size() * UNIT_BYTES,
        unique_bytes_written=touched[WRITE].size() * UNIT_BYTES,
        unique_bytes=both.size() * UNIT_BYTES,
        exact_unique_bytes_written=exact.size(),
        sequential=sequential,
        out_of_order=arrivals.out_of_order,
        duration_ns=arrivals.latest_ns,
        volumes=dict(zip(volumes.names, per_volume.tolist(), strict=True)),
        read_sizes=read_sizes,
        write_sizes=write_sizes,
        gaps=Distribution(*gaps.items()),
        mean_gap_ns=arrivals.latest_ns / (requests - 1) if requests > 1 else None,
        max_gap_ns=max_gap_ns,
        skew=Skew(np.sort(page_writes.items()[1])[::-1], page_writes.sampled_share),
        bursts=bursts_of(*windows.items()),
        runs=Runs.of(ops_counted[READ], ops_counted[WRITE], runs),
        lives=lives.lives(),
    )


def _continued(records: Records, ends: IntArray) -> int:
    """Count the records that start at the end of the previous record of their volume.

    `ends` are the ends of the last records of the volumes, shape (volumes,), updated in place.
    """
    records = records[np.argsort(records["volume"], kind="stable")]
    volume, end = records["volume"], records["offset_bytes"] + records["size_bytes"]
    is_first = np.diff(volume.astype(np.int64), prepend=-1) != 0
    expected = np.where(is_first, ends[volume], np.roll(end, 1))
    ends[volume] = end  # of several records of a volume, numpy stores the last one's end
    return int(np.count_nonzero(records["offset_bytes"] == expected))


def trace_facts(config: PlayedConfig, summary: RecordSummary) -> dict[str, Any]:
    """Return the facts of `PlayedConfig.origin` and the statistics, for JSON; also published statistics."""
    facts = {**config.origin(), **summary.as_dict()}
    if config.is_drawn:
        facts["published"] = _deviations(config, summary)
        facts["assumed"] = dict(getattr(config, "assumed", {}))
    return facts


def _deviations(config: PlayedConfig, summary: RecordSummary) -> list[dict[str, Any]]:
    """Compare generated with published statistics; return none if there are transforms or a window."""
    published = config.published() if config.is_whole else {}
    return [
        {
            "column": column,
            "generated": getattr(summary, column),
            "published": value,
            "deviation_percent": 100 * (getattr(summary, column) - value) / value,
        }
        for column, value in published.items()
    ]
