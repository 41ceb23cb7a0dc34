"""Sequential access: page after page, over and over."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ssdgym.types import IntegerArray
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.base import AccessConfig


@workload_kind
class SequentialConfig(AccessConfig):
    """Page after page from the start of the footprint to its end, over and over."""

    kind: Literal["sequential"] = "sequential"

    def picker(self, footprint: int, rng: np.random.Generator) -> SequentialPicker:
        """See `AccessConfig`."""
        return SequentialPicker(footprint)


class SequentialPicker:
    """Each request starts where the last one ended; one that reaches over the end is split there."""

    def __init__(self, footprint: int) -> None:
        """Start at the first page of a footprint of so many pages."""
        self._footprint = footprint
        self._position = 0

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        end = self._position + np.cumsum(sizes, dtype=np.int64)
        self._position = int(end[-1]) % self._footprint
        return (end - sizes) % self._footprint
