"""Summary of a trace: counts, bytes, footprint, and distributions of sizes, arrivals and writes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from ssdgym.workloads.records.counts import Distribution, LogHistogram
from ssdgym.workloads.records.dynamics.bursts import Bursts
from ssdgym.workloads.records.dynamics.lives import Lives
from ssdgym.workloads.records.dynamics.runs import Runs
from ssdgym.workloads.records.skew import Skew

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
