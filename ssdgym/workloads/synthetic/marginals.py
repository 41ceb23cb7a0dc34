"""Distributions of a synthetic trace: sizes of requests, ranks and layout of extents, order of operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.types import BoolArray, FloatArray, IntArray
from ssdgym.workloads.addresses import WordArray
from ssdgym.workloads.base import CHUNK

#: Largest absolute tilt: with it, the largest size (tilt > 0) or the smallest size has a share of nearly 1.
_STEEPEST = 60.0
_BISECTIONS = 100


@dataclass(frozen=True, eq=False)
class Sizes:
    """A distribution of request sizes, which are powers of two.

    Attributes:
        sizes: sizes in bytes, in rising order, shape (sizes,).
        shares: share of the requests that have each size, shape (sizes,).
    """

    sizes: npt.NDArray[np.int64]
    shares: FloatArray

    def mean(self, at_least: int = 1) -> float:
        """Return the mean size in bytes; sizes below `at_least` count as `at_least`."""
        return float(np.maximum(self.sizes, at_least) @ self.shares)

    def at(self, draw: FloatArray) -> npt.NDArray[np.int64]:
        """Convert uniform draws from [0, 1) to sizes in bytes, shape (n,)."""
        return self.sizes[np.searchsorted(np.cumsum(self.shares)[:-1], draw, side="right")]


def sizes_with_mean(mean_bytes: float, smallest: int, largest: int, decay: float) -> Sizes:
    """Return sizes from `smallest` to `largest` bytes, with shares as near to `size ** -decay` as possible.

    The shares minimise relative entropy: they are proportional to `size ** -decay * exp(tilt * size)`, where
    `tilt` is solved to match the mean. If `decay` is 0, they have maximum entropy (Jaynes, Physical Review
    106, 1957). `largest` is a power of two times `smallest`.
    """
    sizes = smallest << np.arange((largest // smallest).bit_length())
    relative = sizes / smallest

    def shares(tilt: float) -> FloatArray:
        logs = tilt * relative - decay * np.log(relative)
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    tilt = bisect(lambda value: float(shares(value) @ sizes) - mean_bytes, -_STEEPEST, _STEEPEST)
    return Sizes(sizes, shares(tilt))


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of a monotone function; if the zero is not between `low` and `high`, the nearer end."""
    rises = function(high) >= function(low)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if (function(middle) < 0) == rises:
            low = middle
        else:
            high = middle
    return (low + high) / 2


#: Ranks below this number have bins of one rank each; later ranks have this number of bins per octave.
_EXACT_RANKS = 1 << 12
_BINS_PER_OCTAVE = 64
#: For exponents that differ from 1 by less than this number, the formulas of exponent 1 are used.
_NEARLY_ONE = 1e-9


@dataclass(frozen=True)
class PowerLaw:
    """A power law: the weight of rank k, from 0 up, is the integral of `x ** -theta` from k + 1 to k + 2.

    The distribution function and its inverse have closed forms, so a draw needs no table of ranks.

    Attributes:
        ranks: number of ranks.
        theta: exponent; 0 is uniform.
    """

    ranks: int
    theta: float

    def below(self, ranks: FloatArray) -> FloatArray:
        """Return the probability that a drawn rank is below each of `ranks`, shape (n,)."""
        flatness, total = self._scale()
        if abs(flatness) < _NEARLY_ONE:
            return np.log1p(ranks) / total
        return np.expm1(flatness * np.log1p(ranks)) / total

    def at(self, draw: FloatArray) -> npt.NDArray[np.int64]:
        """Convert uniform draws from [0, 1) to ranks, shape (n,)."""
        flatness, total = self._scale()
        logs = draw * total if abs(flatness) < _NEARLY_ONE else np.log1p(draw * total) / flatness
        # By rounding, draws near 1 could lead to the rank `ranks`, which does not exist.
        return np.minimum(np.expm1(logs).astype(np.int64), self.ranks - 1)

    def bins(self) -> tuple[FloatArray, FloatArray]:
        """Divide the ranks into bins, whose number grows with the logarithm of `ranks`.

        Return for each bin the number of its ranks and their mean probability, each of shape (bins,).
        """
        octaves = max(np.log2(self.ranks / _EXACT_RANKS), 0.0)
        tail = np.geomspace(_EXACT_RANKS, self.ranks, int(octaves * _BINS_PER_OCTAVE) + 2)
        edges = np.unique(np.rint(np.append(np.arange(min(self.ranks, _EXACT_RANKS)), tail)))
        edges = edges[edges <= self.ranks]
        counts = np.diff(edges)
        return counts, np.diff(self.below(edges)) / counts

    def _scale(self) -> tuple[float, float]:
        """Return 1 - theta, and (1 - theta) * the sum of all weights; for theta near 1, the sum itself."""
        flatness = 1 - self.theta
        length = np.log1p(self.ranks)
        return flatness, float(length if abs(flatness) < _NEARLY_ONE else np.expm1(flatness * length))


