"""Transforms: changes to records before they are replayed, each with its model."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
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

#: No request is played later than this; nanoseconds, some 145 years.
_LATEST_NS = 2**62


def _as_tuple(value: Any) -> Any:
    """Let one value stand for a list of one; volumes may have numbers for names."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return tuple(str(item) if type(item) is int else item for item in values)


class VolumesConfig(Config):
    """Keep the requests of some volumes (LUNs, disks, files) only."""

    kind: Literal["volumes"] = "volumes"
    keep: Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple)] = Field(
        description="Names of the volumes, as `ssdgym trace info` prints them; one or a list. In YAML, put"
        " those that are numbers in quotes."
    )


class OnlyConfig(Config):
    """Keep the requests of some operations only; `only(ops=write)` makes a trace write-only."""

    kind: Literal["only"] = "only"
    ops: Annotated[
        tuple[Literal["read", "write", "trim", "flush"], ...],
        Field(min_length=1),
        BeforeValidator(_as_tuple),
    ] = Field(description="One operation or a list.")


class HeadConfig(Config):
    """Keep the first so many requests."""

    kind: Literal["head"] = "head"
    requests: PositiveInt = Field(description="How many.")


class ScaleTimeConfig(Config):
    """Multiply all arrival times: below 1 the trace is played faster than it was recorded."""

    kind: Literal["scale_time"] = "scale_time"
    factor: float = Field(gt=0, le=1e6, description="New gap between arrivals over the old one.")


class AlignConfig(Config):
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


class ScaleSpaceConfig(Config):
    """Shrink the address space and what is in it: keep one of every so many regions, and close the gaps.

    Of every `factor` regions that follow each other one is kept, drawn by a seed. A region of whole logical
    blocks takes them along with all their requests in order, so that a device smaller by the same factor sees
    one in `factor` of the blocks touched, each written as often and in the same runs.
    """

    kind: Literal["scale_space"] = "scale_space"
    factor: int = Field(ge=1, le=1 << 20, description="The old size over the new one.")
    region_bytes: ByteSize = Field(
        ByteSize(36 << 20),
        ge=1 << 20,
        le=1 << 40,
        description="Size of a region: a multiple of the device's logical blocks. 36 MiB is one of 2, 4, 9 "
        "and 18 MiB.",
    )
    seed: NonNegativeInt = Field(0, description="Which regions are kept; no part of the stream's seed.")


class SortConfig(Config):
    """Put the requests in order of time, those of one time as they are; the trace is held in memory."""

    kind: Literal["sort"] = "sort"


TransformConfig = (
    VolumesConfig | OnlyConfig | HeadConfig | ScaleTimeConfig | ScaleSpaceConfig | AlignConfig | SortConfig
)
AnyTransformConfig = Annotated[TransformConfig, Field(discriminator="kind")]

# A transform is a function of the records of a chunk, its configuration, the volumes of the records, and
# of how many records of each operation it has seen before; it may change the records in place. Some
# transforms change the volumes, too, by a second function.


def _keep_volumes(records: Records, config: VolumesConfig, volumes: Volumes, seen: IntArray) -> Records:
    is_kept = np.isin(volumes.names, config.keep)
    records = records[is_kept[records["volume"]]]
    records["volume"] = (np.cumsum(is_kept) - 1)[records["volume"]]
    return records


def _kept_volumes(config: VolumesConfig, volumes: Volumes) -> Volumes:
    missing = [name for name in config.keep if name not in volumes.names]
    if missing:
        known = ", ".join(volumes.names[:20]) + (", ..." if len(volumes.names) > 20 else "")
        raise SsdgymError(
            f"transform volumes: the trace has no volume '{missing[0]}'; it has {len(volumes.names)}: "
            f"{known}."
        )
    both = zip(volumes.names, volumes.end_bytes, strict=True)
    names, end_bytes = zip(*((name, end) for name, end in both if name in config.keep), strict=True)
    return replace(volumes, names=names, end_bytes=end_bytes)


