"""Page after page, over and over."""

from __future__ import annotations

import numpy as np

from ssdgym.config.generated import SequentialConfig
from ssdgym.workloads.addresses import IntArray


class SequentialPicker:
    """Each request starts where the last one ended; one that reaches over the end is split there."""

    def __init__(self, config: SequentialConfig, footprint: int, rng: np.random.Generator) -> None:
        self._footprint = footprint
        self._position = 0

    def __call__(self, sizes: IntArray) -> IntArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        end = self._position + np.cumsum(sizes, dtype=np.int64)
        self._position = int(end[-1]) % self._footprint
        return (end - sizes) % self._footprint
