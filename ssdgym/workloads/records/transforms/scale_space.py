"""The transform that shrinks the address space, for a device that is smaller by the same factor.

The space is cut into regions, and of every `factor` regions that follow each other one is kept, drawn by a
seed; the others are left out. A region of whole logical blocks takes its blocks along as they are, with all
their requests in order. So the small device sees one in `factor` of the blocks that are touched, each written
as often and in the same runs as on the large one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import ByteSize, Field, NonNegativeInt

from ssdgym.requests import FLUSH
from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.mixing import mixed
from ssdgym.workloads.records.record import Records, Volumes
from ssdgym.workloads.records.transforms.base import Transform, TransformBase


class ScaleSpaceConfig(TransformBase):
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

    def start(self, volumes: Volumes) -> Transform:
        """See `TransformBase`; the regions of all volumes, one after the other, form the groups."""
        return _ScaledSpace(self, volumes)


class _ScaledSpace:
    is_finished = False

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
