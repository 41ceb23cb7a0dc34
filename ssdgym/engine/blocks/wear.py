"""How often the blocks of a plane have been erased, for rules that level wear; and which ones are worn."""

import numpy as np

from ssdgym.engine.core.kernel import helper, inlined
from ssdgym.engine.core.records import INDEXED, WORN

#: Erases that cells which do not wear out endure: more than can be counted.
_MOST_ERASES = np.int64(2**31 - 1)


@helper
def erases_of(view, block):
    """Return the erases of a block since the device was made, those of its sub-blocks together."""
    sub_blocks = view.params[0].sub_blocks
    erases = np.int64(0)
    for sub in range(block * sub_blocks, (block + 1) * sub_blocks):
        erases += view.sub_block[sub].erases
    return erases


@inlined
def mean_erases(view, plane):
    """Return the erases of a sub-block of a plane, on average."""
    params = view.params[0]
    total = np.int64(0)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        total += erases_of(view, block)
    return total / np.float64(params.blocks * params.sub_blocks)


@helper
def erases_left(view, block):
    """Return the erases that a block has left: those of the sub-block that reaches its limit first.

    Cells that do not wear out have all the same limit. Only an oracle calls it: no device has the limits.
    """
    sub_blocks = np.int64(view.params[0].sub_blocks)
    least = _MOST_ERASES
    for sub in range(block * sub_blocks, (block + 1) * sub_blocks):
        last = np.int64(view.endurance[sub].last) if view.params[0].endures else _MOST_ERASES
        least = min(least, last - view.sub_block[sub].erases)
    return least


@inlined
def _first_free(view, plane, by_left, sign):
    """Return the free block of a plane with the least `sign` times erases, done or left; -1 for none."""
    best, least = np.int64(-1), np.int64(0)
    block = np.int64(view.plane[plane].pool_head)
    while block >= 0:
        score = sign * (erases_left(view, block) if by_left else erases_of(view, block))
        if best < 0 or score < least:
            best, least = block, score
        block = np.int64(view.block[block].next_pool)
    return best


@helper
def least_worn_free(view, plane):
    """Return the block of a plane's pool that was erased least, of equals the first one; -1 for none."""
    return _first_free(view, plane, False, 1)


@helper
def most_worn_free(view, plane):
    """Return the block of a plane's pool that was erased most, of equals the first one; -1 for none."""
    return _first_free(view, plane, False, -1)


@helper
def nearest_end_free(view, plane):
    """Return the block of a plane's pool that has least erases left, of equals the first; -1 for none."""
    return _first_free(view, plane, True, 1)


@helper
def is_closed(view, block):
    """Return whether a block is in the index of its plane, so that it can be emptied."""
    return view.block[block].status & INDEXED != 0


@helper
def least_worn_closed(view, plane):
    """Return the closed block of a plane that was erased least, of equals the lowest; -1 for none."""
    blocks = view.params[0].blocks
    best, fewest = np.int64(-1), np.int64(0)
    for block in range(plane * blocks, (plane + 1) * blocks):
        if is_closed(view, block):
            erases = erases_of(view, block)
            if best < 0 or erases < fewest:
                best, fewest = np.int64(block), erases
    return best


@inlined
def mark_worn(dev, block):
    """Let a block be retired once it is erased."""
    dev.block[block].status |= WORN


@inlined
def is_worn(dev, block):
    """Return whether a block is retired once it is erased."""
    return dev.block[block].status & WORN != 0
