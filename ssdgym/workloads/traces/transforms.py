"""Transforms: changes to records before they are replayed, each with its model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, ByteSize, Field, NonNegativeInt, PositiveInt, TypeAdapter

from ssdgym.config.loading import Config, load_config, parse_mapping
from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, OP_NAMES, TRIM
from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.addresses import mixed
from ssdgym.workloads.traces.record import LARGEST_SIZE_BYTES, NO_RECORDS, Records, RecordSource, Volumes


class Transform:
    """One change of records. Its state is in plain attributes, so that a source can be copied and pickled."""

    #: Whether no more records will come out.
    is_finished = False

    def __init__(self, config: Any, volumes: Volumes) -> None:
        """Begin with records that have these volumes."""
        self.config = config
        #: What the field `volume` of the records refers to afterwards.
        self.volumes = volumes

    def __call__(self, records: Records) -> Records:
        """Return what becomes of the records of a chunk, shape (m,); may change them in place."""
        raise NotImplementedError


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


class _SomeVolumes(Transform):
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


class _SomeOps(Transform):
    def __init__(self, config: OnlyConfig, volumes: Volumes) -> None:
        super().__init__(config, volumes)
        self._is_kept = np.array([name in config.ops for name in OP_NAMES])

    def __call__(self, records: Records) -> Records:
        return records[self._is_kept[records["op"]]]


class _Head(Transform):
    def __init__(self, config: HeadConfig, volumes: Volumes) -> None:
        super().__init__(config, volumes)
        self._left = config.requests

    def __call__(self, records: Records) -> Records:
        records = records[: self._left]
        self._left -= len(records)
        self.is_finished = self._left == 0
        return records


class _ScaledTime(Transform):
    def __call__(self, records: Records) -> Records:
        factor = self.config.factor
        scaled = np.rint(records["time_ns"] * factor)
        if np.abs(scaled).max() > _LATEST_NS:
            raise SsdgymError(
                f"transform scale_time: factor {factor:g} moves a request more than 2**62 ns away; "
                "choose a smaller one."
            )
        records["time_ns"] = scaled
        return records


class _Aligned(Transform):
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


# The transform that shrinks the address space, for a device that is smaller by the same factor.
#
# The space is cut into regions, and of every `factor` regions that follow each other one is kept, drawn by
# a seed; the others are left out. A region of whole logical blocks takes its blocks along as they are, with
# all their requests in order. So the small device sees one in `factor` of the blocks that are touched, each
# written as often and in the same runs as on the large one.


class ScaleSpaceConfig(Config):
    """Shrink the address space and what is in it: keep one of every so many regions, and close the gaps."""

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


class _ScaledSpace(Transform):
    def __init__(self, config: ScaleSpaceConfig, volumes: Volumes) -> None:
        self._factor = config.factor
        self._region_bytes = int(config.region_bytes)
        self._key = np.random.SeedSequence(config.seed).generate_state(1, np.uint64)[0]
        self._flushes = 0
        regions = np.array([-(-end // self._region_bytes) for end in volumes.end_bytes])
        # Volumes that lie over each other lose the same regions.
        self._first_region = np.zeros_like(regions) if volumes.overlay else np.cumsum(regions) - regions
        kept = self._kept_before(self._first_region + regions) - self._kept_before(self._first_region)
        self.volumes = replace(volumes, end_bytes=tuple((kept * self._region_bytes).tolist()))

    def __call__(self, records: Records) -> Records:
        first = self._first_region[records["volume"]]
        start = records["offset_bytes"]
        end = self._moved(start + records["size_bytes"], first)
        records["offset_bytes"] = self._moved(start, first)
        # A request that reaches over regions that are left out is as long as what is left of it.
        records["size_bytes"] = end - records["offset_bytes"]
        return records[(records["size_bytes"] > 0) | self._kept_flushes(records["op"] == FLUSH)]

    def _moved(self, places: IntArray, first_region: IntArray) -> IntArray:
        """Return how many bytes of its volume that are kept lie below each place, shape (n,)."""
        regions = first_region + places // self._region_bytes
        below = self._kept_before(regions) - self._kept_before(first_region)
        within = np.where(self._is_kept(regions), places % self._region_bytes, 0)
        return below * self._region_bytes + within

    def _kept_before(self, regions: IntArray) -> IntArray:
        """Return how many regions are kept of those before each, shape (n,)."""
        groups = regions // self._factor
        return groups + (regions % self._factor > self._chosen(groups))

    def _is_kept(self, regions: IntArray) -> BoolArray:
        return np.asarray(regions % self._factor == self._chosen(regions // self._factor))

    def _chosen(self, groups: IntArray) -> IntArray:
        """Return the number of the region that is kept of each group, shape (n,)."""
        return (mixed(mixed(groups) ^ self._key) % np.uint64(self._factor)).astype(np.int64)

    def _kept_flushes(self, is_flush: BoolArray) -> BoolArray:
        """Return which flushes are kept, shape (n,): the first of every `factor`, as of the others."""
        numbers = self._flushes + np.cumsum(is_flush) - 1
        self._flushes += int(np.count_nonzero(is_flush))
        return is_flush & (numbers % self._factor == 0)


TransformConfig = VolumesConfig | OnlyConfig | HeadConfig | ScaleTimeConfig | ScaleSpaceConfig | AlignConfig
AnyTransformConfig = Annotated[TransformConfig, Field(discriminator="kind")]
_TRANSFORMS: dict[str, type[Transform]] = {
    "volumes": _SomeVolumes,
    "only": _SomeOps,
    "head": _Head,
    "scale_time": _ScaledTime,
    "scale_space": _ScaledSpace,
    "align": _Aligned,
}


class Transformed:
    """A source whose records have gone through transforms; see `RecordSource`."""

    def __init__(self, source: RecordSource, configs: Sequence[TransformConfig]) -> None:
        self._source = source
        self._transforms: list[Transform] = []
        self.volumes = source.volumes
        for config in configs:
            self._transforms.append(_TRANSFORMS[config.kind](config, self.volumes))
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
