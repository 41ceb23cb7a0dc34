"""Candidates of several blocks erased together, for a decision on how many and which."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.index import most_invalid_block, next_by_invalid
from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_PAIRS, WHOLE_BLOCK
from ssdgym.engine.core.rng import PROPOSAL_STREAM, below, draw
from ssdgym.engine.core.status import OK
from ssdgym.engine.erase.candidate_table import add_set
from ssdgym.engine.erase.legality import check_erase_set
from ssdgym.engine.erase.victims import random_eligible
from ssdgym.engine.speedupgc.best_sets import best_set


@inlined
def _unit_of(dev, block):
    """Return what is erased of a block in a set with others: its best set where parts may be erased."""
    params = dev.params[0]
    if params.erase_unit == WHOLE_BLOCK:
        return full_mask(params.sub_blocks)
    return best_set(dev, block)


@kernel
def _add_legal(dev, plane, sets, count, pairs, length):
    """Add an erase set if it is legal."""
    if check_erase_set(dev, plane, pairs, length) != OK:
        return count
    return add_set(sets, count, pairs, length)


@inlined
def _set_pair(dev, pairs, k, block):
    pairs[k].block = block
    pairs[k].mask = _unit_of(dev, block)


@kernel
def _set_first(dev, plane, pairs, count):
    """Make the `count` blocks with most invalid pages the pairs; return their number."""
    block = np.int64(most_invalid_block(dev, plane))
    for k in range(count):
        _set_pair(dev, pairs, k, block)
        block = np.int64(next_by_invalid(dev, plane, block))
    return count


@kernel
def _fill_by_rank(dev, plane, sets, count, wanted, pairs, most_blocks):
    """Add sets by falling number of invalid pages.

    Every block alone, the first ones together, and each with the first one.
    """
    first = np.int64(most_invalid_block(dev, plane))
    block = first
    rank = np.int64(0)
    while block >= 0 and count < wanted:
        _set_pair(dev, pairs, 0, block)
        count = _add_legal(dev, plane, sets, count, pairs, 1)
        if rank > 0:
            _set_pair(dev, pairs, 0, first)
            _set_pair(dev, pairs, 1, block)
            count = _add_legal(dev, plane, sets, count, pairs, 2)
        if 1 < rank < most_blocks:
            count = _add_legal(dev, plane, sets, count, pairs, _set_first(dev, plane, pairs, rank + 1))
        block = np.int64(next_by_invalid(dev, plane, block))
        rank += 1
    return count


@kernel
def _fill_at_random(dev, plane, sets, count, pairs, most_blocks):
    """Add sets of a random number of random eligible blocks.

    A full turn of draws without a new set ends it.
    """
    params = dev.params[0]
    turns = sets.shape[0]
    for k in range(turns):
        if count == sets.shape[0]:
            break
        first_draw = (65 * MAX_PAIRS + 1) * k
        wanted = 1 + below(draw(params.seed, PROPOSAL_STREAM, dev.control[0].rounds, first_draw), most_blocks)
        length = 0
        for j in range(wanted):
            block = random_eligible(dev, plane, PROPOSAL_STREAM, first_draw + 1 + 65 * j)
            known = block < 0
            for other in range(length):
                known = known or pairs[other].block == block
            if not known:
                _set_pair(dev, pairs, length, block)
                length += 1
        if length > 0:
            count = _add_legal(dev, plane, sets, count, pairs, length)
    return count


@inlined
def fill_up_together(dev, plane, sets, count, wanted, scratch, most_blocks):
    """Fill the table up with sets of several blocks of the plane."""
    count = _fill_by_rank(dev, plane, sets, count, wanted, scratch, most_blocks)
    return _fill_at_random(dev, plane, sets, count, scratch, most_blocks)
