"""The figures of a decision: what each candidate costs, and whether there is room for it."""

import numpy as np

from ssdgym.engine.block.bundles import block_at, erased_pages, valid_pages
from ssdgym.engine.block.plans import (
    AT_DEPTH,
    MERGE_BLOCKS,
    candidates_of,
    look_at,
    make_draft,
    restored_leaves,
)
from ssdgym.engine.block.state import DATA, MAX_SLOTS, NFTL, UPDATE
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import FULL
from ssdgym.engine.flash import leaves_of, level_of

#: An odd number whose bits are mixed (the golden ratio), to make marks of bits with.
_MIXING = np.uint64(0x9E3779B97F4A7C15)

# -- the blocks that are emptied


@kernel
def fewest_valid(dev, bundle, count):
    """Return the slots (a bit each) of so many blocks of a bundle: those with the fewest valid pages."""
    chosen = np.int64(0)
    for _ in range(count):
        best, least = np.int64(-1), np.int64(0)
        for slot in range(dev.merging[0].slots):
            block = block_at(dev, bundle, slot)
            if block < 0 or chosen >> slot & 1:
                continue
            valid = valid_pages(dev, block)
            if best < 0 or valid < least:
                best, least = np.int64(slot), valid
        chosen |= np.int64(1) << best
    return chosen


@inlined
def held_slots(dev, bundle):
    """Return the slots (a bit each) in which a bundle has a block."""
    held = np.int64(0)
    for slot in range(dev.merging[0].slots):
        if block_at(dev, bundle, slot) >= 0:
            held |= np.int64(1) << np.int64(slot)
    return held


@inlined
def valid_in(dev, bundle, slots):
    """Count the valid pages of the blocks in some slots of a bundle."""
    count = np.int64(0)
    for slot in range(dev.merging[0].slots):
        if slots >> slot & 1:
            count += valid_pages(dev, block_at(dev, bundle, slot))
    return count


@inlined
def erased_in(dev, bundle, slots):
    """Count the erased pages of the blocks in some slots of a bundle."""
    count = np.int64(0)
    for slot in range(dev.merging[0].slots):
        if slots >> slot & 1:
            count += erased_pages(dev, block_at(dev, bundle, slot))
    return count


@inlined
def blocks_for(dev, pages):
    """Return how many blocks pages fill; none for a number below 0."""
    size = np.int64(dev.params[0].pages_per_block)
    return (max(pages, 0) + size - 1) // size


@kernel
def merged_slots(dev, bundle, cause):
    """Return the slots of the blocks of a superblock that a Merge empties."""
    merging = dev.merging[0]
    if cause == FULL:
        return fewest_valid(dev, bundle, np.int64(1))
    held = np.int64(dev.bundle[bundle].held)
    every = held_slots(dev, bundle)
    for count in range(held - merging.logical_blocks, held):
        slots = np.int64(fewest_valid(dev, bundle, np.int64(count)))
        needed = blocks_for(dev, valid_in(dev, bundle, slots) - erased_in(dev, bundle, every & ~slots))
        if held - count + needed <= merging.logical_blocks:
            return slots
    return every


@inlined
def compacted_slots(dev, bundle):
    """Return the slots of the blocks of a superblock that an M-Merge empties: all but those it needs."""
    spare = np.int64(dev.bundle[bundle].held) - np.int64(dev.merging[0].logical_blocks)
    return np.int64(fewest_valid(dev, bundle, spare))


# -- NFTL: room for what leaves the data block


@inlined
def _valid_beside(dev, block, s):
    """Return whether erasing next to a sub-block would destroy valid pages of it."""
    params, tolerance = dev.params[0], np.int64(dev.merging[0].tolerance)
    if s < 0 or s >= params.sub_blocks or tolerance < 0 or not dev.merging[0].care:
        return False
    leaf = block * np.int64(params.sub_blocks) + s
    return dev.disturbed[leaf] + 1 > tolerance and dev.sub_block[leaf].written > dev.sub_block[leaf].invalid


@kernel
def largest_invalid(dev, block):
    """Return the largest partial block of a block that holds invalid pages only, and those; 0 for none."""
    params = dev.params[0]
    levels = np.int64(dev.merging[0].levels)
    for node in range(1, np.int64(2) << levels):
        first, count = leaves_of(levels, np.int64(node))
        written, invalid = np.int64(0), np.int64(0)
        for s in range(first, first + count):
            held = dev.sub_block[block * np.int64(params.sub_blocks) + s]
            written += held.written
            invalid += held.invalid
        if written == 0 or invalid < written:
            continue
        if not (_valid_beside(dev, block, first - 1) or _valid_beside(dev, block, first + count)):
            return np.int64(node), invalid
    return np.int64(0), np.int64(0)


# -- the figures


@inlined
def _add_draft(dev, figure):
    draft = dev.draft[0]
    figure.cost_ns += draft.cost_ns
    figure.erase_ns += draft.erase_ns
    figure.copies += draft.copies
    figure.out_copies += draft.out_copies
    figure.erases += draft.erases
    figure.restored += restored_leaves(draft)
    figure.at_tolerance += draft.at_tolerance
    for word in range(2):
        figure.parts = (figure.parts ^ draft.plan[word]) * _MIXING


