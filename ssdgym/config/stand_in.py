"""Models of ``configs/stand_ins``: what is known, and what is assumed, of a trace that cannot be had."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ByteSize, Field, NonNegativeInt, model_validator

from ssdgym.config.loading import Config, available, load_config, read_named
from ssdgym.config.notes import NotedConfig
from ssdgym.config.recorded import PlayedConfig

#: Bytes per page in which unique bytes are counted.
UNIT_BYTES = 4096
SECTOR_BYTES = 512
#: Fields that describe no quantity of the trace.
_UNNOTED = {"kind", "name", "layout_seed", *NotedConfig.model_fields, *PlayedConfig.model_fields}


class OperationConfig(Config):
    """What the reads, or the writes, of a trace come to."""

    requests: int = Field(ge=1, le=400_000_000, description="How many.")
    bytes: ByteSize = Field(gt=0, description="Sum of their sizes, in bytes or as 9.96GiB.")
    unique_bytes: ByteSize = Field(
        gt=0, description="Different bytes touched; a 4-KiB page that is touched counts whole."
    )

    @property
    def mean_bytes(self) -> float:
        """Mean request size."""
        return self.bytes / self.requests

    @property
    def smallest_bytes(self) -> int:
        """Smallest request size: a 4-KiB page, or a sector where the mean is less than a page."""
        return UNIT_BYTES if self.mean_bytes >= UNIT_BYTES else SECTOR_BYTES


class StandInConfig(PlayedConfig, NotedConfig):
    """Requests drawn so that they have the published statistics of a trace (`ssdgym.workloads.stand_ins`).

    Every quantity is named in ``sources`` or in ``assumed``; those of ``reads`` and ``writes`` as
    ``reads.requests`` and so on. ``same_as`` names a stand-in of ``configs/stand_ins`` that gives what is
    not given here, its notes included.
    """

    kind: Literal["stand_in"] = "stand_in"
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
        if data["same_as"] not in available("stand_ins"):
            raise ValueError(f"names in same_as {data['same_as']!r:.60}, which is none of configs/stand_ins")
        where, given = read_named(data["same_as"], "stand_ins")
        if "same_as" in given:
            raise ValueError(
                f"names in same_as {data['same_as']!r}, which has its own values from "
                f"{given['same_as']!r}; name that one"
            )
        other = load_config(StandInConfig, given, "stand_ins", where)
        return {**other.model_dump(exclude_unset=True), **own}

    @classmethod
    def noted_names(cls) -> list[str]:
        """The fields that need a source or an assumption."""
        names = []
        for name in cls.model_fields:
            if name in ("reads", "writes"):
                names += [f"{name}.{field}" for field in OperationConfig.model_fields]
            elif name not in _UNNOTED:
                names.append(name)
        return names

    @model_validator(mode="after")
    def _every_quantity_is_accounted_for(self) -> StandInConfig:
        for name in self.noted_names():
            if name not in self.sources and name not in self.assumed:
                raise ValueError(f"must name {name} in sources or in assumed")
        return self

    @model_validator(mode="after")
    def _extents_hold_requests(self) -> StandInConfig:
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
    def _quantities_fit_each_other(self) -> StandInConfig:
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
