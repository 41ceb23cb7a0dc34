"""Configuration of a synthetic trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import ByteSize, Field, NonNegativeInt, model_validator

from ssdgym.config.loading import NOTES
from ssdgym.errors import SsdgymError
from ssdgym.requests import READ, WRITE
from ssdgym.workloads.base import NotedConfig, seeds_of
from ssdgym.workloads.registry import workload_kind
from ssdgym.workloads.synthetic.drawing import (
    Accesses,
    Arrivals,
    Cascade,
    IndependentAccesses,
    Poisson,
    ReplayedAccesses,
    Space,
    SyntheticTrace,
    bias_of,
)
from ssdgym.workloads.synthetic.fitting import SECTOR_BYTES, UNIT_BYTES, Fit, OperationConfig, fit
from ssdgym.workloads.synthetic.marginals import Layout, Order
from ssdgym.workloads.traces.record import RecordSource, Volumes
from ssdgym.workloads.traces.recorded import PlayedConfig
from ssdgym.workloads.traces.transforms import ScaleSpaceConfig, TransformConfig

#: For each field of the configuration with a statistic, the field of `RecordSummary` that measures it.
_COLUMNS = {
    "reads.requests": "reads",
    "writes.requests": "writes",
    "reads.bytes": "bytes_read",
    "writes.bytes": "bytes_written",
    "reads.unique_bytes": "unique_bytes_read",
    "writes.unique_bytes": "unique_bytes_written",
}
#: Quantities of traces with memory (see `ssdgym.workloads.synthetic`), which need no note at their defaults.
_MEMORY = {
    "dispersion_1s",
    "op_persistence",
    *(f"{part}.{field}" for part in ("reads", "writes") for field in ("replay_share", "replay_requests")),
}
#: Fields that `memory_as` takes from another synthetic trace.
_WITH_MEMORY = {"arrivals", "footprint_factor", *_MEMORY}
#: Fields that describe no quantity of the trace and so need no note.
_UNNOTED = {"kind", "name", "layout_seed", *NotedConfig.model_fields, *PlayedConfig.model_fields}


@workload_kind
class SyntheticTraceConfig(PlayedConfig, NotedConfig):
    """Requests drawn to match the published statistics of a trace (`ssdgym.workloads.synthetic`).

    Every quantity must have a note in `sources` or in `assumed`, under a name such as `reads.requests`.
    `base` names a synthetic trace of `configs/synthetic_traces` that provides missing fields and their notes.
    `memory_as` names one whose `arrivals`, `footprint_factor`, `dispersion_1s`, `op_persistence` and replay
    fields are used instead of those of `base`.
    """

    folder: ClassVar[str] = "synthetic_traces"
    by_field: ClassVar[tuple[str, ...]] = ("reads", "writes", *NOTES)
    is_drawn = True

    kind: Literal["synthetic"] = "synthetic"
    name: str = Field(min_length=1, description="Name of the trace and of its only volume.")
    addresses: Literal["compact", "fold"] = Field(
        "fold", description="As `addresses` of kind trace. Few devices are as large as the volume."
    )
    reads: OperationConfig = Field(description="Statistics of the reads.")
    writes: OperationConfig = Field(description="Statistics of the writes.")
    duration_s: float = Field(gt=0, le=1e9, description="Mean time from the first request to the last.")
    arrivals: Literal["poisson", "cascade"] = Field(
        "poisson",
        description="poisson: times between arrivals are independent and exponentially distributed;"
        " cascade: bursts within bursts (a b-model) with the index of dispersion dispersion_1s.",
    )
    dispersion_1s: float | None = Field(
        None,
        ge=1,
        le=1e9,
        description="For arrivals cascade: index of dispersion (variance / mean) of the arrivals per second.",
    )
    op_persistence: float = Field(
        0.0,
        ge=0,
        le=0.999,
        description="1 - (changes between reads and writes) / (changes in a random order); 0: random order.",
    )
    address_space_bytes: ByteSize = Field(
        gt=0, le=1 << 50, description="Size of the volume, a multiple of extent_bytes."
    )
    extent_bytes: ByteSize = Field(
        ByteSize(256 << 10),
        le=1 << 30,
        description="Size of the parts of the volume that differ in hotness; a power of two.",
    )
    footprint_factor: float = Field(
        1.25, ge=1, le=1e6, description="Bytes that reads (or writes) can touch / unique bytes touched."
    )
    largest_bytes: ByteSize = Field(
        ByteSize(64 << 10), le=1 << 30, description="Size of the largest request; a power of two."
    )
    size_decay: float = Field(
        2.0,
        ge=0,
        le=10,
        description="Sizes are powers of two; shares are as near to size ** -size_decay as the mean size"
        " allows.",
    )
    layout_seed: NonNegativeInt = Field(
        0, description="Seed that assigns ranks of hotness to extents, independent of the run's seed."
    )

    @property
    def operations(self) -> dict[str, OperationConfig]:
        """Statistics of reads and of writes, by name of their field."""
        return {"reads": self.reads, "writes": self.writes}

    @classmethod
    def resolved(cls, data: dict[str, Any], below: tuple[str, ...] = ()) -> dict[str, Any]:
        """See `BasedConfig`."""
        return super().resolved(cls.joined(data, "memory_as", _WITH_MEMORY, below), below)

    @model_validator(mode="after")
    def _cascades_have_a_dispersion(self) -> SyntheticTraceConfig:
        if (self.arrivals == "cascade") != (self.dispersion_1s is not None):
            raise ValueError("needs dispersion_1s where arrivals is cascade, and only there")
        return self

    @classmethod
    def noted_names(cls) -> list[str]:
        """Return the names of the quantities, each of which needs a note in `sources` or `assumed`."""
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
            if name in _MEMORY and self._is_default(name):
                continue
            if name not in self.sources and name not in self.assumed:
                raise ValueError(f"must name {name} in sources or in assumed")
        return self

    def _is_default(self, name: str) -> bool:
        part, _, field = name.rpartition(".")
        model = self.operations[part] if part else self
        return bool(getattr(model, field) == type(model).model_fields[field].default)

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

    def _begun(self, seed: int) -> tuple[RecordSource, Sequence[TransformConfig]]:
        """See `PlayedConfig`; `scale_space` shrinks the configuration before requests are drawn."""
        first, rest = self.transforms[:1], self.transforms[1:]
        if any(isinstance(transform, ScaleSpaceConfig) for transform in rest):
            raise SsdgymError(
                f"{self.label}: scale_space makes a smaller synthetic trace, to which other transforms are "
                "done; put it first, once."
            )
        if first and isinstance(first[0], ScaleSpaceConfig):
            return self._shrunk(first[0].factor).source(seed), rest
        return super()._begun(seed)

    def _shrunk(self, factor: int) -> SyntheticTraceConfig:
        """Return the configuration with requests, bytes and volume divided by `factor`."""
        extents = -(-self.address_space_bytes // (self.extent_bytes * factor))
        changes: dict[str, Any] = {name: one.shrunk(factor) for name, one in self.operations.items()}
        changes["address_space_bytes"] = ByteSize(extents * self.extent_bytes)
        if self.dispersion_1s is not None:
            # The index of dispersion if each arrival is kept with the probability 1 / factor.
            changes["dispersion_1s"] = 1 + (self.dispersion_1s - 1) / factor
        return self.model_copy(update=changes)

    def source(self, seed: int) -> RecordSource:
        """See `PlayedConfig`."""
        order, arrivals, reads, writes = seeds_of(seed).spawn(4)
        space, extent = int(self.address_space_bytes), int(self.extent_bytes)
        places = Space(Layout(space // extent, self.layout_seed), extent, space)
        return SyntheticTrace(
            Volumes((self.name,), (space,)),
            Order(
                self.reads.requests, self.writes.requests, self.op_persistence, np.random.default_rng(order)
            ),
            self._arrival_times(np.random.default_rng(arrivals)),
            {
                READ: self._accesses(self.reads, places, reads),
                WRITE: self._accesses(self.writes, places, writes),
            },
        )

    def _arrival_times(self, rng: np.random.Generator) -> Arrivals:
        requests, duration_ns = self.reads.requests + self.writes.requests, self.duration_s * 1e9
        if self.dispersion_1s is None:
            return Poisson(duration_ns / (requests - 1), rng)
        bias = bias_of(self.dispersion_1s, requests, duration_ns)
        if bias is None:
            raise SsdgymError(
                f"synthetic trace {self.name}: {requests} requests in {self.duration_s:g} s cannot have an "
                f"index of dispersion of {self.dispersion_1s:g} at 1 s; correct dispersion_1s."
            )
        return Cascade(requests, round(duration_ns), bias, rng)

    def _accesses(self, operation: OperationConfig, space: Space, seed: np.random.SeedSequence) -> Accesses:
        if operation.replay_share:
            return ReplayedAccesses(self.fit(operation), operation, space, seed)
        return IndependentAccesses(self.fit(operation), space, seed)

    def fit(self, operation: OperationConfig) -> Fit:
        """Return the distributions of sizes and extents of the reads, or of the writes."""
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
                "figures, or increase footprint_factor, or lower extent_bytes or replay_share."
            )
        return fitted

    def published(self) -> dict[str, float]:
        """See `PlayedConfig`; only statistics with a note in `sources` are published."""
        columns: dict[str, float] = {}
        if {"reads.requests", "writes.requests"} <= self.sources.keys():
            columns["requests"] = self.reads.requests + self.writes.requests
        for field, column in _COLUMNS.items():
            if field in self.sources:
                operation, _, quantity = field.partition(".")
                columns[column] = int(getattr(self.operations[operation], quantity))
        return columns
