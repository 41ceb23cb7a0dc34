"""The erase sets that a plane may have collected.

The rules are those of the device, and that there is room for what has to be moved first.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import NONE, full_mask, is_run, remainder
from ssdgym.engine.core.kernel import helper, inlined, kernel
from ssdgym.engine.core.records import INDEXED, SINGLE_PLANE, STRICT, SUB_BLOCK_RUN, WHOLE_BLOCK
from ssdgym.engine.core.status import (
    ILLEGAL_BLOCK,
    ILLEGAL_MASK,
    ILLEGAL_PAIRS,
    NO_ROOM_TO_MOVE,
    NOTHING_TO_GAIN,
    OK,
)
from ssdgym.engine.flash.sub_blocks import invalid_in, neighbours_of, valid_in


@inlined
def gc_unfinished(params, plane):
    """Return whether foreground GC stays on after a round."""
    return plane.free_pages < params.stop_free or plane.pool_pages < params.stop_pool


@inlined
def _wins_enough(dev, leader, block, mask):
    """Return whether a pair wins pages as it has to.

    An invalid page is enough, except where GC goes on until a level is reached: there, more than its
    neighbours cost. A run of few invalid pages between neighbours of many valid ones leaves fewer free pages
    than before, and rounds of such runs would never end.
    """
    params = dev.params[0]
    invalid = invalid_in(dev, block, mask)
    own = dev.plane[dev.block[block].plane]
    has_to = params.must_gain or gc_unfinished(params, dev.plane[leader]) or gc_unfinished(params, own)
    if has_to and invalid <= valid_in(dev, block, neighbours_of(params, mask)):
        return False
    return invalid >= params.least_invalid


@inlined
def _within_reach(dev, leader, block):
    """Return whether the block is of the plane that leads, or of a sibling that can join it now."""
    params = dev.params[0]
    if block < 0 or block >= np.int64(params.planes) * params.blocks:
        return False
    plane = np.int64(dev.block[block].plane)
    if plane == leader:
        return True
    if params.multi_plane == SINGLE_PLANE or dev.plane[plane].round_leader >= 0:
        return False
    return remainder(plane, params.dies) == remainder(leader, params.dies)


@inlined
def _check_pair(dev, leader, block, mask):
    """Return OK, or why these sub-blocks of this block may not be in an erase set of a plane."""
    params = dev.params[0]
    if not _within_reach(dev, leader, block) or not dev.block[block].status & INDEXED:
        return ILLEGAL_BLOCK
    whole = full_mask(params.sub_blocks)
    if mask == NONE or mask & ~whole:
        return ILLEGAL_MASK
    if mask != whole and params.erase_unit == WHOLE_BLOCK:
        return ILLEGAL_MASK
    if params.erase_unit == SUB_BLOCK_RUN and not is_run(mask):
        return ILLEGAL_MASK
    if not _wins_enough(dev, leader, block, mask):
        return NOTHING_TO_GAIN
    return OK


@inlined
def _has_partner(dev, leader, pairs, count, block):
    """Return whether a pair of the plane that leads has the same block number (strict addressing)."""
    params = dev.params[0]
    within = remainder(block, params.blocks)
    partner = leader * params.blocks + within
    found = False
    for k in range(count):
        found = found or np.int64(pairs[k].block) == partner
    return found


@inlined
def _has_room(dev, plane_number, pairs, count):
    """Return whether a plane can take all the moves of its pairs before the erase frees anything."""
    params = dev.params[0]
    taken = np.int64(0)  # by the moves, and with the blocks that leave the pool
    for k in range(count):
        block = np.int64(pairs[k].block)
        if dev.block[block].plane == plane_number:
            mask = pairs[k].mask
            taken += valid_in(dev, block, mask | neighbours_of(params, mask))
            taken += params.pages_per_block - dev.block[block].written
    per_block = np.int64(params.pages_per_block)
    return taken <= max(per_block, dev.plane[plane_number].pool_pages - per_block)


@kernel
def _check_together(dev, leader, pairs, count):
    """Return OK, or why pairs that are legal one by one may not be erased in one go."""
    params = dev.params[0]
    led = 0
    for k in range(count):
        block = np.int64(pairs[k].block)
        for other in range(k):
            if pairs[other].block == block:
                return ILLEGAL_PAIRS
        if dev.block[block].plane == leader:
            led += 1
        elif params.multi_plane == STRICT and not _has_partner(dev, leader, pairs, count, block):
            return ILLEGAL_PAIRS
    if led == 0:
        return ILLEGAL_PAIRS
    for k in range(count):
        if not _has_room(dev, np.int64(dev.block[pairs[k].block].plane), pairs, count):
            return NO_ROOM_TO_MOVE
    return OK


@inlined
def check_erase_set(dev, leader, pairs, count):
    """Return OK, or why a round that a plane leads now may not erase the first `count` pairs."""
    if count < 1 or count > pairs.shape[0]:
        return ILLEGAL_PAIRS
    for k in range(count):
        status = _check_pair(dev, leader, np.int64(pairs[k].block), pairs[k].mask)
        if status != OK:
            return status
    if count == 1 and dev.block[pairs[0].block].plane == leader:
        return OK
    return _check_together(dev, leader, pairs, count)


@helper
def legal_set(dev, plane, pairs, count):
    """Return whether this erase set is legal, for policies."""
    return check_erase_set(dev, plane, pairs, count) == OK
