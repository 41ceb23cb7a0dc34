"""Bit masks of the sub-blocks of a block: bit s is sub-block s."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.kernel import inlined
from ssdgym.engine.layout import SOFTWARE

ONE = np.uint64(1)
NONE = np.uint64(0)


@inlined
def full_mask(sub_blocks):
    """The mask of a whole block."""
    return ~NONE >> np.uint64(64 - sub_blocks)


@inlined
def has(mask, s):
    """Is sub-block ``s`` in the mask?"""
    return ((mask >> np.uint64(s)) & ONE) != NONE


@inlined
def is_run(mask):
    """Are the set bits of a non-zero mask consecutive?"""
    lowest = mask & (~mask + ONE)
    return mask & (mask + lowest) == NONE


@inlined
def beside(geometry, mask):
    """The sub-blocks next to those of a mask and not in it."""
    return ((mask << ONE) | (mask >> ONE)) & ~mask & full_mask(geometry.sub_blocks)


@inlined
def neighbours_of(geometry, mask):
    """The sub-blocks that have to be emptied although they are not erased: under software isolation
    those beside.
    """
    if geometry.isolation == SOFTWARE:
        return beside(geometry, mask)
    return NONE


@inlined
def invalid_in(dev, geometry, block, mask):
    """Invalid pages in the sub-blocks of ``mask``."""
    base = np.int64(block) * geometry.sub_blocks
    invalid = 0
    for s in range(geometry.sub_blocks):
        if has(mask, s):
            invalid += dev.sub_block[base + s].invalid
    return invalid


@inlined
def valid_in(dev, geometry, block, mask):
    """Valid pages in the sub-blocks of ``mask``."""
    base = np.int64(block) * geometry.sub_blocks
    valid = 0
    for s in range(geometry.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[base + s]
            valid += sub_block.written - sub_block.invalid
    return valid
