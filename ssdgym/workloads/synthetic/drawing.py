"""Draw the arrivals, places and sizes of a synthetic trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ssdgym.types import BoolArray, IntArray
from ssdgym.workloads.mixing import mixed, uniform
from ssdgym.workloads.synthetic.fitting import UNIT_BYTES, Fit
from ssdgym.workloads.synthetic.layout import Layout
from ssdgym.workloads.synthetic.replay import Origins, Stretches

#: Share of the copies that are halved at most, lest a part of the trace be much unlike the others.
_MOST_HALVED = 0.25


class Arrivals(Protocol):
    """Arrival times, the first of them 0."""

    def next(self, count: int) -> IntArray:
        """Return times in ns, shape (count,), none below the one before."""


class Poisson:
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
        """See `Arrivals`."""
        gaps = np.rint(self._rng.standard_exponential(count) * self._mean_ns).astype(np.int64)
        ends = self._next_ns + np.cumsum(gaps)
        times = np.concatenate([[self._next_ns], ends[:-1]])
        self._next_ns = int(ends[-1])
        return times


class Accesses(Protocol):
    """Places and sizes of the reads, or of the writes."""

    def next(self, count: int) -> tuple[IntArray, IntArray]:
        """Return offsets and sizes in bytes, both of shape (count,)."""


@dataclass(frozen=True)
class Space:
    """The volume.

    Attributes:
        layout: from the rank of an extent to its number.
        extent_bytes: size of an extent.
        space_bytes: size of all.
    """

    layout: Layout
    extent_bytes: int
    space_bytes: int

    def offsets(self, ranks: IntArray, places: IntArray, sizes: IntArray) -> IntArray:
        """Return where requests start, in bytes.

        Args:
            ranks: of their extents, shape (n,).
            places: bytes within them, before they are aligned to the size, shape (n,).
            sizes: in bytes, powers of two, shape (n,).
        """
        return self.layout(ranks) * self.extent_bytes + (places & -sizes)


class IndependentAccesses:
    """Accesses that do not depend on each other, and a scan."""

    def __init__(self, fitted: Fit, space: Space, seed: np.random.SeedSequence) -> None:
        """Prepare the draws.

        Args:
            fitted: how places and sizes are drawn.
            space: the volume.
            seed: of all draws.
        """
        self._sizes, self._ranks, self._scan_share = fitted.sizes, fitted.ranks, fitted.scan_share
        self._space = space
        self._scanned_bytes = 0
        self._size_rng, self._rank_rng, self._place_rng, self._scan_rng = (
            np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(4)
        )

    def next(self, count: int) -> tuple[IntArray, IntArray]:
        """See `Accesses`."""
        sizes = self._sizes.at(self._size_rng.random(count))
        ranks = self._ranks.at(self._rank_rng.random(count))
        places = self._place_rng.integers(self._space.extent_bytes, size=count)
        offsets = self._space.offsets(ranks, places, sizes)
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
        space_bytes = self._space.space_bytes
        return np.minimum((ends - steps) % space_bytes, space_bytes - steps)


class ReplayedAccesses:
    """Accesses of which some repeat earlier ones (`ssdgym.workloads.synthetic.replay`)."""

    def __init__(
        self,
        fitted: Fit,
        stretches: Stretches,
        mean_bytes: float,
        space: Space,
        seed: np.random.SeedSequence,
    ) -> None:
        """Prepare the draws.

        Args:
            fitted: how places and sizes of fresh draws are drawn; without a scan.
            stretches: how much is repeated.
            mean_bytes: wanted mean size of the requests, a little below that of fresh draws.
            space: the volume.
            seed: of all draws.
        """
        origins, words = seed.spawn(2)
        self._sizes, self._ranks = fitted.sizes, fitted.ranks
        self._space = space
        self._origins = Origins(stretches, origins)
        self._keys = tuple(words.generate_state(4, np.uint64))
        self._mean_bytes = mean_bytes
        self._bytes = 0

    def next(self, count: int) -> tuple[IntArray, IntArray]:
        """See `Accesses`."""
        first, origins = self._origins.number, self._origins.next(count)
        words = mixed(origins)
        sizes, ranks, places = (uniform(mixed(words ^ key)) for key in self._keys[:3])
        size = self._sizes.at(sizes)
        place = (places * self._space.extent_bytes).astype(np.int64)
        offsets = self._space.offsets(self._ranks.at(ranks), place, size)
        numbers = first + np.arange(count)
        return offsets, self._shortened(size, numbers, origins < numbers)

    def _shortened(self, sizes: IntArray, numbers: IntArray, is_copy: BoolArray) -> IntArray:
        """Return the sizes, some of the copies halved while more bytes than wanted have been requested.

        Few fresh draws make up much of all bytes, so that without this the sum would be off by 1 or 2 %.
        Half of a copy touches nothing new.
        """
        wanted = self._mean_bytes * (int(numbers[-1]) + 1) if len(numbers) else 0.0
        self._bytes += int(sizes.sum())
        can = is_copy & (sizes > self._sizes.sizes[0])
        if self._bytes <= wanted or not can.any():
            return sizes
        share = min((self._bytes - wanted) / (int(sizes[can].sum()) / 2), _MOST_HALVED)
        chosen = can & (uniform(mixed(mixed(numbers) ^ self._keys[3])) < share)
        shorter = np.where(chosen, sizes // 2, sizes)
        self._bytes -= int((sizes - shorter).sum())
        return shorter
