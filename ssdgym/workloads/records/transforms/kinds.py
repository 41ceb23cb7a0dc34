"""Transforms that keep some of the records, or change their times and ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PositiveInt

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, OP_NAMES, TRIM
from ssdgym.workloads.records.record import LARGEST_SIZE_BYTES, Records, Volumes
from ssdgym.workloads.records.transforms.base import Transform, TransformBase

#: No request is played later than this; nanoseconds, some 145 years.
_LATEST_NS = 2**62


def _as_tuple(value: Any) -> Any:
    """Let one value stand for a list of one; volumes may have numbers for names."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return tuple(str(item) if type(item) is int else item for item in values)


class VolumesConfig(TransformBase):
    """Keep the requests of some volumes (LUNs, disks, files) only."""

    kind: Literal["volumes"] = "volumes"
    keep: Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple)] = Field(
        description="Names of the volumes, as `ssdgym trace info` prints them; one or a list. In YAML, put"
        " those that are numbers in quotes."
    )

    def start(self, volumes: Volumes) -> Transform:
        """See `TransformBase`."""
        return _SomeVolumes(self, volumes)


class OnlyConfig(TransformBase):
    """Keep the requests of some operations only; `only(ops=write)` makes a trace write-only."""

    kind: Literal["only"] = "only"
    ops: Annotated[
        tuple[Literal["read", "write", "trim", "flush"], ...],
        Field(min_length=1),
        BeforeValidator(_as_tuple),
    ] = Field(description="One operation or a list.")

    def start(self, volumes: Volumes) -> Transform:
        """See `TransformBase`."""
        return _SomeOps(self, volumes)


class HeadConfig(TransformBase):
    """Keep the first so many requests."""

    kind: Literal["head"] = "head"
    requests: PositiveInt = Field(description="How many.")

    def start(self, volumes: Volumes) -> Transform:
        """See `TransformBase`."""
        return _Head(self, volumes)


class ScaleTimeConfig(TransformBase):
    """Multiply all arrival times: below 1 the trace is played faster than it was recorded."""

    kind: Literal["scale_time"] = "scale_time"
    factor: float = Field(gt=0, le=1e6, description="New gap between arrivals over the old one.")

    def start(self, volumes: Volumes) -> Transform:
        """See `TransformBase`."""
        return _ScaledTime(self, volumes)


class AlignConfig(TransformBase):
    """Move the ends of every request to multiples of a unit.

    Without it, a write of part of a page makes the device read the rest of that page first.
    """

    kind: Literal["align"] = "align"
    unit_bytes: PositiveInt = Field(4096, le=1 << 30, description="The unit: the page size, for example.")
    partial: Literal["grow", "drop"] = Field(
        "grow",
        description="Units touched in part: grow takes them in whole; drop leaves them out, and requests"
        " of which nothing is left with them. Trims never grow.",
    )

    def start(self, volumes: Volumes) -> Transform:
        """See `TransformBase`."""
        return _Aligned(self, volumes)


class _SomeVolumes:
    is_finished = False

    def __init__(self, config: VolumesConfig, volumes: Volumes) -> None:
        missing = [name for name in config.keep if name not in volumes.names]
        if missing:
            known = ", ".join(volumes.names[:20]) + (", ..." if len(volumes.names) > 20 else "")
            raise SsdgymError(
                f"transform volumes: the trace has no volume '{missing[0]}'; it has {len(volumes.names)}: "
                f"{known}."
            )
        kept = [number for number, name in enumerate(volumes.names) if name in config.keep]
        self.volumes = replace(
            volumes,
            names=tuple(volumes.names[number] for number in kept),
            end_bytes=tuple(volumes.end_bytes[number] for number in kept),
        )
        self._is_kept = np.isin(np.arange(len(volumes.names)), kept)
        self._number = (np.cumsum(self._is_kept) - 1).astype(np.uint16)

    def __call__(self, records: Records) -> Records:
        records = records[self._is_kept[records["volume"]]]
        records["volume"] = self._number[records["volume"]]
        return records


class _SomeOps:
    is_finished = False

    def __init__(self, config: OnlyConfig, volumes: Volumes) -> None:
        self.volumes = volumes
        self._is_kept = np.array([name in config.ops for name in OP_NAMES])

    def __call__(self, records: Records) -> Records:
        return records[self._is_kept[records["op"]]]


class _Head:
    def __init__(self, config: HeadConfig, volumes: Volumes) -> None:
        self.volumes = volumes
        self._left = config.requests

    @property
    def is_finished(self) -> bool:
        return self._left == 0

    def __call__(self, records: Records) -> Records:
        records = records[: self._left]
        self._left -= len(records)
        return records


class _ScaledTime:
    is_finished = False

    def __init__(self, config: ScaleTimeConfig, volumes: Volumes) -> None:
        self.volumes = volumes
        self._factor = config.factor

    def __call__(self, records: Records) -> Records:
        scaled = np.rint(records["time_ns"] * self._factor)
        if np.abs(scaled).max() > _LATEST_NS:
            raise SsdgymError(
                f"transform scale_time: factor {self._factor:g} moves a request more than 2**62 ns away; "
                "choose a smaller one."
            )
        records["time_ns"] = scaled
        return records


class _Aligned:
    is_finished = False

    def __init__(self, config: AlignConfig, volumes: Volumes) -> None:
        self._unit = config.unit_bytes
        self._grows = config.partial == "grow"
        ends = tuple(-(-end // self._unit) * self._unit for end in volumes.end_bytes)
        self.volumes = replace(volumes, end_bytes=ends)

    def __call__(self, records: Records) -> Records:
        start = records["offset_bytes"]
        end = start + records["size_bytes"]
        up = self._unit - 1
        # A trim that grew would take data that the host has kept.
        grows = (records["op"] != TRIM) & self._grows
        first = np.where(grows, start, start + up) // self._unit * self._unit
        last = np.where(grows, end + up, end) // self._unit * self._unit
        size = np.where(records["op"] == FLUSH, 0, last - first)
        if size.max() > LARGEST_SIZE_BYTES:
            raise SsdgymError(
                f"transform align: units of {self._unit} bytes make a request larger than 2 GiB; "
                "choose a smaller unit."
            )
        records["offset_bytes"], records["size_bytes"] = first, np.maximum(size, 0)
        return records[(size > 0) | (records["op"] == FLUSH)]