_ROUNDS = 3


class Layout:
    """A pseudo-random permutation of the numbers 0..extents-1, which needs no table.

    Multiplications by odd numbers and xor-shifts permute the numbers below a power of two, as in the
    finalisers of hash functions (Steele, Lea and Flood, OOPSLA 2014). A number is permuted again until it is
    below `extents` (cycle walking; Black and Rogaway, CT-RSA 2002).
    """

    def __init__(self, extents: int, seed: int) -> None:
        bits = max((extents - 1).bit_length(), 1)
        words = np.random.SeedSequence(seed).generate_state(2 * _ROUNDS, np.uint64)
        self._extents = np.uint64(extents)
        self._mask = np.uint64((1 << bits) - 1)
        self._shift = np.uint64((bits + 1) // 2)
        self._factors = [word | np.uint64(1) for word in words[:_ROUNDS]]
        self._terms = list(words[_ROUNDS:])

    def __call__(self, ranks: IntArray) -> IntArray:
        """Return the number of the extent of each rank, 0..extents-1, shape (n,)."""
        places = self._permute(ranks.astype(np.uint64))
        outside = np.flatnonzero(places >= self._extents)
        while len(outside):
            places[outside] = self._permute(places[outside])
            outside = outside[places[outside] >= self._extents]
        return places.astype(np.int64)

    def _permute(self, numbers: WordArray) -> WordArray:
        for factor, term in zip(self._factors, self._terms, strict=True):
            numbers = (numbers * factor + term) & self._mask
            numbers ^= numbers >> self._shift
        return numbers


class Order:
    """Draws the order of exactly `reads` reads and `writes` writes: random, or in runs (`op_persistence`)."""

    def __init__(self, reads: int, writes: int, persistence: float, rng: np.random.Generator) -> None:
        self._reads, self._writes = reads, writes
        self._persistence = persistence
        self._rng = rng

    def next(self) -> BoolArray:
        """Return whether each of the next requests is a read, shape (n,); an empty array at the end."""
        count = min(CHUNK, self._reads + self._writes)
        if count == 0:
            return np.zeros(0, bool)
        reads = int(self._rng.hypergeometric(self._reads, self._writes, count))
        self._reads -= reads
        self._writes -= count - reads
        if self._persistence:
            return self._in_runs(reads, count - reads)
        is_read = np.arange(count) < reads
        self._rng.shuffle(is_read)
        return is_read

    def _in_runs(self, reads: int, writes: int) -> BoolArray:
        """Arrange reads and writes in runs of geometric lengths; `persistence` determines how many runs."""
        both, fewer = reads + writes, min(reads, writes)
        if not fewer:
            return np.full(both, reads > 0)
        # In a random order, about reads * writes / both runs are runs of reads, and as many runs of writes.
        wanted = max((1 - self._persistence) * reads * writes / both, 1.0)
        pairs = 1 + int(self._rng.binomial(fewer - 1, (wanted - 1) / (fewer - 1))) if fewer > 1 else 1
        lengths = np.stack([self._parts(reads, pairs), self._parts(writes, pairs)], axis=1)
        reads_first = self._rng.random() < reads / both
        kinds = np.tile([reads_first, not reads_first], pairs)
        return np.repeat(kinds, (lengths if reads_first else lengths[:, ::-1]).ravel())

    def _parts(self, total: int, parts: int) -> npt.NDArray[np.int64]:
        """Divide `total` into parts of at least 1, shape (parts,); all divisions are equally likely."""
        cuts = np.sort(self._rng.choice(total - 1, parts - 1, replace=False)) + 1
        return np.diff(cuts, prepend=0, append=total)
