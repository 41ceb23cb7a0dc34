"""Uniform random access."""

from __future__ import annotations

import numpy as np

from ssdgym.config.generated import UniformConfig
from ssdgym.workloads.addresses import IntArray, align


class UniformPicker:
    """Every page of the footprint with the same probability."""

    def __init__(self, config: UniformConfig, footprint: int, rng: np.random.Generator) -> None:
        self._footprint = footprint
        self._rng = rng

    def __call__(self, sizes: IntArray) -> IntArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        pages = self._rng.integers(self._footprint, size=len(sizes), dtype=np.int32)
        return align(pages, sizes, self._footprint)
