"""Request sizes with a given mean, and the bisection that finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.types import FloatArray

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

    Args:
        mean_bytes: mean of the sizes.
        smallest: bytes, a power of two.
        largest: bytes, a power of two.
        decay: exponent of the shares before they are tilted.
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
    """Return where a monotone function is 0, or the end of the range that is nearer to it.

    Args:
        function: rises or falls.
        low: start of the range.
        high: end of the range.
    """
    rises = function(high) >= function(low)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if (function(middle) < 0) == rises:
            low = middle
        else:
            high = middle
    return (low + high) / 2
