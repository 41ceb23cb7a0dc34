"""Sub-blocks of a block: their neighbours, and the pages in them."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import NONE, ONE, full_mask, has
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.records import SOFTWARE


@inlined
def beside(params, mask):
    """Return the sub-blocks next to those of a mask and not in it."""
    return ((mask << ONE) | (mask >> ONE)) & ~mask & full_mask(params.sub_blocks)


@inlined
def neighbours_of(params, mask):
    """Return the sub-blocks that have to be emptied although they are not erased.

    Under software isolation they are those beside.
    """
    if params.isolation == SOFTWARE:
        return beside(params, mask)
    return NONE


@inlined
def invalid_in(dev, block, mask):
    """Count the invalid pages in the sub-blocks of `mask`."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    invalid = 0
    for s in range(params.sub_blocks):
        if has(mask, s):
            invalid += dev.sub_block[base + s].invalid
    return invalid


@inlined
def valid_in(dev, block, mask):
    """Count the valid pages in the sub-blocks of `mask`."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    valid = 0
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[base + s]
            valid += sub_block.written - sub_block.invalid
    return valid
