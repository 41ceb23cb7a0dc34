"""Drifting: a hot set that moves."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from ssdgym.types import IntegerArray
from ssdgym.workloads.addresses import align
from ssdgym.workloads.base import InnerShare, Share
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.patterns.hot_cold import TwoClassConfig, TwoClasses
from ssdgym.workloads.patterns.pacing import Number


@workload_kind
class DriftingConfig(TwoClassConfig):
    """A hot set of consecutive pages that moves through the footprint."""

    kind: Literal["drifting"] = "drifting"
    hot_fraction: InnerShare = Field(0.1, description="Share of the footprint's pages that are hot.")
    hot_access: Share = Field(0.9, description="Share of the requests that go to the hot pages.")
    shift_every_pages: Number = Field(
        description="Pages accessed (read, written or trimmed) between two moves of the hot set."
    )
    shift_pages: Number = Field(description="Pages by which the hot set moves each time.")

    def picker(self, footprint: int, rng: np.random.Generator) -> DriftingPicker:
        """See `AccessConfig`."""
        return DriftingPicker(self, footprint, rng)


class DriftingPicker:
    """Hot and cold pages as in `hot_cold`, counted from an origin that moves as pages are accessed."""

    def __init__(self, config: DriftingConfig, footprint: int, rng: np.random.Generator) -> None:
        """Prepare the draws.

        Args:
            config: the pattern.
            footprint: number of pages to choose from.
            rng: draws for this picker alone.
        """
        self._classes = TwoClasses(config, footprint, rng)
        self._footprint = footprint
        self._shift_every_pages = config.shift_every_pages
        self._shift_pages = config.shift_pages
        self._pages_accessed = 0

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        """See `ssdgym.workloads.addresses.Picker`."""
        accessed = self._pages_accessed + np.cumsum(sizes, dtype=np.int64)
        self._pages_accessed = int(accessed[-1])
        origin = (accessed - sizes) // self._shift_every_pages * self._shift_pages
        pages = (self._classes.draw(len(sizes)) + origin) % self._footprint
        return align(pages, sizes, self._footprint)
