"""The candidates of an ERASE decision, without duplicates.

The first candidates are the picks of the proposers, which are victim rules. The others are sets of the blocks
with most invalid pages, and sets of random blocks.
"""

import numpy as np

from ssdgym.engine.blocks.index import most_invalid_block, next_by_invalid
from ssdgym.engine.core.bits import NONE, PROPOSAL_STREAM, below, draw, full_mask
from ssdgym.engine.core.kernel import inlined, kernel, prefetch
from ssdgym.engine.core.records import MAX_PAIRS, SUB_BLOCK_RUN, WHOLE_BLOCK
from ssdgym.engine.core.status import OK
from ssdgym.engine.decisions import erase_set_by
from ssdgym.engine.erase.best_set import best_set
from ssdgym.engine.erase.legality import check_erase_set, random_block, random_eligible

#: Factor of masks in the hash of an erase set.
_SPREAD = np.int64(0x2545F4914F6CDD1D)

# The table of candidates, `sets`, has the shape (K, MAX_PAIRS): the pairs of a set come first, then pairs
# with mask 0. `keys` (K,) has a hash of each set, and `count` is the number of sets in the table.


@inlined
def pairs_of(erase_set):
    """Return the number of pairs of a candidate: pairs in front of the first mask 0."""
    count = 0
    while count < MAX_PAIRS and erase_set[count].mask != NONE:
        count += 1
    return count


@inlined
def _is_set(erase_set, pairs, length):
    """Return whether a candidate equals the erase set of the first `length` items of `pairs`."""
    for k in range(length):
        if erase_set[k].block != pairs[k].block or erase_set[k].mask != pairs[k].mask:
            return False
    return length == MAX_PAIRS or erase_set[length].mask == NONE


@kernel
def add_set(sets, keys, count, pairs, length):
    """Append an erase set of `length` pairs to the `count` sets of the table, unless it is already there.

    Returns the row of the set in the table, or -1 if the table is full.
    """
    key = np.int64(length)
    for k in range(length):
        key += (np.int64(pairs[k].mask) + 1) * _SPREAD + pairs[k].block
    for k in range(count):
        if keys[k] == key and _is_set(sets[k], pairs, length):
            return k
    if count == sets.shape[0]:
        return -1
    keys[count] = key
    for k in range(MAX_PAIRS):
        sets[count, k].block = pairs[k].block if k < length else 0
        sets[count, k].mask = pairs[k].mask if k < length else NONE
    return count


@kernel
def _add_legal(dev, plane, sets, keys, count, pairs, length):
    """Append an erase set if it is legal and new; return the number of sets in the table."""
    if check_erase_set(dev, plane, pairs, length) != OK:
        return count
    return max(count, add_set(sets, keys, count, pairs, length) + 1)


@inlined
def _set_pair(dev, pairs, k, block):
    """Store a block as pair `k` of an erase set: the whole block, or its best set if parts may be erased."""
    params = dev.params[0]
    pairs[k].block = block
    whole = params.erase_unit == WHOLE_BLOCK
    pairs[k].mask = full_mask(params.sub_blocks) if whole else best_set(dev, block)


@kernel
def _set_first(dev, plane, pairs, count):
    """Store the `count` blocks with most invalid pages in `pairs`; return `count`."""
    block = np.int64(most_invalid_block(dev, plane))
    for k in range(count):
        _set_pair(dev, pairs, k, block)
        block = np.int64(next_by_invalid(dev, plane, block))
    return count


@kernel
def _add_by_rank(dev, plane, sets, keys, count, wanted, pairs, most_blocks):
    """Append sets of blocks with many invalid pages, up to `wanted` sets; return the number of sets.

    Blocks are visited by falling invalid pages. Each block adds three sets, if legal: the block alone, the
    block with the first block, and all blocks visited so far (at most `most_blocks`).
    """
    first = np.int64(most_invalid_block(dev, plane))
    block = first
    rank = np.int64(0)
    while block >= 0 and count < wanted:
        _set_pair(dev, pairs, 0, block)
        count = _add_legal(dev, plane, sets, keys, count, pairs, 1)
        if rank > 0:
            _set_pair(dev, pairs, 0, first)
            _set_pair(dev, pairs, 1, block)
            count = _add_legal(dev, plane, sets, keys, count, pairs, 2)
        if 1 < rank < most_blocks:
            count = _add_legal(dev, plane, sets, keys, count, pairs, _set_first(dev, plane, pairs, rank + 1))
        block = np.int64(next_by_invalid(dev, plane, block))
        rank += 1
    return count


