"""Legal erase sets: those that the FTL's options allow and whose moves find room."""

import numpy as np

from ssdgym.engine.core.bits import DRAWS_PER_CHOICE, NONE, below, draw, full_mask, is_run, remainder
from ssdgym.engine.core.kernel import helper, inlined, kernel, shared
from ssdgym.engine.core.records import INDEXED, SINGLE_PLANE, STRICT, SUB_BLOCK_RUN, WHOLE_BLOCK
from ssdgym.engine.core.status import (
    ILLEGAL_BLOCK,
    ILLEGAL_MASK,
    ILLEGAL_PAIRS,
    NO_ROOM_TO_MOVE,
    NOTHING_TO_GAIN,
    OK,
)
from ssdgym.engine.flash import invalid_in, neighbours_of, valid_in


@inlined
def is_overfull(params, plane):
    """Return whether a plane has lost so many blocks that it holds too many valid pages to be collected."""
    return plane.gone_pages > 0 and plane.valid > params.valid_limit - plane.gone_pages


@inlined
def gc_unfinished(params, plane):
    """Return whether a plane that can be collected is below the level at which foreground GC ends."""
    if is_overfull(params, plane):
        return False
    return plane.free_pages < params.stop_free or plane.pool_pages < params.stop_pool


@inlined
def _wins_enough(dev, leader, block, mask):
    """Return whether a pair (block, mask) reclaims enough pages: at least `least_invalid`.

    If GC repeats rounds, the pair must also reclaim more pages than are valid in the sub-blocks beside it,
    which are relocated, too. Otherwise rounds could cost free pages, and never end.
    """
    params, record = dev.params[0], dev.block[block]
    if mask == full_mask(params.sub_blocks):  # it has no neighbours
        return record.invalid >= max(params.least_invalid, 1)
    invalid = invalid_in(dev, block, mask)
    own = dev.plane[record.plane]
    has_to = params.must_gain or gc_unfinished(params, dev.plane[leader]) or gc_unfinished(params, own)
    if has_to and invalid <= valid_in(dev, block, neighbours_of(params, mask)):
        return False
    return invalid >= params.least_invalid


@inlined
def _within_reach(dev, leader, block):
    """Return whether a block lies in the leading plane, or in a sibling that can join its round now."""
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
    """Return OK, or why a pair (block, mask) may not be in an erase set of the leading plane."""
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
def pages_taken(dev, plane_number, pairs, count):
    """Return how many free pages pairs use up in a plane: their moves, and their blocks' unwritten pages."""
    params = dev.params[0]
    taken = np.int64(0)
    for k in range(count):
        block = np.int64(pairs[k].block)
        if dev.block[block].plane == plane_number:
            mask = pairs[k].mask
            taken += valid_in(dev, block, mask | neighbours_of(params, mask))
            taken += params.pages_per_block - dev.block[block].written
    return taken


@inlined
def _has_room(dev, plane_number, pairs, count):
    """Return whether a plane has room for all moves of its pairs before they are erased."""
    per_block = np.int64(dev.params[0].pages_per_block)
    room = max(per_block, dev.plane[plane_number].pool_pages - per_block)
    return pages_taken(dev, plane_number, pairs, count) <= room


@kernel
def _check_together(dev, leader, pairs, count):
    """Return OK, or why pairs that are each legal may not be erased together."""
    params, led = dev.params[0], 0
    for k in range(count):
        block = np.int64(pairs[k].block)
        for other in range(k):
            if pairs[other].block == block:
                return ILLEGAL_PAIRS
        if dev.block[block].plane == leader:
            led += 1
        elif params.multi_plane == STRICT:  # needs a pair on the block of equal number in the leading plane
            partner, found = leader * params.blocks + remainder(block, params.blocks), False
            for other in range(count):
                found = found or np.int64(pairs[other].block) == partner
            if not found:
                return ILLEGAL_PAIRS
    if led == 0:
        return ILLEGAL_PAIRS
    for k in range(count):
        if not _has_room(dev, np.int64(dev.block[pairs[k].block].plane), pairs, count):
            return NO_ROOM_TO_MOVE
    return OK


@inlined
def check_erase_set(dev, leader, pairs, count):
    """Return OK, or why a round that plane `leader` leads now may not erase the first `count` pairs."""
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
    """Return whether the first `count` pairs are a legal erase set of a plane."""
    return check_erase_set(dev, plane, pairs, count) == OK


@helper
def choose_block(dev, choice, block):
    """Choose a whole block as erase set, or no set.

    Args:
        dev: the rule's view.
        choice: (MAX_PAIRS,) ERASE_PAIR, to write to.
        block: number of the block, -1 for no set.

    Returns:
        The number of pairs chosen, 0 or 1, which a victim rule returns.
    """
    if block < 0:
        return 0
    choice[0].block = block
    choice[0].mask = full_mask(dev.params[0].sub_blocks)
    return 1


@helper
def whole_mask(dev):
    """Return the mask of a whole block."""
    return full_mask(dev.params[0].sub_blocks)


@helper
def siblings_of(dev, plane):
    """Yield the numbers of the other planes of a plane's die, in rising order."""
    params = dev.params[0]
    for other in range(remainder(plane, params.dies), params.planes, params.dies):
        if other != plane:
            yield other


@shared
def blocks_of(dev, plane):
    """Return the range of the block numbers of a plane."""
    blocks = dev.params[0].blocks
    return range(plane * blocks, (plane + 1) * blocks)


@helper
def eligible(dev, block):
    """Return whether a block may be a victim: it is indexed and has `least_invalid` invalid pages or more."""
    record = dev.block[block]
    return (record.status & INDEXED) != 0 and record.invalid >= dev.params[0].least_invalid


@inlined
def random_block(dev, plane, stream, number):
    """Return the block of a plane that draw `number` of a random stream selects, eligible or not."""
    params, decision = dev.params[0], dev.control[0].rounds
    return plane * params.blocks + below(draw(params.seed, stream, decision, number), params.blocks)


@helper
def random_eligible(dev, plane, stream, first_draw):
    """Draw a uniformly random eligible block of a plane.

    Args:
        dev: the rule's view.
        plane: number of the plane.
        stream: stream of the random numbers.
        first_draw: number of the first of the `DRAWS_PER_CHOICE` draws that are reserved for the choice.

    Returns:
        The block, or -1 if no block is eligible.
    """
    params = dev.params[0]
    decision = dev.control[0].rounds
    first = plane * params.blocks
    for k in range(DRAWS_PER_CHOICE - 1):
        block = first + below(draw(params.seed, stream, decision, first_draw + k), params.blocks)
        if eligible(dev, block):
            return block
    start = below(draw(params.seed, stream, decision, first_draw + DRAWS_PER_CHOICE - 1), params.blocks)
    for k in range(params.blocks):
        block = first + (start + k) % params.blocks
        if eligible(dev, block):
            return block
    return -1
