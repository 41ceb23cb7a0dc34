"""Plans of partial erases, and the cost of each candidate of a MERGE decision."""

import numpy as np

from ssdgym.engine.block.bundles import block_at, erased_pages, is_given_up, locate, valid_pages
from ssdgym.engine.block.state import DATA, MAX_SLOTS, NFTL, UPDATE
from ssdgym.engine.blocks.wear import is_worn
from ssdgym.engine.core.bits import NONE, ONE, has
from ssdgym.engine.core.kernel import clear, count_bits, inlined, kernel
from ssdgym.engine.core.records import FULL
from ssdgym.engine.flash import is_valid, leaves_of, level_of

#: Numbers of candidates: the Merge; the M-Merge at depth 0. The other M-Merges follow.
MERGE_BLOCKS, AT_DEPTH = 0, 1


# A plan (a DRAFT) lists the partial blocks of a block that are erased in place, and their cost. Together they
# contain all invalid pages of the block. Valid pages leave a partial block before its erase, then return.


@inlined
def candidates_of(dev):
    """Return the number of candidates of a decision."""
    return np.int64(dev.merging[0].levels) + 3


@kernel
def look_at(dev, bundle, block):
    """Count the pages of each partial block of a block, for the plans of the block."""
    leaves = np.int64(1) << np.int64(dev.merging[0].levels)
    for s in range(leaves):
        held, node = dev.sub_block[block * leaves + s], dev.node[leaves + s]
        node.valid = held.written - held.invalid
        node.invalid = held.invalid
        node.back = 0
    # The valid pages of the update block go back to the data block.
    params, update = dev.params[0], block_at(dev, bundle, UPDATE)
    if dev.merging[0].kind == NFTL and update >= 0:
        first = update * np.int64(params.pages_per_block)
        for ppn in range(first, first + params.pages_per_block):
            if is_valid(dev, ppn):
                _, place = locate(dev, np.int64(dev.physical[ppn].lpn))
                dev.node[leaves + place // np.int64(params.pages_per_sub_block)].back += 1
    for k in range(leaves - 1, 0, -1):
        node, low, high = dev.node[k], dev.node[2 * k], dev.node[2 * k + 1]
        node.valid = low.valid + high.valid
        node.invalid = low.invalid + high.invalid
        node.back = low.back + high.back


@inlined
def _is_needed(dev, number, level, corrupted):
    """Return whether a partial block has to be erased: it has invalid pages, or sub-blocks in `corrupted`."""
    if dev.node[number].invalid > 0:
        return True
    count = np.int64(1) << (np.int64(dev.merging[0].levels) - level)
    first = (number - (np.int64(1) << level)) * count
    return (corrupted >> np.uint64(first)) & (~NONE >> np.uint64(64 - count)) != NONE


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
            node.cost_ns = node.halved = 0
            if _is_needed(dev, np.int64(k), np.int64(level), corrupted):
                copies = 2 * np.int64(node.valid) + np.int64(node.back)
                node.cost_ns = copies * np.int64(dev.params[0].copy_cost) + dev.merging[0].erase_ns[level]
            if level < levels:
                halves = dev.node[2 * k].cost_ns + dev.node[2 * k + 1].cost_ns
                if halves < node.cost_ns:
                    node.cost_ns = halves
                    node.halved = 1
    k = np.int64(1)
    while True:  # visit the partial blocks of the plan from left to right
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
def _corrupted_by(dev, block, margin):
    """Return the mask of sub-blocks with valid pages that the plan does not erase, but disturbs too often.

    Their disturbances, the plan's included, exceed the tolerance by `margin` (0), or at least `margin` (1).
    """
    leaves = np.int64(1) << np.int64(dev.merging[0].levels)
    found, cover = NONE, dev.draft[0].cover
    for s in range(leaves):
        if dev.node[leaves + s].valid > 0 and not has(cover, s):
            times = np.int64(dev.disturbed[block * leaves + s])
            times += s > 0 and has(cover, s - 1)
            times += s + 1 < leaves and has(cover, s + 1)
            over = times - np.int64(dev.merging[0].tolerance)
            if over == margin or (margin > 0 and over > margin):
                found |= ONE << np.uint64(s)
    return found


@kernel
def make_draft(dev, block, candidate):
    """Make the plan of a candidate for a block whose pages `look_at` has counted.

    A plan disturbs the sub-blocks next to the partial blocks that it erases. With `care`, sub-blocks that
    would lose data are added to the plan, until the plan destroys no data (PEN, Algorithm 2).
    """
    merging, draft = dev.merging[0], dev.draft[0]
    cares = merging.care and merging.tolerance >= 0
    corrupted = NONE
    while True:
        clear(draft)
        if candidate == candidates_of(dev) - 1:
            _least_cost(dev, corrupted)
        else:
            # All partial blocks of one level that have to be erased.
            level = np.int64(candidate - AT_DEPTH)
            for k in range(np.int64(1) << level, np.int64(2) << level):
                if _is_needed(dev, np.int64(k), level, corrupted):
                    _add_to_plan(dev, np.int64(k), level)
        found = np.uint64(_corrupted_by(dev, block, np.int64(1))) if cares else NONE
        if found == NONE:
            break
        corrupted |= found
    draft.restored = corrupted
    draft.cost_ns = np.int64(draft.copies) * np.int64(dev.params[0].copy_cost) + draft.erase_ns
    if merging.tolerance >= 0:
        draft.at_tolerance = count_bits(np.uint64(_corrupted_by(dev, block, np.int64(0))))


#: Factor in the hash of a plan: an odd number with well-mixed bits.
_MIXING = np.uint64(0x9E3779B97F4A7C15)


@kernel
def fewest_valid(dev, bundle, count):
    """Return the slots, a mask, of a bundle's `count` blocks with fewest valid pages; worn blocks first."""
    chosen = np.int64(0)
    for _ in range(count):
        best, least = np.int64(-1), np.int64(0)
        for slot in range(dev.merging[0].slots):
            block = block_at(dev, bundle, slot)
            if block < 0 or chosen >> slot & 1:
                continue
            valid = np.int64(-1) if is_worn(dev, block) else valid_pages(dev, block)
            if best < 0 or valid < least:
                best, least = np.int64(slot), valid
        chosen |= np.int64(1) << best
    return chosen


@inlined
def held_slots(dev, bundle):
    """Return the mask of the slots in which a bundle has a block."""
    held = np.int64(0)
    for slot in range(dev.merging[0].slots):
        if block_at(dev, bundle, slot) >= 0:
            held |= np.int64(1) << np.int64(slot)
    return held


@inlined
def pages_in(dev, bundle, slots):
    """Count the valid and the erased pages of the blocks in the slots (a mask) of a bundle."""
    valid, erased = np.int64(0), np.int64(0)
    for slot in range(dev.merging[0].slots):
        if slots >> slot & 1:
            block = block_at(dev, bundle, slot)
            valid += valid_pages(dev, block)
            erased += erased_pages(dev, block)
    return valid, erased


@inlined
def blocks_for(dev, pages):
    """Return how many blocks are needed for `pages` pages; 0 if `pages` is below 0."""
    size = np.int64(dev.params[0].pages_per_block)
    return (max(pages, 0) + size - 1) // size


@kernel
def merged_slots(dev, bundle, cause):
    """Return the mask of the slots whose blocks a Merge of a superblock empties."""
    merging = dev.merging[0]
    held = np.int64(dev.bundle[bundle].held)
    every = held_slots(dev, bundle)
    if is_given_up(dev, bundle):
        return every
    if cause == FULL:
        return fewest_valid(dev, bundle, np.int64(1))
    for count in range(held - merging.logical_blocks, held):
        slots = np.int64(fewest_valid(dev, bundle, np.int64(count)))
        needed = blocks_for(dev, pages_in(dev, bundle, slots)[0] - pages_in(dev, bundle, every & ~slots)[1])
        if held - count + needed <= merging.logical_blocks:
            return slots
    return every


@inlined
def compacted_slots(dev, bundle):
    """Return the mask of the slots whose blocks an M-Merge of a superblock empties."""
    spare = np.int64(dev.bundle[bundle].held) - np.int64(dev.merging[0].logical_blocks)
    return np.int64(fewest_valid(dev, bundle, spare))


@inlined
def _valid_beside(dev, block, s):
    """Return whether an erase next to sub-block `s` of a block would destroy valid pages there."""
    params, tolerance = dev.params[0], np.int64(dev.merging[0].tolerance)
    if s < 0 or s >= params.sub_blocks or tolerance < 0 or not dev.merging[0].care:
        return False
    leaf = block * np.int64(params.sub_blocks) + s
    return dev.disturbed[leaf] + 1 > tolerance and dev.sub_block[leaf].written > dev.sub_block[leaf].invalid


@kernel
def largest_invalid(dev, block):
    """Return the largest partial block erasable without copies or loss, and its invalid pages; or zeros."""
    levels = np.int64(dev.merging[0].levels)
    for node in range(1, np.int64(2) << levels):
        first, count = leaves_of(levels, np.int64(node))
        written, invalid = np.int64(0), np.int64(0)
        for s in range(first, first + count):
            held = dev.sub_block[block * np.int64(dev.params[0].sub_blocks) + s]
            written += held.written
            invalid += held.invalid
        if written == 0 or invalid < written:
            continue
        if not (_valid_beside(dev, block, first - 1) or _valid_beside(dev, block, first + count)):
            return np.int64(node), invalid
    return np.int64(0), np.int64(0)


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
    """Make the plans of all M-Merges for a block, and add their costs to the figures of these candidates."""
    look_at(dev, bundle, block)
    for candidate in range(AT_DEPTH, candidates_of(dev)):
        make_draft(dev, block, np.int64(candidate))
        figure, draft = dev.figure[candidate], dev.draft[0]
        figure.cost_ns += draft.cost_ns
        figure.erase_ns += draft.erase_ns
        figure.copies += draft.copies
        figure.out_copies += draft.out_copies
        figure.erases += draft.erases
        figure.restored += np.int64(count_bits(draft.restored))
        figure.at_tolerance += draft.at_tolerance
        for word in range(2):
            figure.parts = (figure.parts ^ draft.plan[word]) * _MIXING


@kernel
def may_m_merge(dev, bundle):
    """Return whether a bundle may have one more M-Merge before a Merge; never with a worn block."""
    if dev.bundle[bundle].since_merge >= dev.merging[0].most_m_merges:
        return False
    for slot in range(dev.merging[0].slots):
        block = block_at(dev, bundle, np.int64(slot))
        if dev.params[0].endures and block >= 0 and is_worn(dev, block):
            return False
    return True


@kernel
def _figure_nftl(dev, bundle):
    merging = dev.merging[0]
    block_ns = np.int64(merging.erase_ns[0])
    data, update = block_at(dev, bundle, DATA), block_at(dev, bundle, UPDATE)
    _add_copies(dev, dev.figure[MERGE_BLOCKS], valid_pages(dev, data) + valid_pages(dev, update))
    _add_erases(dev.figure[MERGE_BLOCKS], np.int64(2), block_ns)
    _figure_block(dev, bundle, data)
    node, invalid = largest_invalid(dev, update)
    room = erased_pages(dev, update)
    for candidate in range(AT_DEPTH, candidates_of(dev)):
        figure = dev.figure[candidate]
        figure.allowed = may_m_merge(dev, bundle) and figure.out_copies <= room + invalid
        if figure.out_copies > room and node > 0:
            _add_erases(figure, np.int64(1), np.int64(merging.erase_ns[level_of(node)]))
        _add_erases(figure, np.int64(1), block_ns)


@kernel
def _figure_superblock(dev, bundle, plane, cause):
    merging = dev.merging[0]
    block_ns = np.int64(merging.erase_ns[0])
    emptied = np.int64(merged_slots(dev, bundle, cause))
    merge = dev.figure[MERGE_BLOCKS]
    _add_copies(dev, merge, pages_in(dev, bundle, emptied)[0])
    for slot in range(MAX_SLOTS):
        _add_erases(merge, emptied >> slot & 1, block_ns)
    emptied = compacted_slots(dev, bundle)
    for slot in range(merging.slots):
        block = block_at(dev, bundle, slot)
        if block >= 0 and not emptied >> slot & 1:
            _figure_block(dev, bundle, block)
    spare = np.int64(dev.bundle[bundle].held) - np.int64(merging.logical_blocks)
    valid, room = pages_in(dev, bundle, emptied)
    most = min(np.int64(dev.plane[plane].pool_count), np.int64(merging.logical_blocks))
    for candidate in range(AT_DEPTH, candidates_of(dev)):
        figure = dev.figure[candidate]
        extra = blocks_for(dev, np.int64(figure.out_copies) - room)
        figure.allowed = may_m_merge(dev, bundle) and extra <= most
        _add_copies(dev, figure, valid)
        _add_erases(figure, spare + extra, block_ns)


@kernel
def fill_figures(dev, plane):
    """Compute the figures of all candidates for the job of a plane, and describe the job in `case`."""
    job = dev.job[plane]
    bundle, cause = np.int64(job.bundle), np.int64(job.cause)
    for candidate in range(candidates_of(dev)):
        clear(dev.figure[candidate])
    dev.figure[MERGE_BLOCKS].allowed = 1
    if is_given_up(dev, bundle):
        _add_erases(
            dev.figure[MERGE_BLOCKS], np.int64(dev.bundle[bundle].held), np.int64(dev.merging[0].erase_ns[0])
        )
    elif dev.merging[0].kind == NFTL:
        _figure_nftl(dev, bundle)
    else:
        _figure_superblock(dev, bundle, plane, cause)
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
    case.valid, _ = pages_in(dev, bundle, held_slots(dev, bundle))
    case.invalid = dev.bundle[bundle].invalid
    case.block_pages = dev.params[0].pages_per_block
    case.levels = merging.levels
