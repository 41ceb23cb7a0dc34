"""Erases of blocks, worn blocks, and the open block that levelling rounds fill."""

import numpy as np

from ssdgym.engine.blocks.manager import count_in_stream, count_programs, note_program, open_block, stream_of
from ssdgym.engine.core.kernel import helper, inlined, kernel
from ssdgym.engine.core.records import BY_LIMITS, INDEXED, MAX_STREAMS, WORN
from ssdgym.engine.core.status import OK, OUT_OF_SPACE
from ssdgym.engine.flash import block_of, program_page

#: Stands for the limit of erases of cells that do not wear out: the largest count.
_MOST_ERASES = np.int64(2**31 - 1)


@helper
def erases_of(view, block):
    """Return the erases of a block since the device was made, summed over its sub-blocks."""
    sub_blocks = view.params[0].sub_blocks
    erases = np.int64(0)
    for sub in range(block * sub_blocks, (block + 1) * sub_blocks):
        erases += view.sub_block[sub].erases
    return erases


@inlined
def mean_erases(view, plane):
    """Return the mean number of erases per sub-block of a plane since the device was made."""
    params = view.params[0]
    total = np.int64(0)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        total += erases_of(view, block)
    return total / np.float64(params.blocks * params.sub_blocks)


@helper
def erases_left(view, block):
    """Return how many erases a block has left before it is worn: the minimum over its sub-blocks.

    Cells that do not wear out have the limit 2**31 - 1. Only oracles may call this: no FTL can see limits.
    """
    sub_blocks = np.int64(view.params[0].sub_blocks)
    least = _MOST_ERASES
    for sub in range(block * sub_blocks, (block + 1) * sub_blocks):
        last = np.int64(view.endurance[sub].last) if view.params[0].endures else _MOST_ERASES
        least = min(least, last - view.sub_block[sub].erases)
    return least


@inlined
def _first_free(view, plane, by_left, sign):
    """Return the pool's first block with the least `sign` * erases: left, if `by_left`, or done; or -1."""
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
    """Return the block with fewest erases in a plane's pool, on a tie the first; -1 if the pool is empty."""
    return _first_free(view, plane, False, 1)


@helper
def most_worn_free(view, plane):
    """Return the block with most erases in a plane's pool, on a tie the first; -1 if the pool is empty."""
    return _first_free(view, plane, False, -1)


@helper
def nearest_end_free(view, plane):
    """Return the block with fewest erases left in a plane's pool, on a tie the first; -1 if it is empty."""
    return _first_free(view, plane, True, 1)


@helper
def is_closed(view, block):
    """Return whether a block is in the index of its plane, so that levelling may empty it."""
    return view.block[block].status & INDEXED != 0


@inlined
def mark_worn(dev, block):
    """Mark a block as worn, so that it is retired when all of it is erased."""
    dev.block[block].status |= WORN


@inlined
def is_worn(dev, block):
    """Return whether a block is worn, so that it is retired when all of it is erased."""
    return dev.block[block].status & WORN != 0


# -- the open block for levelling: its sub-block is in `open_sub_block`, behind those of the plane's streams


@kernel
def ensure_open_for_levelling(dev, plane):
    """Open the most erased block of a plane's pool for levelling, if none is open; return OK or OUT_OF_SPACE.

    With `BY_LIMITS`, open the block with fewest erases left.
    """
    stream = np.int64(dev.params[0].streams)
    if dev.open_sub_block[plane * MAX_STREAMS + stream] < 0:
        if dev.params[0].levels & BY_LIMITS:
            block = np.int64(nearest_end_free(dev, plane))
        else:
            block = np.int64(most_worn_free(dev, plane))
        if block < 0:
            return np.int64(OUT_OF_SPACE)
        open_block(dev, plane, stream, block)
    return np.int64(OK)


@kernel
def program_levelled(dev, plane, lpn, version):
    """Program the next page of a plane's open block for levelling; return the page's number."""
    params, stream = dev.params[0], np.int64(dev.params[0].streams)
    sub = np.int64(dev.open_sub_block[plane * MAX_STREAMS + stream])
    ppn = sub * params.pages_per_sub_block + dev.sub_block[sub].written
    program_page(dev, ppn, lpn, version)
    block = block_of(params, sub)
    note_program(dev, block, True)
    count_in_stream(stream_of(dev, dev.block[block]), 1, True)
    count_programs(dev, dev.control[0].clock, plane, stream, sub, 1)
    dev.counters[0].levelling_moves += 1
    return np.int64(ppn)
