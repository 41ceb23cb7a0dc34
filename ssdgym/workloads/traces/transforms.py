"""Transforms: models of changes that are made to records before they are replayed."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, ByteSize, Field, NonNegativeInt, PositiveInt, TypeAdapter

from ssdgym.config.loading import Config, load_config, parse_mapping
from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, OP_NAMES, TRIM
from ssdgym.types import IntArray
from ssdgym.workloads.addresses import mixed
from ssdgym.workloads.base import CHUNK
from ssdgym.workloads.traces.record import LARGEST_SIZE_BYTES, NO_RECORDS, Records, RecordSource, Volumes

#: Largest arrival time in ns, about 146 years.
_LATEST_NS = 2**62


def _as_tuple(value: Any) -> Any:
    """Return a value, or a list of values, as a tuple; convert whole numbers (names of volumes) to texts."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return tuple(str(item) if type(item) is int else item for item in values)


class _Transform(Config):
    """Base of the transforms."""

    def volumes_of(self, volumes: Volumes) -> Volumes:
        """Return the volumes of the transformed records."""
        return volumes

    def records_of(self, records: Records, volumes: Volumes, seen: IntArray) -> Records:
        """Transform a chunk of records and return it.

        Args:
            records: the chunk, which may be changed in place, shape (n,), n > 0.
            volumes: volumes of the records before the transform.
            seen: number of records of each operation in earlier chunks, before the transform, (operations,).
        """
        return records

    def is_over(self, seen: IntArray) -> bool:
        """Return whether the transform drops all further records; `seen` as in `records_of`."""
        return False


class VolumesConfig(_Transform):
    """Keep only the requests of some volumes (LUNs, disks, files)."""

    kind: Literal["volumes"] = "volumes"
    keep: Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple)] = Field(
        description="Name of a volume, as `ssdgym trace info` prints it, or a list of names. In YAML, put"
        " a name that is a number in quotes."
    )

    def volumes_of(self, volumes: Volumes) -> Volumes:
        """See `_Transform`."""
        missing = [name for name in self.keep if name not in volumes.names]
        if missing:
            known = ", ".join(volumes.names[:20]) + (", ..." if len(volumes.names) > 20 else "")
            raise SsdgymError(
                f"transform volumes: the trace has no volume '{missing[0]}'; it has {len(volumes.names)}: "
                f"{known}."
            )
        both = zip(volumes.names, volumes.end_bytes, strict=True)
        names, end_bytes = zip(*((name, end) for name, end in both if name in self.keep), strict=True)
        return replace(volumes, names=names, end_bytes=end_bytes)

    def records_of(self, records: Records, volumes: Volumes, seen: IntArray) -> Records:
        """See `_Transform`."""
        is_kept = np.isin(volumes.names, self.keep)
        records = records[is_kept[records["volume"]]]
        records["volume"] = (np.cumsum(is_kept) - 1)[records["volume"]]
        return records


class OnlyConfig(_Transform):
    """Keep only the requests of some operations; `only(ops=write)` makes a trace write-only."""

    kind: Literal["only"] = "only"
    ops: Annotated[
        tuple[Literal["read", "write", "trim", "flush"], ...], Field(min_length=1), BeforeValidator(_as_tuple)
    ] = Field(description="One operation or a list.")

    def records_of(self, records: Records, volumes: Volumes, seen: IntArray) -> Records:
        """See `_Transform`."""
        return records[np.isin(OP_NAMES, self.ops)[records["op"]]]


class HeadConfig(_Transform):
    """Keep the first `requests` requests."""

    kind: Literal["head"] = "head"
    requests: PositiveInt = Field(description="Number of requests to keep.")

    def records_of(self, records: Records, volumes: Volumes, seen: IntArray) -> Records:
        """See `_Transform`."""
        return records[: self.requests - int(seen.sum())]

    def is_over(self, seen: IntArray) -> bool:
        """See `_Transform`."""
        return bool(seen.sum() >= self.requests)


class ScaleTimeConfig(_Transform):
    """Multiply all arrival times by a factor; with a factor below 1, requests arrive faster than recorded."""

    kind: Literal["scale_time"] = "scale_time"
    factor: float = Field(gt=0, le=1e6, description="Factor of all times.")

    def records_of(self, records: Records, volumes: Volumes, seen: IntArray) -> Records:
        """See `_Transform`."""
        scaled = np.rint(records["time_ns"] * self.factor)
        if np.abs(scaled).max() > _LATEST_NS:
            raise SsdgymError(
                f"transform scale_time: factor {self.factor:g} moves a request more than 2**62 ns away; "
                "choose a smaller one."
            )
        records["time_ns"] = scaled
        return records


