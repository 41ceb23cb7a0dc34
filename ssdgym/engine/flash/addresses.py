"""Physical addresses: a page is one number through the whole device, and so are sub-blocks and blocks."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import quotient, remainder
from ssdgym.engine.core.kernel import inlined


@inlined
def sub_block_of(params, ppn):
    """Return the sub-block of a physical page, numbered through the whole device."""
    return quotient(ppn, params.pages_per_sub_block)


@inlined
def block_of(params, sub):
    """Return the block of a sub-block."""
    if params.sub_blocks == 1:
        return sub
    return quotient(sub, params.sub_blocks)


@inlined
def plane_of(params, ppn):
    """Return the plane of a physical page."""
    return quotient(ppn, np.int64(params.blocks) * params.pages_per_block)


@inlined
def die_of(params, ppn):
    """Return the die of a physical page."""
    return remainder(plane_of(params, ppn), params.dies)
