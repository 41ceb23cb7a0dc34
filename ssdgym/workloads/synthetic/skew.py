"""Ranks drawn by a bounded power law, without a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.types import FloatArray

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
