"""Sizes, skew, layout and order of a synthetic trace's requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.types import BoolArray, FloatArray, IntArray
from ssdgym.workloads.base import CHUNK

#: A tilt of this much per smallest request leaves only that one or, downwards, only the largest.
_STEEPEST = 60.0
_BISECTIONS = 100


@dataclass(frozen=True, eq=False)
class Sizes:
    """Powers of two, each with the share of requests that have it.

    Attributes:
        sizes: bytes in rising order, shape (sizes,).
        shares: sum to 1, shape (sizes,).
    """

    sizes: npt.NDArray[np.int64]
    shares: FloatArray

    def mean(self, at_least: int = 1) -> float:
        """Return the mean in bytes, where smaller sizes count as `at_least`."""
        return float(np.maximum(self.sizes, at_least) @ self.shares)

    def at(self, draw: FloatArray) -> npt.NDArray[np.int64]:
        """Return the sizes for uniform draws from [0, 1), shape (n,)."""
        return self.sizes[np.searchsorted(np.cumsum(self.shares)[:-1], draw, side="right")]


def sizes_with_mean(mean_bytes: float, smallest: int, largest: int, decay: float) -> Sizes:
    """Return powers of two with a given mean, their shares as near to `size ** -decay` as can be.

    Nearest by relative entropy, so that the shares are `size ** -decay * exp(tilt * size)`: the maximum of
    entropy if `decay` is 0 (Jaynes, Physical Review 106, 1957).
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
    """Return where a monotone function is 0, or the end of the range that is nearer to it."""
    rises = function(high) >= function(low)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if (function(middle) < 0) == rises:
            low = middle
        else:
            high = middle
    return (low + high) / 2


#: Ranks whose probabilities are summed one by one, and the bins per octave of those after them.
_EXACT_RANKS = 1 << 12
_BINS_PER_OCTAVE = 64
#: Nearer to 1 than this, an exponent gives the limit, 1 / rank.
_NEARLY_ONE = 1e-9


@dataclass(frozen=True)
class PowerLaw:
    """Ranks 0..ranks-1; the weight of rank k is the integral of `x ** -theta` from k + 1 to k + 2.

    The distribution function has a closed form and a closed inverse, so that a draw costs the same for
    any number of ranks.

    Attributes:
        ranks: how many.
        theta: exponent; 0 is uniform.
    """

    ranks: int
    theta: float

    def below(self, ranks: FloatArray) -> FloatArray:
        """Return the probability of the first so many ranks, shape (n,)."""
        flatness, total = self._scale()
        if abs(flatness) < _NEARLY_ONE:
            return np.log1p(ranks) / total
        return np.expm1(flatness * np.log1p(ranks)) / total

    def at(self, draw: FloatArray) -> npt.NDArray[np.int64]:
        """Return the ranks for uniform draws from [0, 1), shape (n,)."""
        flatness, total = self._scale()
        logs = draw * total if abs(flatness) < _NEARLY_ONE else np.log1p(draw * total) / flatness
        # Rounding may lift the last draws over the end.
        return np.minimum(np.expm1(logs).astype(np.int64), self.ranks - 1)

    def bins(self) -> tuple[FloatArray, FloatArray]:
        """Return how many ranks each bin holds, and the probability of each of them; bins are narrow.

        Both have the shape (bins,); their number grows with the logarithm of that of the ranks.
        """
        octaves = max(np.log2(self.ranks / _EXACT_RANKS), 0.0)
        tail = np.geomspace(_EXACT_RANKS, self.ranks, int(octaves * _BINS_PER_OCTAVE) + 2)
        edges = np.unique(np.rint(np.append(np.arange(min(self.ranks, _EXACT_RANKS)), tail)))
        edges = edges[edges <= self.ranks]
        counts = np.diff(edges)
        return counts, np.diff(self.below(edges)) / counts

    def _scale(self) -> tuple[float, float]:
        """Return 1 - theta, and the weight of all ranks as `below` measures it."""
        flatness = 1 - self.theta
        length = np.log1p(self.ranks)
        return flatness, float(length if abs(flatness) < _NEARLY_ONE else np.expm1(flatness * length))


WordArray = npt.NDArray[np.uint64]

_ROUNDS = 3


class Layout:
    """A pseudo-random permutation of 0..extents-1.

    Multiplications by odd numbers and xor-shifts permute the numbers below a power of two (as in the
    finalisers of hash functions; Steele, Lea and Flood, OOPSLA 2014); a number beyond the extents is
    permuted again until it is one of them (cycle walking; Black and Rogaway, CT-RSA 2002).
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
        """Return the extents of ranks in 0..extents-1, shape (n,)."""
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
    """Reads and writes at random, or in runs; drawn without replacement, so that totals come out exactly."""

    def __init__(self, reads: int, writes: int, persistence: float, rng: np.random.Generator) -> None:
        self._reads, self._writes = reads, writes
        self._persistence = persistence
        self._rng = rng

    def next(self) -> BoolArray:
        """Return of the next requests which read, shape (n,); an empty array at the end."""
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
        """Arrange reads and writes in as many runs as are wanted in the mean, of geometric lengths."""
        both, fewer = reads + writes, min(reads, writes)
        if not fewer:
            return np.full(both, reads > 0)
        # In a random order, reads begin a run where a write, or nothing, goes before.
        wanted = max((1 - self._persistence) * reads * writes / both, 1.0)
        pairs = 1 + int(self._rng.binomial(fewer - 1, (wanted - 1) / (fewer - 1))) if fewer > 1 else 1
        lengths = np.stack([self._parts(reads, pairs), self._parts(writes, pairs)], axis=1)
        reads_first = self._rng.random() < reads / both
        kinds = np.tile([reads_first, not reads_first], pairs)
        return np.repeat(kinds, (lengths if reads_first else lengths[:, ::-1]).ravel())

    def _parts(self, total: int, parts: int) -> npt.NDArray[np.int64]:
        """Cut a number into so many parts of 1 or more, every way as likely: geometric, given their sum."""
        cuts = np.sort(self._rng.choice(total - 1, parts - 1, replace=False)) + 1
        return np.diff(cuts, prepend=0, append=total)
