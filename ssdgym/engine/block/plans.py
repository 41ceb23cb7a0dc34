"""Plans of partial erases, and pages moved out of their way."""

import numpy as np

from ssdgym.engine.block.bundles import (
    block_at,
    erase,
    first_erased,
    first_room,
    forget,
    free_slot,
    is_valid,
    locate,
    program,
    review,
    set_block,
    take_block,
)
from ssdgym.engine.block.state import DATA, NFTL, TARGET, UPDATE
from ssdgym.engine.blocks.index import join_pool
from ssdgym.engine.core.bits import NONE, ONE, has
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.flash import check_page, leaves_of, level_of

#: Candidates: Merge; from this one on M-Merge at a depth; the last one is the plan of least cost.
MERGE_BLOCKS, AT_DEPTH = 0, 1


# Plans: which partial blocks of a block to erase in place, and what that costs.
#
# A plan frees all invalid pages of a block. The pages that are still valid in a partial block leave it
# before the erase, and come back after it.


@inlined
def candidates_of(dev):
    """Return the number of candidates of a decision."""
    return np.int64(dev.merging[0].levels) + 3


@kernel
def _count_back(dev, bundle):
    """Count the valid pages of the update block by the sub-block of the data block that they belong to."""
    params, merging = dev.params[0], dev.merging[0]
    leaves = np.int64(1) << np.int64(merging.levels)
    update = block_at(dev, bundle, UPDATE)
    if merging.kind != NFTL or update < 0:
        return
    first = update * np.int64(params.pages_per_block)
    for ppn in range(first, first + params.pages_per_block):
        if is_valid(dev, ppn):
            _, place = locate(dev, np.int64(dev.physical[ppn].lpn))
            dev.node[leaves + place // np.int64(params.pages_per_sub_block)].back += 1


@kernel
def look_at(dev, bundle, block):
    """Count the pages of each partial block of a block that a plan is made for."""
    leaves = np.int64(1) << np.int64(dev.merging[0].levels)
    for s in range(leaves):
        held, node = dev.sub_block[block * leaves + s], dev.node[leaves + s]
        node.valid = held.written - held.invalid
        node.invalid = held.invalid
        node.back = 0
    _count_back(dev, bundle)
    for k in range(leaves - 1, 0, -1):
        node, low, high = dev.node[k], dev.node[2 * k], dev.node[2 * k + 1]
        node.valid = low.valid + high.valid
        node.invalid = low.invalid + high.invalid
        node.back = low.back + high.back


@inlined
def _is_needed(dev, number, level, corrupted):
    """Return whether a partial block has to be erased: for its invalid pages, or since it would lose data."""
    if dev.node[number].invalid > 0:
        return True
    count = np.int64(1) << (np.int64(dev.merging[0].levels) - level)
    first = (number - (np.int64(1) << level)) * count
    return (corrupted >> np.uint64(first)) & (~NONE >> np.uint64(64 - count)) != NONE


@inlined
def _restore_ns(dev, number, level, corrupted):
    """Return what erasing a partial block costs with the copies around it; 0 if there is no need to."""
    if not _is_needed(dev, number, level, corrupted):
        return np.int64(0)
    node = dev.node[number]
    copies = 2 * np.int64(node.valid) + np.int64(node.back)
    return copies * np.int64(dev.params[0].copy_cost) + np.int64(dev.merging[0].erase_ns[level])


@kernel
def _add_to_plan(dev, number, level):
    draft, node = dev.draft[0], dev.node[number]
    levels = np.int64(dev.merging[0].levels)
    first, count = leaves_of(levels, number)
    draft.plan[number >> 6] |= ONE << np.uint64(number & 63)
    draft.cover |= (~NONE >> np.uint64(64 - count)) << np.uint64(first)
    draft.out_copies += node.valid
    draft.copies += 2 * node.valid + node.back
    draft.erases += 1
    draft.erase_ns += dev.merging[0].erase_ns[level]


@kernel
def _least_cost(dev, corrupted):
    """Make the plan of least cost (PEN, Algorithm 1)."""
    levels = np.int64(dev.merging[0].levels)
    for level in range(levels, -1, -1):
        for k in range(np.int64(1) << level, np.int64(2) << level):
            node = dev.node[k]
            node.cost_ns = _restore_ns(dev, np.int64(k), np.int64(level), corrupted)
            node.halved = 0
            if level < levels:
                halves = dev.node[2 * k].cost_ns + dev.node[2 * k + 1].cost_ns
                if halves < node.cost_ns:
                    node.cost_ns = halves
                    node.halved = 1
    k = np.int64(1)
    while True:  # from the left to the right, as deep as the cover goes
        if dev.node[k].halved:
            k = 2 * k
            continue
        level = level_of(k)
        if _is_needed(dev, k, level, corrupted):
            _add_to_plan(dev, k, level)
        while k & 1:
            if k == 1:
                return
            k >>= 1
        k += 1


@kernel
def _at_level(dev, corrupted, level):
    """Plan to erase all partial blocks of one level that have to be."""
    for k in range(np.int64(1) << level, np.int64(2) << level):
        if _is_needed(dev, np.int64(k), level, corrupted):
            _add_to_plan(dev, np.int64(k), level)


@inlined
def _disturbed_by(dev, block, s):
    """Return how often a sub-block will have been disturbed after the plan."""
    leaves = np.int64(1) << np.int64(dev.merging[0].levels)
    cover = dev.draft[0].cover
    times = np.int64(dev.disturbed[block * leaves + s])
    times += s > 0 and has(cover, s - 1)
    times += s + 1 < leaves and has(cover, s + 1)
    return times


@kernel
def _corrupted_by(dev, block, margin):
    """Return the sub-blocks with data that a plan leaves, disturbed `margin` more often than tolerated."""
    leaves = np.int64(1) << np.int64(dev.merging[0].levels)
    found = NONE
    for s in range(leaves):
        if dev.node[leaves + s].valid > 0 and not has(dev.draft[0].cover, s):
            over = _disturbed_by(dev, block, np.int64(s)) - np.int64(dev.merging[0].tolerance)
            if over == margin or (margin > 0 and over > margin):
                found |= ONE << np.uint64(s)
    return found


@inlined
def _clear(draft):
    draft.plan[0] = 0
    draft.plan[1] = 0
    draft.cover = 0
    draft.erase_ns = 0
    draft.copies = 0
    draft.out_copies = 0
    draft.erases = 0


@inlined
def _bits(mask):
    """Count the bits of a mask."""
    count = np.int64(0)
    while mask != NONE:
        mask &= mask - ONE
        count += 1
    return count


@kernel
def make_draft(dev, block, candidate):
    """Make the plan of a candidate for a block that has been looked at.

    A plan disturbs what is beside the partial blocks it erases. With disturbance care, what would be lost by
    that is restored, too, until a plan destroys nothing (PEN, Algorithm 2).
    """
    merging, draft = dev.merging[0], dev.draft[0]
    cares = merging.care and merging.tolerance >= 0
    corrupted = NONE
    while True:
        _clear(draft)
        if candidate == candidates_of(dev) - 1:
            _least_cost(dev, corrupted)
        else:
            _at_level(dev, corrupted, np.int64(candidate - AT_DEPTH))
        found = np.uint64(_corrupted_by(dev, block, np.int64(1))) if cares else NONE
        if found == NONE:
            break
        corrupted |= found
    draft.restored = corrupted
    draft.cost_ns = np.int64(draft.copies) * np.int64(dev.params[0].copy_cost) + draft.erase_ns
    draft.at_tolerance = 0
    if merging.tolerance >= 0:
        draft.at_tolerance = _bits(np.uint64(_corrupted_by(dev, block, np.int64(0))))


@inlined
def restored_leaves(draft):
    """Count the sub-blocks that a plan erases only because of disturbance."""
    return _bits(np.uint64(draft.restored))


#: What a step was: a scan of spare areas; a page copied; an erase.
SCANNED, COPIED, ERASED = range(3)
#: The phase has nothing left to do; look at the next one.
GO_ON = 10


@kernel
def copy_page(dev, bundle, source, target):
    """Relocate a valid page of a bundle."""
    lpn = np.int64(dev.physical[source].lpn)
    check_page(dev, lpn, source)
    forget(dev, bundle, source)
    program(dev, target, lpn, np.int64(dev.physical[source].version))
    dev.counters[0].relocated_pages += 1
    return np.int64(COPIED)


@inlined
def erase_now(dev, plane, bundle, block, node):
    """Erase a partial block; `amount` is its level then."""
    erase(dev, bundle, block, node)
    dev.job[plane].amount = level_of(node)
    return np.int64(ERASED)


@inlined
def lowest_of(slots):
    """Return the lowest of some slots, a bit each."""
    slot = np.int64(0)
    while not slots >> slot & 1:
        slot += 1
    return slot


@inlined
def _finish(dev, plane, bundle):
    """End the job of a plane, whose last block is being erased."""
    job = dev.job[plane]
    if dev.merging[0].kind == NFTL and job.answer == MERGE_BLOCKS:
        target = block_at(dev, bundle, TARGET)
        set_block(dev, bundle, TARGET, np.int64(-1))
        set_block(dev, bundle, DATA, target)
    job.bundle = -1
    review(dev, bundle)


@inlined
def erase_emptied(dev, plane, bundle, slot):
    """Erase a block of which nothing is wanted any more; it joins the pool."""
    job = dev.job[plane]
    block = block_at(dev, bundle, slot)
    done = erase_now(dev, plane, bundle, block, np.int64(1))
    set_block(dev, bundle, slot, np.int64(-1))
    join_pool(dev, block)
    job.emptied &= ~(np.uint32(1) << np.uint32(slot))
    if job.emptied == 0:
        _finish(dev, plane, bundle)
    return done


@inlined
def next_valid(dev, plane, block):
    """Return the next valid page of a block from the job's place in it on, -1 for none."""
    job, size = dev.job[plane], np.int64(dev.params[0].pages_per_block)
    while job.page < size:
        ppn = block * size + job.page
        if is_valid(dev, ppn):
            return ppn
        job.page += 1
    return np.int64(-1)


@kernel
def room_for(dev, plane, bundle, slots, emptied):
    """Return the lowest erased page of a bundle's blocks in some slots, or of a block added to them; -1.

    A block that is added is emptied itself at last where `emptied` says so.
    """
    block = first_room(dev, bundle, slots)
    if block < 0:
        block = np.int64(take_block(dev, plane))
        if block < 0:
            return np.int64(-1)
        slot = free_slot(dev, bundle)
        set_block(dev, bundle, slot, block)
        if emptied:
            dev.job[plane].emptied |= np.uint32(1) << np.uint32(slot)
    return np.int64(first_erased(dev, block))