class AlignConfig(_Transform):
    """Move the start and the end of every request to multiples of a unit.

    Without this transform, a device reads the rest of a page before each write of a part of the page.
    """

    kind: Literal["align"] = "align"
    unit_bytes: PositiveInt = Field(4096, le=1 << 30, description="Unit in bytes, such as the page size.")
    partial: Literal["grow", "drop"] = Field(
        "grow",
        description="grow: extend requests to whole units; drop: shorten requests to whole units, and remove "
        "requests without a whole unit. Trims are always shortened.",
    )

    def volumes_of(self, volumes: Volumes) -> Volumes:
        """See `_Transform`."""
        unit = self.unit_bytes
        return replace(volumes, end_bytes=tuple(-(-end // unit) * unit for end in volumes.end_bytes))

    def records_of(self, records: Records, volumes: Volumes, seen: IntArray) -> Records:
        """See `_Transform`."""
        unit, is_flush = self.unit_bytes, records["op"] == FLUSH
        start = records["offset_bytes"]
        end = start + records["size_bytes"]
        # A longer trim would delete data that the host still needs.
        grows = (records["op"] != TRIM) & (self.partial == "grow")
        first = np.where(grows, start, start + unit - 1) // unit * unit
        last = np.where(grows, end + unit - 1, end) // unit * unit
        size = np.where(is_flush, 0, last - first)
        if size.max() > LARGEST_SIZE_BYTES:
            raise SsdgymError(
                f"transform align: units of {unit} bytes make a request larger than 2 GiB; choose a smaller "
                "unit."
            )
        records["offset_bytes"], records["size_bytes"] = first, np.maximum(size, 0)
        return records[(size > 0) | is_flush]


@lru_cache(maxsize=8)
def _key(seed: int) -> np.uint64:
    return np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]


class ScaleSpaceConfig(_Transform):
    """Shrink the address space: keep one of every `factor` consecutive regions, and close the gaps.

    The seed chooses the kept regions. All requests to a kept region stay, in their order. So about
    1 / `factor` of the touched logical blocks remain, for a device that is smaller by the same factor, and
    each of these blocks is written as often and in the same runs as in the whole trace.
    """

    kind: Literal["scale_space"] = "scale_space"
    factor: int = Field(ge=1, le=1 << 20, description="Size before / size after.")
    region_bytes: ByteSize = Field(
        ByteSize(36 << 20),
        ge=1 << 20,
        le=1 << 40,
        description="Size of a region: should be a multiple of the size of the device's logical blocks. 36 "
        "MiB is a multiple of 2, 4, 9 and 18 MiB.",
    )
    seed: NonNegativeInt = Field(0, description="Seed that chooses the regions, not the seed of the run.")

    def volumes_of(self, volumes: Volumes) -> Volumes:
        """See `_Transform`."""
        first, regions = self._regions(volumes)
        kept = self._kept_before(first + regions) - self._kept_before(first)
        return replace(volumes, end_bytes=tuple((kept * int(self.region_bytes)).tolist()))

    def records_of(self, records: Records, volumes: Volumes, seen: IntArray) -> Records:
        """See `_Transform`."""
        first = self._regions(volumes)[0][records["volume"]]
        start = records["offset_bytes"]
        end = self._moved(start + records["size_bytes"], first)
        records["offset_bytes"] = self._moved(start, first)
        # A request that crosses dropped regions keeps only its bytes in kept regions.
        records["size_bytes"] = end - records["offset_bytes"]
        is_flush = records["op"] == FLUSH
        numbers = seen[FLUSH] + np.cumsum(is_flush) - 1
        # Flushes have no address, so the first one of every `factor` flushes is kept.
        return records[(records["size_bytes"] > 0) | (is_flush & (numbers % self.factor == 0))]

    def _regions(self, volumes: Volumes) -> tuple[IntArray, IntArray]:
        """Return the first region and the number of regions of each volume, each of shape (volumes,)."""
        regions = np.array([-(-end // int(self.region_bytes)) for end in volumes.end_bytes])
        # Overlaid volumes share one address space, so the same regions of all volumes are kept.
        return np.zeros_like(regions) if volumes.overlay else np.cumsum(regions) - regions, regions

    def _moved(self, places: IntArray, first_region: IntArray) -> IntArray:
        """Return the number of kept bytes of the volume below each place, shape (n,)."""
        region_bytes = int(self.region_bytes)
        regions = first_region + places // region_bytes
        is_kept = regions % self.factor == self._chosen(regions // self.factor)
        below = self._kept_before(regions) - self._kept_before(first_region)
        return below * region_bytes + np.where(is_kept, places % region_bytes, 0)

    def _kept_before(self, regions: IntArray) -> IntArray:
        """Return the number of kept regions before each region, shape (n,)."""
        groups = regions // self.factor
        return groups + (regions % self.factor > self._chosen(groups))

    def _chosen(self, groups: IntArray) -> IntArray:
        """Return the index of the kept region within each group, shape (n,)."""
        return (mixed(mixed(groups) ^ _key(self.seed)) % np.uint64(self.factor)).astype(np.int64)


class SortConfig(_Transform):
    """Sort the requests by time (stable sort); all of them are kept in memory."""

    kind: Literal["sort"] = "sort"


TransformConfig = (
    VolumesConfig | OnlyConfig | HeadConfig | ScaleTimeConfig | ScaleSpaceConfig | AlignConfig | SortConfig
)
AnyTransformConfig = Annotated[TransformConfig, Field(discriminator="kind")]


class _Sorted:
    """A `RecordSource` of all records of another source in order of time."""

    def __init__(self, source: RecordSource) -> None:
        self.volumes = source.volumes
        self._source = source
        self._records: Records | None = None
        self._position = 0

    def __deepcopy__(self, memo: dict[int, object]) -> _Sorted:
        """Copy the position; share the records if they have been read."""
        twin = copy.copy(self)
        if self._records is None:
            twin._source = copy.deepcopy(self._source, memo)
        return twin

    def chunk(self) -> Records:
        if self._records is None:
            chunks = [NO_RECORDS]
            while len(chunk := self._source.chunk()):
                chunks.append(chunk)
            records = np.concatenate(chunks)
            self._records = records[np.argsort(records["time_ns"], kind="stable")]
        part = self._records[self._position : self._position + CHUNK].copy()
        self._position += len(part)
        return part


class Transformed:
    """A `RecordSource` of the records of another source after transforms."""

    def __init__(self, source: RecordSource, configs: Sequence[TransformConfig]) -> None:
        sorts = [number for number, config in enumerate(configs) if config.kind == "sort"]
        if sorts:
            source = _Sorted(Transformed(source, configs[: sorts[-1]]))
            configs = configs[sorts[-1] :]
        self._source = source
        self.volumes = source.volumes
        #: Each transform, with the volumes before it, and `seen` as in `_Transform.records_of`.
        self._steps: list[tuple[TransformConfig, Volumes, IntArray]] = []
        for config in configs:
            self._steps.append((config, self.volumes, np.zeros(len(OP_NAMES), np.int64)))
            self.volumes = config.volumes_of(self.volumes)

    def chunk(self) -> Records:
        """See `RecordSource`."""
        while not any(config.is_over(seen) for config, _, seen in self._steps):
            records = self._source.chunk()
            if not len(records):
                break
            for config, volumes, seen in self._steps:
                if len(records):
                    now = np.bincount(records["op"], minlength=len(OP_NAMES))
                    records = config.records_of(records, volumes, seen)
                    seen += now
            if len(records):
                return records
        return NO_RECORDS


_ADAPTER: TypeAdapter[TransformConfig] = TypeAdapter(AnyTransformConfig)
_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def parse_transform(text: str) -> TransformConfig:
    """Return the transform that a text `kind(field=value, ...)` describes; values are YAML.

    Raises:
        SsdgymError: the text has another form, there is no such transform, or a field has a wrong value.
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise SsdgymError(
            f"transform {text!r}: write it as head(requests=1000) or volumes(keep=[hm_0, hm_1])."
        )
    # Replace = by a colon, except in a list, where = may be part of a name.
    fields = re.sub(r"(^|,)(\s*\w+)\s*=\s*(?![^\[]*\])", r"\1\2: ", match[2] or "")
    try:
        data = parse_mapping("{" + fields + "}", "", as_texts=True)
        if "kind" in data:
            raise SsdgymError(": its kind is the word before the bracket; leave the field kind out.")
        return load_config(_ADAPTER, {**data, "kind": match[1]}, "transforms")
    except SsdgymError as error:
        raise SsdgymError(f"transform {text!r}: {str(error).partition(': ')[2]}") from None
