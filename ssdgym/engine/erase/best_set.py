"""The best erase set of a block: the set of highest benefit among the sets that are compared.

The benefit of an erase set is `gain / cost`: its invalid pages, divided by the time of its moves (valid pages
to relocate) and of the erase. If runs may be erased, all runs are compared. If any sub-blocks may be erased,
they are sorted by falling invalid pages, and the prefixes of this order are compared.
"""

import numpy as np

from ssdgym.engine.core.bits import NONE, ONE, full_mask, has
from ssdgym.engine.core.kernel import count_bits, helper, inlined, trailing_zeros
from ssdgym.engine.core.records import SOFTWARE, SUB_BLOCK_RUN
from ssdgym.engine.flash import invalid_in, neighbours_of, valid_in

_SIX = np.uint64(6)


@helper
def cost_of(params, moves):
    """Return the cost of erasing a set with `moves` moves: ns, or pages on a device without times."""
    return moves * params.copy_cost + params.erase_cost


@inlined
def _valid_pages(dev, sub):
    sub_block = dev.sub_block[sub]
    return np.int64(sub_block.written - sub_block.invalid)


@inlined
def _better_run(dev, block, gain, moves):
    """Find the run of a block that most exceeds the benefit of `gain` invalid pages at `moves` moves.

    If `cost` is the cost of `moves` moves, the excess of a run is `invalid * cost - gain * (cost of the
    run)`. The excess of run `a..b` is `end(b) - start(a)`, where `end` sums over all sub-blocks up to `b`,
    and `start` over those before `a`, so one pass finds the best start for every end. Of equal runs it finds
    the shortest, then lowest. Returns first and last sub-block, and whether the run exceeds the benefit.
    """
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    last = params.sub_blocks - 1
    cost, per_move = cost_of(params, moves), gain * params.copy_cost
    beside = -np.int64(params.isolation == SOFTWARE)  # all bits if a run's neighbours count, otherwise none
    total = np.int64(0)  # sum over all sub-blocks up to the present one
    moved_before, moved = np.int64(0), per_move * _valid_pages(dev, base)
    start, start_total = np.int64(0), np.int64(2**62)
    best_excess, best_start, best_end = np.int64(-(2**62)), np.int64(0), np.int64(0)
    for s in range(params.sub_blocks):
        # 1. Let the run start here if no earlier start is better; a later start makes the run shorter.
        #    If neighbours count, the pages of the sub-block in front of the run also have to be moved.
        at_start = total + moved_before
        if at_start <= start_total:
            start, start_total = np.int64(s), at_start
        # 2. Add the sub-block to the sum. The next sub-block may be a neighbour of the run.
        total += cost * dev.sub_block[base + s].invalid - moved
        moved_before = moved & beside
        moved = per_move * _valid_pages(dev, base + s + 1) if s < last else np.int64(0)
        # 3. Let the run end here if it exceeds the best run, or equals it and is shorter. Ends are tried from
        #    the lowest up, so among equal runs of equal length the lowest is found.
        excess = total - (moved & beside) - start_total
        if excess > best_excess or (excess == best_excess and s - start < best_end - best_start):
            best_excess, best_start, best_end = excess, start, np.int64(s)
    return best_start, best_end, best_excess > gain * params.erase_cost


