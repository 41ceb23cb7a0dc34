"""Uniform random access."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import align
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.base import AccessConfig


@workload_kind
class UniformConfig(AccessConfig):
    """Every page of the footprint is as likely as any other."""

    kind: Literal["uniform"] = "uniform"

    def picker(self, footprint: int, rng: np.random.Generator) -> UniformPicker:
        """See `AccessConfig`."""
        return UniformPicker(footprint, rng)


class UniformPicker:
    """Every page of the footprint with the same probability."""

    def __init__(self, footprint: int, rng: np.random.Generator) -> None:
        """Prepare the draws.

        Args:
            footprint: number of pages to choose from.
            rng: draws for this picker alone.
        """
        self._footprint = footprint
        self._rng = rng

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        pages = self._rng.integers(self._footprint, size=len(sizes), dtype=np.int32)
        return align(pages, sizes, self._footprint)