def _keep_operations(records: Records, config: OnlyConfig, volumes: Volumes, seen: IntArray) -> Records:
    return records[np.isin(OP_NAMES, config.ops)[records["op"]]]


def _keep_head(records: Records, config: HeadConfig, volumes: Volumes, seen: IntArray) -> Records:
    return records[: config.requests - int(seen.sum())]


def _scale_time(records: Records, config: ScaleTimeConfig, volumes: Volumes, seen: IntArray) -> Records:
    scaled = np.rint(records["time_ns"] * config.factor)
    if np.abs(scaled).max() > _LATEST_NS:
        raise SsdgymError(
            f"transform scale_time: factor {config.factor:g} moves a request more than 2**62 ns away; "
            "choose a smaller one."
        )
    records["time_ns"] = scaled
    return records


def _align(records: Records, config: AlignConfig, volumes: Volumes, seen: IntArray) -> Records:
    unit, is_flush = config.unit_bytes, records["op"] == FLUSH
    start = records["offset_bytes"]
    end = start + records["size_bytes"]
    # A trim that grew would take data that the host has kept.
    grows = (records["op"] != TRIM) & (config.partial == "grow")
    first = np.where(grows, start, start + unit - 1) // unit * unit
    last = np.where(grows, end + unit - 1, end) // unit * unit
    size = np.where(is_flush, 0, last - first)
    if size.max() > LARGEST_SIZE_BYTES:
        raise SsdgymError(
            f"transform align: units of {unit} bytes make a request larger than 2 GiB; choose a smaller unit."
        )
    records["offset_bytes"], records["size_bytes"] = first, np.maximum(size, 0)
    return records[(size > 0) | is_flush]


