"""The candidates of an ERASE decision, each of them once.

Policies propose the first; the rest are filled up by rank and at random.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import SUB_BLOCK_RUN, WHOLE_BLOCK
from ssdgym.engine.core.rng import PROPOSAL_STREAM
from ssdgym.engine.core.status import OK
from ssdgym.engine.decisions import erase_set_by
from ssdgym.engine.erase.candidate_table import add_set, position_of
from ssdgym.engine.erase.legality import check_erase_set
from ssdgym.engine.erase.together import fill_up_together
from ssdgym.engine.erase.victims import random_eligible
from ssdgym.engine.speedupgc.best_sets import best_set


@inlined
def _add_mask(sets, count, block, mask, scratch):
    scratch[0].block = block
    scratch[0].mask = mask
    return add_set(sets, count, scratch, 1)


@kernel
def _add_block(dev, sets, count, block, scratch):
    """Add a block whole and, where sub-blocks may be erased, by its best set."""
    params = dev.params[0]
    count = _add_mask(sets, count, block, full_mask(params.sub_blocks), scratch)
    if params.erase_unit != WHOLE_BLOCK:
        count = _add_mask(sets, count, block, best_set(dev, block), scratch)
    return count


@inlined
def propose(dev, plane, question, sets, proposed):
    """Begin the table with the legal picks of the policies, equal ones once; return their number.

    `proposed[k]` is the place of the pick of policy `k` (-1: none). Pure: the device stays as it is.
    """
    count = 0
    choice = question.pairs
    for k in range(question.proposers.shape[0]):
        proposed[k] = -1
        pairs = erase_set_by(question.proposers[k], dev.decider.victim_view, plane, choice)
        if check_erase_set(dev, plane, choice, pairs) == OK:
            after = add_set(sets, count, choice, pairs)
            proposed[k] = count if after > count else position_of(sets, count, choice, pairs)
            count = after
    return count


@inlined
def _fill_by_rank(dev, plane, sets, count, wanted, scratch):
    """Add the blocks with most invalid pages, in bucket order, up to `wanted` candidates."""
    params = dev.params[0]
    per_plane = params.pages_per_block + 1
    invalid = np.int64(dev.plane[plane].max_invalid)
    while invalid >= params.least_invalid and count < wanted:
        block = np.int64(dev.bucket[plane * per_plane + invalid].head)
        while block >= 0 and count < wanted:
            count = _add_block(dev, sets, count, block, scratch)
            block = np.int64(dev.block[block].next_bucket)
        invalid -= 1
    return count


@inlined
def _fill_at_random(dev, plane, sets, count, scratch):
    """Add random eligible blocks to the places left; a full turn of draws without a new one ends it."""
    tries = sets.shape[0]
    for k in range(tries):
        if count == sets.shape[0]:
            break
        block = random_eligible(dev, plane, PROPOSAL_STREAM, 65 * k)
        if block >= 0:
            count = _add_block(dev, sets, count, block, scratch)
    return count


@inlined
def fill_up(dev, plane, sets, count, question):
    """Fill the table up behind its first `count` sets; return how many there are now.

    Half of the places go by rank, the rest at random, without repeats.
    """
    wanted = count + (sets.shape[0] - count + 1) // 2
    scratch = question.pairs
    if question.most_blocks > 1:
        return fill_up_together(dev, plane, sets, count, wanted, scratch, question.most_blocks)
    count = _fill_by_rank(dev, plane, sets, count, wanted, scratch)
    return _fill_at_random(dev, plane, sets, count, scratch)


@inlined
def _list(sets, place, block, mask):
    """Write a set of one pair to a place; the other pairs of a listed set are always empty."""
    sets[place, 0].block = block
    sets[place, 0].mask = mask


@kernel
def list_all(dev, plane, sets):
    """List every erase set of the plane at its fixed place, legal or not; return the number of places.

    Block by block: where runs may be erased, by start and length; where any set may be, by its mask as a
    number; the whole block last.
    """
    params = dev.params[0]
    count = 0
    whole = full_mask(params.sub_blocks)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        if params.erase_unit == SUB_BLOCK_RUN:
            for start in range(params.sub_blocks):
                for length in range(1, params.sub_blocks - start + 1):
                    if length < params.sub_blocks:
                        _list(sets, count, block, full_mask(length) << np.uint64(start))
                        count += 1
        elif params.erase_unit != WHOLE_BLOCK:
            for mask in range(1, np.int64(whole)):
                _list(sets, count, block, np.uint64(mask))
                count += 1
        _list(sets, count, block, whole)
        count += 1
    return count
