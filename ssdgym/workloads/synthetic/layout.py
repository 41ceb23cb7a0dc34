"""Layout of the ranks: a permutation of the extents, without a table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.types import IntArray

WordArray = npt.NDArray[np.uint64]

_ROUNDS = 3


class Layout:
    """A pseudo-random permutation of 0..extents-1.

    Multiplications by odd numbers and xor-shifts permute the numbers below a power of two (as in the
    finalisers of hash functions; Steele, Lea and Flood, OOPSLA 2014); a number beyond the extents is
    permuted again until it is one of them (cycle walking; Black and Rogaway, CT-RSA 2002).
    """

    def __init__(self, extents: int, seed: int) -> None:
        """Choose a permutation.

        Args:
            extents: how many numbers are permuted.
            seed: which permutation.
        """
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
