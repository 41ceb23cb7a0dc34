"""Draw the arrivals, places and sizes of a synthetic trace."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.workloads.synthetic.fitting import UNIT_BYTES, Fit
from ssdgym.workloads.synthetic.layout import Layout

IntArray = npt.NDArray[np.int64]


class Arrivals:
    """A Poisson process that starts with an arrival at 0."""

    def __init__(self, mean_ns: float, rng: np.random.Generator) -> None:
        """Start at 0.

        Args:
            mean_ns: mean gap between two arrivals.
            rng: draws for these gaps alone.
        """
        self._mean_ns = mean_ns
        self._rng = rng
        self._next_ns = 0

    def next(self, count: int) -> IntArray:
        """Return times in ns, shape (count,)."""
        gaps = np.rint(self._rng.standard_exponential(count) * self._mean_ns).astype(np.int64)
        ends = self._next_ns + np.cumsum(gaps)
        times = np.concatenate([[self._next_ns], ends[:-1]])
        self._next_ns = int(ends[-1])
        return times


class Accesses:
    """Places and sizes of the reads, or of the writes."""

    def __init__(
        self,
        fitted: Fit,
        layout: Layout,
        extent_bytes: int,
        space_bytes: int,
        seed: np.random.SeedSequence,
    ) -> None:
        """Prepare the draws.

        Args:
            fitted: how places and sizes are drawn.
            layout: from the rank of an extent to its number.
            extent_bytes: size of an extent.
            space_bytes: size of the volume.
            seed: of all draws.
        """
        self._sizes, self._ranks, self._scan_share = fitted.sizes, fitted.ranks, fitted.scan_share
        self._layout = layout
        self._extent_bytes = extent_bytes
        self._space_bytes = space_bytes
        self._scanned_bytes = 0
        self._size_rng, self._rank_rng, self._place_rng, self._scan_rng = (
            np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(4)
        )

    def next(self, count: int) -> tuple[IntArray, IntArray]:
        """Return offsets and sizes in bytes, both of shape (count,)."""
        sizes = self._sizes.at(self._size_rng.random(count))
        extents = self._layout(self._ranks.at(self._rank_rng.random(count)))
        places = self._place_rng.integers(self._extent_bytes, size=count)
        offsets = extents * self._extent_bytes + (places & -sizes)
        if self._scan_share:
            is_scan = self._scan_rng.random(count) < self._scan_share
            offsets[is_scan] = self._scan(sizes[is_scan])
        return offsets, sizes

    def _scan(self, sizes: IntArray) -> IntArray:
        """Return where the next requests of the scan start; it goes on at 0 when it reaches the end."""
        # Requests below a page take one each, as the fit supposes.
        steps = np.maximum(sizes, UNIT_BYTES)
        ends = self._scanned_bytes + np.cumsum(steps)
        self._scanned_bytes = int(ends[-1]) if len(ends) else self._scanned_bytes
        return np.minimum((ends - steps) % self._space_bytes, self._space_bytes - steps)