@kernel
def _add_at_random(dev, plane, sets, keys, count, pairs, most_blocks):
    """Append sets of random eligible blocks, with one try per row of the table; return the number of sets."""
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
            count = _add_legal(dev, plane, sets, keys, count, pairs, length)
    return count


@inlined
def _add_mask(sets, keys, count, block, mask, scratch):
    scratch[0].block = block
    scratch[0].mask = mask
    return max(count, add_set(sets, keys, count, scratch, 1) + 1)


@kernel
def _add_block(dev, sets, keys, count, block, scratch):
    """Append a whole block and, if parts may be erased, the block's best set; return the number of sets."""
    params = dev.params[0]
    prefetch(dev.sub_block, block * params.sub_blocks)
    count = _add_mask(sets, keys, count, block, full_mask(params.sub_blocks), scratch)
    if params.erase_unit != WHOLE_BLOCK:
        count = _add_mask(sets, keys, count, block, best_set(dev, block), scratch)
    return count


@inlined
def propose(dev, plane, spec, sets, proposed):
    """Begin the table with the legal picks of the proposers, without repeats; return the number of sets.

    `proposed[k]` becomes the row of the pick of proposer `k`, -1 for none. The device does not change.
    """
    count = np.int64(0)
    choice = spec.pairs
    for k in range(spec.proposers.shape[0]):
        proposed[k] = -1
        pairs = erase_set_by(spec.proposers[k], dev.decider.victim_view, plane, choice)
        if check_erase_set(dev, plane, choice, pairs) == OK:
            prefetch(dev.sub_block, np.int64(choice[0].block) * dev.params[0].sub_blocks)
            place = add_set(sets, spec.keys, count, choice, pairs)
            proposed[k] = place
            count = max(count, place + 1)
    return count


@inlined
def fill_up(dev, plane, sets, count, spec):
    """Fill the rows of the table behind its first `count` sets, without repeats; return the number of sets.

    Half of these rows are for blocks with most invalid pages, the others for random eligible blocks.
    """
    wanted = count + (sets.shape[0] - count + 1) // 2
    scratch, keys = spec.pairs, spec.keys
    if spec.most_blocks > 1:
        count = _add_by_rank(dev, plane, sets, keys, count, wanted, scratch, spec.most_blocks)
        return _add_at_random(dev, plane, sets, keys, count, scratch, spec.most_blocks)
    # The blocks with most invalid pages, in bucket order.
    params = dev.params[0]
    per_plane = params.pages_per_block + 1
    invalid = np.int64(dev.plane[plane].max_invalid)
    while invalid >= params.least_invalid and count < wanted:
        block = np.int64(dev.bucket[plane * per_plane + invalid].head)
        while block >= 0 and count < wanted:
            count = _add_block(dev, sets, keys, count, block, scratch)
            block = np.int64(dev.block[block].next_bucket)
        invalid -= 1
    # Random eligible blocks, with one try for each row of the table.
    tries = sets.shape[0]
    for k in range(tries - count):
        prefetch(dev.block, random_block(dev, plane, PROPOSAL_STREAM, 65 * k))
    for k in range(tries):
        if count == sets.shape[0]:
            break
        block = random_eligible(dev, plane, PROPOSAL_STREAM, 65 * k)
        if block >= 0:
            count = _add_block(dev, sets, keys, count, block, scratch)
    return count


@inlined
def _list(sets, place, block, mask):
    """Store a set of one pair in row `place`; the row's other masks are 0 already."""
    sets[place, 0].block = block
    sets[place, 0].mask = mask


@kernel
def list_all(dev, plane, sets):
    """List each erase set of one block of the plane, legal or not, in its fixed row; return how many.

    Sets are sorted by block. The sets of a block are sorted by start, then length, if only runs may be
    erased, otherwise by mask; the whole block is last.
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