@inlined
def _pages_of_run(dev, block, first, last):
    """Return the invalid pages and the moves of the run from sub-block `first` to `last`."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    invalid, moves = np.int64(0), np.int64(0)
    for sub in range(base + first, base + last + 1):
        invalid += dev.sub_block[sub].invalid
        moves += _valid_pages(dev, sub)
    if params.isolation == SOFTWARE:
        moves += _valid_pages(dev, base + first - 1) if first > 0 else 0
        moves += _valid_pages(dev, base + last + 1) if last < params.sub_blocks - 1 else 0
    return invalid, moves


@inlined
def _best_run(dev, block, gain, moves):
    """Find the best run of a block, beginning with the invalid pages (`gain`) and moves of any of its sets.

    Each pass finds the run that most exceeds the benefit found by the pass before, until no run exceeds it;
    the last pass breaks ties (Dinkelbach's method, exact in integers). Returns mask, invalid pages and moves.
    """
    first, last, exceeds = np.int64(0), np.int64(0), True
    while exceeds:
        first, last, exceeds = _better_run(dev, block, gain, moves)
        gain, moves = _pages_of_run(dev, block, first, last)
    return full_mask(last - first + 1) << np.uint64(first), gain, moves


@inlined
def _next_by_invalid(dev, block, taken):
    """Return the sub-block outside `taken` with most invalid pages, on a tie the lowest; -1 for none."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    best, most = -1, 0
    for s in range(params.sub_blocks):
        invalid = dev.sub_block[base + s].invalid
        if invalid > most and not has(taken, s):
            best, most = s, invalid
    return best


@inlined
def _best_prefix(dev, block):
    """Sort sub-blocks by falling invalid pages; return mask, invalid pages and moves of the best prefix."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    mask, best = NONE, NONE
    gain, moves = np.int64(0), np.int64(0)
    best_gain, best_moves, best_cost = np.int64(0), np.int64(0), np.int64(1)
    while True:
        s = _next_by_invalid(dev, block, mask)
        if s < 0:
            return best, best_gain, best_moves
        # Stop if the benefit would not rise even if sub-block `s` and all after it needed no move.
        most = gain + (params.sub_blocks - np.int64(count_bits(mask))) * dev.sub_block[base + s].invalid
        if most * best_cost <= best_gain * cost_of(params, moves):
            return best, best_gain, best_moves
        mask |= ONE << np.uint64(s)
        gain += dev.sub_block[base + s].invalid
        moves += _valid_pages(dev, base + s)
        beside = np.int64(0)
        if params.isolation == SOFTWARE:
            beside += valid_in(dev, block, neighbours_of(params, mask))
        cost = cost_of(params, moves + beside)
        if gain * best_cost > best_gain * cost:
            best, best_gain, best_moves, best_cost = mask, gain, moves + beside, cost


@helper
def best_set_from(dev, block, guess):
    """Find the best erase set of a block; a guess near the best set makes the search faster.

    Among sets of equal benefit, the set with fewest sub-blocks is best, then the lowest set.

    Args:
        dev: the rule's view.
        block: number of the block.
        guess: mask of a set, 0 for none.

    Returns:
        The set's mask, its invalid pages and its moves; zeros if the block has no invalid page.
    """
    params, guess = dev.params[0], np.uint64(guess)
    if dev.block[block].invalid == 0:
        return NONE, np.int64(0), np.int64(0)
    if params.erase_unit != SUB_BLOCK_RUN:
        return _best_prefix(dev, block)
    gain = np.int64(invalid_in(dev, block, guess))
    if gain == 0:
        guess = full_mask(params.sub_blocks)
        gain = np.int64(dev.block[block].invalid)
    moves = np.int64(valid_in(dev, block, guess | neighbours_of(params, guess)))
    return _best_run(dev, block, gain, moves)


@helper
def best_set_after(dev, block, gain, moves):
    """Find the best run of a block; as a guess, take the invalid pages `gain` and the moves of any set."""
    return _best_run(dev, block, gain, moves)


@helper
def neighbours(dev, mask):
    """Return the mask of the sub-blocks that are only emptied when `mask` is erased (software isolation)."""
    return neighbours_of(dev.params[0], mask)


@helper
def best_set(dev, block):
    """Return the mask of the best erase set of a block, 0 if the block has no invalid page."""
    return best_set_from(dev, block, NONE)[0]


@helper
def first_writable(dev, block, mask):
    """Return the lowest sub-block of `mask` with unwritten pages, numbered over the device; -1 for none."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    while mask != NONE:
        s = np.int64(trailing_zeros(mask))
        if dev.sub_block[base + s].written < params.pages_per_sub_block:
            return base + s
        mask &= mask - ONE
    return np.int64(-1)


@helper
def tie_of(mask):
    """Return a number that breaks ties of equal benefit: the set with the smallest number comes first."""
    if mask == NONE:
        return np.int64(0)
    return np.int64(count_bits(mask) << _SIX | trailing_zeros(mask))