def _aligned_volumes(config: AlignConfig, volumes: Volumes) -> Volumes:
    unit = config.unit_bytes
    return replace(volumes, end_bytes=tuple(-(-end // unit) * unit for end in volumes.end_bytes))


def _scale_space(records: Records, config: ScaleSpaceConfig, volumes: Volumes, seen: IntArray) -> Records:
    first = _regions(config, volumes)[0][records["volume"]]
    start = records["offset_bytes"]
    end = _moved(start + records["size_bytes"], first, config)
    records["offset_bytes"] = _moved(start, first, config)
    # A request that reaches over regions that are left out is as long as what is left of it.
    records["size_bytes"] = end - records["offset_bytes"]
    is_flush = records["op"] == FLUSH
    numbers = seen[FLUSH] + np.cumsum(is_flush) - 1
    # Of the flushes the first of every `factor` is kept, as of the others.
    return records[(records["size_bytes"] > 0) | (is_flush & (numbers % config.factor == 0))]


def _smaller_volumes(config: ScaleSpaceConfig, volumes: Volumes) -> Volumes:
    first, regions = _regions(config, volumes)
    kept = _kept_before(first + regions, config) - _kept_before(first, config)
    return replace(volumes, end_bytes=tuple((kept * int(config.region_bytes)).tolist()))


def _regions(config: ScaleSpaceConfig, volumes: Volumes) -> tuple[IntArray, IntArray]:
    """Return the number of the first region of each volume, and how many it has, shape (volumes,)."""
    regions = np.array([-(-end // int(config.region_bytes)) for end in volumes.end_bytes])
    # Volumes that lie over each other lose the same regions.
    return np.zeros_like(regions) if volumes.overlay else np.cumsum(regions) - regions, regions


def _moved(places: IntArray, first_region: IntArray, config: ScaleSpaceConfig) -> IntArray:
    """Return how many bytes of its volume that are kept lie below each place, shape (n,)."""
    region_bytes = int(config.region_bytes)
    regions = first_region + places // region_bytes
    is_kept = regions % config.factor == _chosen(regions // config.factor, config)
    below = _kept_before(regions, config) - _kept_before(first_region, config)
    return below * region_bytes + np.where(is_kept, places % region_bytes, 0)


def _kept_before(regions: IntArray, config: ScaleSpaceConfig) -> IntArray:
    """Return how many regions are kept of those before each, shape (n,)."""
    groups = regions // config.factor
    return groups + (regions % config.factor > _chosen(groups, config))


def _chosen(groups: IntArray, config: ScaleSpaceConfig) -> IntArray:
    """Return the number of the region that is kept of each group, shape (n,)."""
    return (mixed(mixed(groups) ^ _key(config.seed)) % np.uint64(config.factor)).astype(np.int64)


@lru_cache(maxsize=8)
def _key(seed: int) -> np.uint64:
    return np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]


_RECORDS_OF: dict[str, Callable[[Records, Any, Volumes, IntArray], Records]] = {
    "volumes": _keep_volumes,
    "only": _keep_operations,
    "head": _keep_head,
    "scale_time": _scale_time,
    "scale_space": _scale_space,
    "align": _align,
    "sort": lambda records, config, volumes, seen: records,
}
_VOLUMES_OF: dict[str, Callable[[Any, Volumes], Volumes]] = {
    "volumes": _kept_volumes,
    "scale_space": _smaller_volumes,
    "align": _aligned_volumes,
}


class _Sorted:
    """All records of a source in order of time; see `RecordSource`."""

    def __init__(self, source: RecordSource) -> None:
        self.volumes = source.volumes
        self._source = source
        self._records: Records | None = None
        self._position = 0

    def __deepcopy__(self, memo: dict[int, object]) -> _Sorted:
        """Copy the position; the records, once read, are shared."""
        twin = copy.copy(self)
        if self._records is None:
            twin._source = copy.deepcopy(self._source, memo)
        return twin

    def chunk(self) -> Records:
        """See `RecordSource`."""
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
    """A source whose records have gone through transforms; see `RecordSource`."""

    def __init__(self, source: RecordSource, configs: Sequence[TransformConfig]) -> None:
        sorts = [number for number, config in enumerate(configs) if config.kind == "sort"]
        if sorts:
            source = _Sorted(Transformed(source, configs[: sorts[-1]]))
            configs = configs[sorts[-1] :]
        self._source = source
        self.volumes = source.volumes
        #: Each with the volumes before it, and how many records of each operation it has seen.
        self._steps: list[tuple[TransformConfig, Volumes, IntArray]] = []
        for config in configs:
            self._steps.append((config, self.volumes, np.zeros(len(OP_NAMES), np.int64)))
            if change := _VOLUMES_OF.get(config.kind):
                self.volumes = change(config, self.volumes)

    def chunk(self) -> Records:
        """See `RecordSource`."""
        while not self._is_over() and len(records := self._source.chunk()):
            for config, volumes, seen in self._steps:
                if len(records):
                    now = np.bincount(records["op"], minlength=len(OP_NAMES))
                    records = _RECORDS_OF[config.kind](records, config, volumes, seen)
                    seen += now
            if len(records):
                return records
        return NO_RECORDS

    def _is_over(self) -> bool:
        return any(
            isinstance(config, HeadConfig) and seen.sum() >= config.requests
            for config, _, seen in self._steps
        )


_ADAPTER: TypeAdapter[TransformConfig] = TypeAdapter(AnyTransformConfig)
_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def parse_transform(text: str) -> TransformConfig:
    """Return the transform written as `kind(field=value, ...)`, values as in YAML.

    Raises:
        SsdgymError: it is not written so, or is no transform.
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise SsdgymError(
            f"transform {text!r}: write it as head(requests=1000) or volumes(keep=[hm_0, hm_1])."
        )
    # Not within a list, where = may be part of a name.
    fields = re.sub(r"(^|,)(\s*\w+)\s*=\s*(?![^\[]*\])", r"\1\2: ", match[2] or "")
    try:
        data = parse_mapping("{" + fields + "}", "", as_texts=True)
        if "kind" in data:
            raise SsdgymError(": its kind is the word before the bracket; leave the field kind out.")
        return load_config(_ADAPTER, {**data, "kind": match[1]}, "transforms")
    except SsdgymError as error:
        raise SsdgymError(f"transform {text!r}: {str(error).partition(': ')[2]}") from None
