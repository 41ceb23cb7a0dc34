"""Numbers that look random, as a function of other numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.types import IntArray

WordArray = npt.NDArray[np.uint64]


def mixed(numbers: IntArray | WordArray) -> WordArray:
    """Mix the bits of numbers as splitmix64 does (Steele, Lea and Flood, OOPSLA 2014), shape (n,)."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def uniform(words: WordArray) -> npt.NDArray[np.float64]:
    """Return mixed words as numbers from [0, 1), shape (n,)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
