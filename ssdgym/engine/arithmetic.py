"""Division of numbers that are never negative, spared the checks that Python's signed division needs."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.kernel import inlined


@inlined
def quotient(a, b):
    """``a // b`` for a >= 0 and b > 0."""
    return np.int64(np.uint64(a) // np.uint64(b))


@inlined
def remainder(a, b):
    """``a % b`` for a >= 0 and b > 0."""
    return np.int64(np.uint64(a) % np.uint64(b))
