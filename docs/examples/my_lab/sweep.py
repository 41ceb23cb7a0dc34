"""Access pattern: a window with uniform accesses that moves over the footprint, a page per request."""

from typing import Literal

import numpy as np
from pydantic import Field

from ssdgym.workloads import workload_kind
from ssdgym.workloads.generators.base import AccessConfig


@workload_kind
class SweepConfig(AccessConfig):
    """Access pages of a window uniformly; move the window by one page per request."""

    kind: Literal["sweep"] = "sweep"
    window: float = Field(0.1, gt=0, le=1, description="Share of the footprint that the window covers.")

    def picker(self, footprint, rng):
        """See `AccessConfig`."""
        return SweepPicker(max(round(self.window * footprint), 1), footprint, rng)


class SweepPicker:
    """Draw pages in the window; the window's position is kept between calls."""

    def __init__(self, window, footprint, rng):
        self._window, self._footprint, self._rng = window, footprint, rng
        self._position = 0

    def __call__(self, sizes):
        """Return the first page of requests of `sizes` pages, shape (n,)."""
        starts = self._position + np.arange(len(sizes))
        self._position += len(sizes)
        return (starts + self._rng.integers(self._window, size=len(sizes))) % self._footprint
