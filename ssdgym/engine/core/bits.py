"""Bit masks of the sub-blocks of a block (bit s is sub-block s), and division of numbers never negative.

The divisions are spared the checks that Python's signed division needs.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined

ONE = np.uint64(1)
NONE = np.uint64(0)


@inlined
def full_mask(sub_blocks):
    """Return the mask of a whole block."""
    return ~NONE >> np.uint64(64 - sub_blocks)


@inlined
def has(mask, s):
    """Return whether sub-block `s` is in the mask."""
    return ((mask >> np.uint64(s)) & ONE) != NONE


@inlined
def is_run(mask):
    """Return whether the set bits of a non-zero mask are consecutive."""
    lowest = mask & (~mask + ONE)
    return mask & (mask + lowest) == NONE


@inlined
def quotient(a, b):
    """Return `a // b` for a >= 0 and b > 0."""
    return np.int64(np.uint64(a) // np.uint64(b))


@inlined
def remainder(a, b):
    """Return `a % b` for a >= 0 and b > 0."""
    return np.int64(np.uint64(a) % np.uint64(b))
