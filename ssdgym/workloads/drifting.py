"""A hot set that moves."""

from __future__ import annotations

import numpy as np

from ssdgym.config.generated import DriftingConfig
from ssdgym.workloads.addresses import IntArray, align
from ssdgym.workloads.hot_cold import TwoClasses


class DriftingPicker:
    """Hot and cold pages as in `hot_cold`, counted from an origin that moves as pages are asked for."""

    def __init__(self, config: DriftingConfig, footprint: int, rng: np.random.Generator) -> None:
        self._classes = TwoClasses(config, footprint, rng)
        self._footprint = footprint
        self._shift_every_pages = config.shift_every_pages
        self._shift_pages = config.shift_pages
        self._pages_asked = 0

    def __call__(self, sizes: IntArray) -> IntArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        asked = self._pages_asked + np.cumsum(sizes, dtype=np.int64)
        self._pages_asked = int(asked[-1])
        origin = (asked - sizes) // self._shift_every_pages * self._shift_pages
        pages = (self._classes.draw(len(sizes)) + origin) % self._footprint
        return align(pages, sizes, self._footprint)