@inlined
def _add_erases(figure, count, erase_ns):
    figure.erases += count
    figure.erase_ns += count * erase_ns
    figure.cost_ns += count * erase_ns


@inlined
def _add_copies(dev, figure, pages):
    figure.copies += pages
    figure.cost_ns += pages * np.int64(dev.params[0].copy_cost)


@kernel
def _figure_block(dev, bundle, block):
    """Add the plans for a block to the figures of all M-Merges."""
    look_at(dev, bundle, block)
    for candidate in range(AT_DEPTH, candidates_of(dev)):
        make_draft(dev, block, np.int64(candidate))
        _add_draft(dev, dev.figure[candidate])


@inlined
def may_m_merge(dev, bundle):
    """Return whether a bundle may be merged in place once more before a Merge."""
    return dev.bundle[bundle].since_merge < dev.merging[0].most_m_merges


@inlined
def needs_first_erase(dev, update, out_copies):
    """Return whether a part of the update block is erased before pages leave the data block."""
    return out_copies > erased_pages(dev, update)


@kernel
def _figure_nftl(dev, bundle):
    merging = dev.merging[0]
    block_ns = np.int64(merging.erase_ns[0])
    data, update = block_at(dev, bundle, DATA), block_at(dev, bundle, UPDATE)
    _add_copies(dev, dev.figure[MERGE_BLOCKS], valid_pages(dev, data) + valid_pages(dev, update))
    _add_erases(dev.figure[MERGE_BLOCKS], np.int64(2), block_ns)
    _figure_block(dev, bundle, data)
    node, won = largest_invalid(dev, update)
    room = erased_pages(dev, update)
    for candidate in range(AT_DEPTH, candidates_of(dev)):
        figure = dev.figure[candidate]
        figure.allowed = may_m_merge(dev, bundle) and figure.out_copies <= room + won
        if figure.out_copies > room and node > 0:
            _add_erases(figure, np.int64(1), np.int64(merging.erase_ns[level_of(node)]))
        _add_erases(figure, np.int64(1), block_ns)


@kernel
def _figure_superblock(dev, bundle, plane, cause):
    merging = dev.merging[0]
    block_ns = np.int64(merging.erase_ns[0])
    emptied = np.int64(merged_slots(dev, bundle, cause))
    merge = dev.figure[MERGE_BLOCKS]
    _add_copies(dev, merge, valid_in(dev, bundle, emptied))
    for slot in range(MAX_SLOTS):
        _add_erases(merge, emptied >> slot & 1, block_ns)
    emptied = compacted_slots(dev, bundle)
    for slot in range(merging.slots):
        block = block_at(dev, bundle, slot)
        if block >= 0 and not emptied >> slot & 1:
            _figure_block(dev, bundle, block)
    spare = np.int64(dev.bundle[bundle].held) - np.int64(merging.logical_blocks)
    valid, room = valid_in(dev, bundle, emptied), erased_in(dev, bundle, emptied)
    most = min(np.int64(dev.plane[plane].pool_count), np.int64(merging.logical_blocks))
    for candidate in range(AT_DEPTH, candidates_of(dev)):
        figure = dev.figure[candidate]
        extra = blocks_for(dev, np.int64(figure.out_copies) - room)
        figure.allowed = may_m_merge(dev, bundle) and extra <= most
        _add_copies(dev, figure, valid)
        _add_erases(figure, spare + extra, block_ns)


@inlined
def _clear(figure):
    figure.cost_ns = 0
    figure.erase_ns = 0
    figure.copies = 0
    figure.out_copies = 0
    figure.erases = 0
    figure.restored = 0
    figure.at_tolerance = 0
    figure.parts = 0
    figure.allowed = 0


@kernel
def _fill_case(dev, plane, bundle, cause):
    case, merging = dev.case[0], dev.merging[0]
    case.plane = plane
    case.bundle = bundle
    case.cause = cause
    case.candidates = candidates_of(dev)
    case.since_merge = dev.bundle[bundle].since_merge
    case.limit = merging.most_m_merges
    case.free_blocks = dev.plane[plane].pool_count
    case.kept_blocks = merging.kept_free
    case.waiting = dev.plane[plane].indexed_blocks
    case.valid = valid_in(dev, bundle, held_slots(dev, bundle))
    case.invalid = dev.bundle[bundle].invalid
    case.block_pages = dev.params[0].pages_per_block
    case.levels = merging.levels


@kernel
def fill_figures(dev, plane):
    """Write the figures of all candidates for the job of a plane, and what is merged."""
    job = dev.job[plane]
    bundle, cause = np.int64(job.bundle), np.int64(job.cause)
    for candidate in range(candidates_of(dev)):
        _clear(dev.figure[candidate])
    dev.figure[MERGE_BLOCKS].allowed = 1
    if dev.merging[0].kind == NFTL:
        _figure_nftl(dev, bundle)
    else:
        _figure_superblock(dev, bundle, plane, cause)
    _fill_case(dev, plane, bundle, cause)
