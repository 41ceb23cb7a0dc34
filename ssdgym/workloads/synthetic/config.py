"""Model of a synthetic trace, and the records drawn from it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import ByteSize, Field, NonNegativeInt, model_validator

from ssdgym.config.loading import available, load_config, read_named
from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, WRITE
from ssdgym.workloads.base import seeds_of
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.provenance import NotedConfig
from ssdgym.workloads.records.played import PlayedConfig
from ssdgym.workloads.records.record import NO_RECORDS, RECORD, Records, Volumes
from ssdgym.workloads.synthetic.drawing import Accesses, Arrivals
from ssdgym.workloads.synthetic.fitting import SECTOR_BYTES, UNIT_BYTES, Fit, OperationConfig, fit
from ssdgym.workloads.synthetic.layout import Layout

#: Columns of `RecordSummary` by the field that gives them.
_COLUMNS = {
    "reads.requests": "reads",
    "writes.requests": "writes",
    "reads.bytes": "bytes_read",
    "writes.bytes": "bytes_written",
    "reads.unique_bytes": "unique_bytes_read",
    "writes.unique_bytes": "unique_bytes_written",
}
#: Fields that describe no quantity of the trace.
_UNNOTED = {"kind", "name", "layout_seed", *NotedConfig.model_fields, *PlayedConfig.model_fields}


@workload_kind
class SyntheticTraceConfig(PlayedConfig, NotedConfig):
    """Requests drawn so that they have the published statistics of a trace (`ssdgym.workloads.synthetic`).

    Every quantity is named in `sources` or in `assumed`; those of `reads` and `writes` as
    `reads.requests` and so on. `same_as` names a synthetic trace of `configs/synthetic_traces`
    that gives what is not given here, its notes included.
    """

    is_drawn = True

    kind: Literal["synthetic"] = "synthetic"
    name: str = Field(min_length=1, description="Name of the trace, and of the one volume.")
    addresses: Literal["compact", "fold"] = Field(
        "fold", description="As of a trace; folded by default, since few devices are as large as the volume."
    )
    reads: OperationConfig = Field(description="What the reads come to.")
    writes: OperationConfig = Field(description="What the writes come to.")
    duration_s: float = Field(gt=0, le=1e9, description="Mean time from the first request to the last.")
    arrivals: Literal["poisson"] = Field(
        "poisson", description="Times between arrivals are independent and exponentially distributed."
    )
    address_space_bytes: ByteSize = Field(
        gt=0, le=1 << 50, description="Size of the volume, a multiple of extent_bytes."
    )
    extent_bytes: ByteSize = Field(
        ByteSize(256 << 10),
        le=1 << 30,
        description="Unit in which the volume is hot or cold; a power of two.",
    )
    footprint_factor: float = Field(
        1.25, ge=1, le=1e6, description="Bytes within reach of reads, or of writes, over those touched."
    )
    largest_bytes: ByteSize = Field(
        ByteSize(64 << 10), le=1 << 30, description="Largest request; a power of two."
    )
    size_decay: float = Field(
        2.0,
        ge=0,
        le=10,
        description="Sizes are powers of two; the weight of each is size ** -size_decay before the tilt that"
        " gives the mean.",
    )
    layout_seed: NonNegativeInt = Field(
        0, description="Seed by which hot extents are spread over the volume; no part of the stream's seed."
    )

    @property
    def operations(self) -> dict[str, OperationConfig]:
        """Reads and writes, by field name."""
        return {"reads": self.reads, "writes": self.writes}

    @model_validator(mode="before")
    @classmethod
    def _values_of_another(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "same_as" not in data:
            return data
        own = {name: value for name, value in data.items() if name != "same_as"}
        if data["same_as"] not in available("synthetic_traces"):
            raise ValueError(
                f"names in same_as {data['same_as']!r:.60}, which is none of configs/synthetic_traces"
            )
        where, given = read_named(data["same_as"], "synthetic_traces")
        if "same_as" in given:
            raise ValueError(
                f"names in same_as {data['same_as']!r}, which has its own values from "
                f"{given['same_as']!r}; name that one"
            )
        other = load_config(SyntheticTraceConfig, given, "synthetic_traces", where)
        return {**other.model_dump(exclude_unset=True), **own}

    @classmethod
    def noted_names(cls) -> list[str]:
        """Return the names of the quantities, each of which needs a source or an assumption."""
        names = []
        for name in cls.model_fields:
            if name in ("reads", "writes"):
                names += [f"{name}.{field}" for field in OperationConfig.model_fields]
            elif name not in _UNNOTED:
                names.append(name)
        return names

    @model_validator(mode="after")
    def _every_quantity_is_accounted_for(self) -> SyntheticTraceConfig:
        for name in self.noted_names():
            if name not in self.sources and name not in self.assumed:
                raise ValueError(f"must name {name} in sources or in assumed")
        return self

    @model_validator(mode="after")
    def _extents_hold_requests(self) -> SyntheticTraceConfig:
        for name in ("extent_bytes", "largest_bytes"):
            size = getattr(self, name)
            if size < UNIT_BYTES or size & (size - 1):
                raise ValueError(f"needs {name} to be a power of two from {UNIT_BYTES} up, not {size}")
        if self.extent_bytes < self.largest_bytes:
            raise ValueError(
                f"needs extent_bytes ({self.extent_bytes}) to be at least largest_bytes"
                f" ({self.largest_bytes})"
            )
        if self.address_space_bytes % self.extent_bytes:
            raise ValueError(
                f"needs address_space_bytes ({self.address_space_bytes}) to be a multiple of extent_bytes"
                f" ({self.extent_bytes})"
            )
        return self

    @model_validator(mode="after")
    def _quantities_fit_each_other(self) -> SyntheticTraceConfig:
        for name, operation in self.operations.items():
            if not SECTOR_BYTES <= operation.mean_bytes <= self.largest_bytes:
                raise ValueError(
                    f"needs the mean size of {name} to be {SECTOR_BYTES} to {self.largest_bytes} bytes,"
                    f" not {operation.mean_bytes:.0f}; correct {name}.bytes, {name}.requests or largest_bytes"
                )
            if operation.unique_bytes > self.address_space_bytes:
                raise ValueError(
                    f"needs {name}.unique_bytes ({operation.unique_bytes}) to fit into address_space_bytes"
                    f" ({self.address_space_bytes})"
                )
        return self

    @property
    def label(self) -> str:
        """See `PlayedConfig`."""
        return f"synthetic:{self.name}"

    def depends_on(self, seed: int) -> tuple[tuple[int, ...], int]:
        """See `PlayedConfig`."""
        return (), seed

    def source(self, seed: int) -> SyntheticTrace:
        """See `PlayedConfig`."""
        return SyntheticTrace(self, seed)

    def fit(self, operation: OperationConfig) -> Fit:
        """Return how to draw one operation so that its requests, bytes and unique bytes are as configured.

        Raises:
            SsdgymError: the unique bytes are more than the requests can touch.
        """
        fitted = fit(
            operation,
            space_bytes=self.address_space_bytes,
            extent_bytes=self.extent_bytes,
            footprint_factor=self.footprint_factor,
            largest_bytes=self.largest_bytes,
            size_decay=self.size_decay,
        )
        if fitted is None:
            raise SsdgymError(
                f"synthetic trace {self.name}: {operation.requests} requests of {operation.bytes} bytes in "
                f"all cannot touch {operation.unique_bytes} unique bytes as configured; correct these "
                "figures, or increase footprint_factor or lower extent_bytes."
            )
        return fitted

    def published(self) -> dict[str, float]:
        """Return what sources give of the trace, by column of `RecordSummary`, sizes in bytes.

        Assumed quantities are left out.
        """
        columns: dict[str, float] = {}
        if {"reads.requests", "writes.requests"} <= self.sources.keys():
            columns["requests"] = self.reads.requests + self.writes.requests
        for field, column in _COLUMNS.items():
            if field in self.sources:
                operation, _, quantity = field.partition(".")
                columns[column] = int(getattr(self.operations[operation], quantity))
        return columns


class SyntheticTrace:
    """A record source; see `ssdgym.workloads.synthetic` for the model. Its memory does not grow.

    Attributes:
        volumes: a single one, named after the trace.
    """

    def __init__(self, config: SyntheticTraceConfig, seed: int) -> None:
        """Start with the first record.

        Args:
            config: the statistics.
            seed: not negative.

        Raises:
            SsdgymError: no skew and no scan make the unique bytes come out.
        """
        order, arrivals, reads, writes = seeds_of(seed).spawn(4)
        space, extent = int(config.address_space_bytes), int(config.extent_bytes)
        self.volumes = Volumes((config.name,), (space,))
        self._left = {READ: config.reads.requests, WRITE: config.writes.requests}
        self._order = np.random.Generator(np.random.PCG64(order))
        mean_ns = config.duration_s * 1e9 / (sum(self._left.values()) - 1)
        self._arrivals = Arrivals(mean_ns, np.random.Generator(np.random.PCG64(arrivals)))
        layout = Layout(space // extent, config.layout_seed)
        self._accesses = {
            READ: Accesses(config.fit(config.reads), layout, extent, space, reads),
            WRITE: Accesses(config.fit(config.writes), layout, extent, space, writes),
        }

    def chunk(self) -> Records:
        """See `ssdgym.workloads.records.record.RecordSource`."""
        count = min(CHUNK, sum(self._left.values()))
        if count == 0:
            return NO_RECORDS
        # A sample without replacement from all that is left, so that the totals come out exactly.
        reads = int(self._order.hypergeometric(self._left[READ], self._left[WRITE], count))
        is_read = np.arange(count) < reads
        self._order.shuffle(is_read)
        records = np.zeros(count, RECORD)
        records["time_ns"] = self._arrivals.next(count)
        records["op"] = np.where(is_read, READ, WRITE)
        for op, is_op, number in ((READ, is_read, reads), (WRITE, ~is_read, count - reads)):
            records["offset_bytes"][is_op], records["size_bytes"][is_op] = self._accesses[op].next(number)
            self._left[op] -= number
        return records
