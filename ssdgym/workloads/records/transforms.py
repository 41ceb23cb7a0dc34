"""Changes to records on their way: each takes the records of a chunk and returns what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ssdgym.config.transforms import (
    AlignConfig,
    HeadConfig,
    OnlyConfig,
    ScaleTimeConfig,
    TransformConfig,
    VolumesConfig,
)
from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, OP_NAMES, TRIM
from ssdgym.workloads.records.record import LARGEST_SIZE_BYTES, NO_RECORDS, Records, RecordSource, Volumes

#: No request is played later than this; nanoseconds, some 145 years.
_LATEST_NS = 2**62


class Transform(Protocol):
    """One change. Its state is in plain attributes, so that a source can be copied and pickled.

    Attributes:
        volumes: what the records' ``volume`` refers to afterwards.
        is_finished: nothing more will come out.
    """

    volumes: Volumes

    @property
    def is_finished(self) -> bool: ...

    def __call__(self, records: Records) -> Records:
        """Return what becomes of the records of a chunk, shape (m,); may change them in place."""


class Transformed:
    """A source whose records have gone through transforms; see `RecordSource`."""

    def __init__(self, source: RecordSource, configs: Sequence[TransformConfig]) -> None:
        self._source = source
        self._transforms: list[Transform] = []
        self.volumes = source.volumes
        for config in configs:
            self._transforms.append(_transform(config, self.volumes))
            self.volumes = self._transforms[-1].volumes

    def chunk(self) -> Records:
        """See `RecordSource`."""
        while not any(transform.is_finished for transform in self._transforms):
            records = self._source.chunk()
            if not len(records):
                break
            for transform in self._transforms:
                if not len(records):
                    break
                records = transform(records)
            if len(records):
                return records
        return NO_RECORDS


def _transform(config: TransformConfig, volumes: Volumes) -> Transform:
    match config:
        case VolumesConfig():
            return _SomeVolumes(config, volumes)
        case OnlyConfig():
            return _SomeOps(config, volumes)
        case HeadConfig():
            return _Head(config, volumes)
        case ScaleTimeConfig():
            return _ScaledTime(config, volumes)
        case AlignConfig():
            return _Aligned(config, volumes)


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
        self.volumes = Volumes(
            tuple(volumes.names[number] for number in kept),
            tuple(volumes.end_bytes[number] for number in kept),
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
        self.volumes = Volumes(
            volumes.names, tuple(-(-end // self._unit) * self._unit for end in volumes.end_bytes)
        )

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
