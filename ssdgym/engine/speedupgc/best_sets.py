"""The best erase set of every block, kept up to date by what has changed.

The benefit of an erase set is the invalid pages it wins over the time that takes, a fraction `gain / cost`;
the cost is that of its moves, the valid pages to relocate, and of the erase.
"""

import numpy as np

from ssdgym.engine.core.bits import GOLDEN, NONE, ONE, below, full_mask, has, mix
from ssdgym.engine.core.kernel import count_bits, inlined, kernel, trailing_zeros
from ssdgym.engine.core.records import HARDWARE, INDEXED, POOLED, SOFTWARE, SUB_BLOCK_RUN
from ssdgym.engine.flash import invalid_in, neighbours_of, valid_in

#: The best erase set of a block, and the block's place among the groups.
BEST = np.dtype(
    [
        ("mask", "u8"),  # 0 = none
        ("gain", "i4"),  # invalid pages of the set
        ("moves", "i4"),  # valid pages to move before it is erased
        ("rank_gain", "i4"),  # the block's rank, as in HEAP
        ("rank_moves", "i4"),
        ("rank_tie", "i4"),
        ("next_dirty", "i4"),
        ("low", "i4"),  # place in its group's heap of smallest ranks
        ("high", "i4"),  # place in its group's heap of largest ranks
        ("group", "u1"),  # counted from 0
        ("first", "u1"),  # with groups: lowest sub-block with unwritten pages
        ("dirty", "u1"),  # the plane's trees do not have it as it is
        ("writable", "u1"),  # 0 no, WRITABLE, or WRITABLE_BEST: its best set has unwritten pages
    ],
    align=True,
)
#: An entry of a group's heap: a block with the rank gain / (moves * copy cost + erase cost) it is sorted by.
HEAP = np.dtype(
    [
        ("gain", "i4"),
        ("moves", "i4"),
        ("tie", "i4"),  # of equal ranks the one with the smaller tie is larger, then the lower block
        ("block", "i4"),
    ]
)
#: Values of `writable`.
WRITABLE, WRITABLE_BEST = 1, 2


#: Counters of 4 bits in a word, and the largest value.
PER_WORD, SATURATED = 16, np.uint64(15)
# Hotness of pages: several hashes of a page number into a table of small counters that decay.
#
# After Hsieh, Kuo and Chang (ACM Transactions on Storage 2006), as SpeedupGC (section III-B) uses it.

_LOWER_BITS = np.uint64(0x7777777777777777)
_ONE = np.uint64(1)


@inlined
def _counter(params, row, hashed):
    """Return the number of the counter of a page in a row of the table, from the hash of its number."""
    return row * params.counters + below(mix(hashed + GOLDEN * np.uint64(row + 1)), params.counters)


@inlined
def _value(hotness, counter):
    return (hotness[counter // PER_WORD] >> np.uint64(4 * (counter % PER_WORD))) & SATURATED


@kernel
def _degree(hotness, params, lpn):
    """Return the smallest counter of a page."""
    hashed = mix(GOLDEN * np.uint64(lpn + 1))
    degree = SATURATED
    for row in range(params.hashes):
        degree = min(degree, _value(hotness, _counter(params, row, hashed)))
    return degree


@kernel
def _raise_counters(hotness, params, lpn):
    """Count one more update of a page; return its degree with it."""
    hashed = mix(GOLDEN * np.uint64(lpn + 1))
    degree = SATURATED
    for row in range(params.hashes):
        counter = _counter(params, row, hashed)
        value = _value(hotness, counter)
        if value < SATURATED:
            value += _ONE
            hotness[counter // PER_WORD] += _ONE << np.uint64(4 * (counter % PER_WORD))
        degree = min(degree, value)
    return degree


@kernel
def _decay(hotness):
    for word in range(hotness.shape[0]):
        hotness[word] = (hotness[word] >> _ONE) & _LOWER_BITS


@inlined
def _group_of(params, degree):
    return np.int64((params.group_of_degree >> (np.uint64(4) * degree)) & SATURATED)


@inlined
def count_update(dev, lpn):
    """Count a write of a page by the host, and halve all counters when the period is over.

    Returns its hotness group, counted from 1; 0 for a cold page.
    """
    params = dev.params[0]
    control = dev.control[0]
    degree = _raise_counters(dev.hotness, params, lpn)
    control.hotness_updates += 1
    if control.hotness_updates == params.decay_period:
        control.hotness_updates = 0
        _decay(dev.hotness)
        degree = _degree(dev.hotness, params, lpn)
    return _group_of(params, degree)


@inlined
def hotness_group(dev, lpn):
    """Return the hotness group of a page, counted from 1; 0 for a cold one. Nothing is counted."""
    params = dev.params[0]
    return _group_of(params, _degree(dev.hotness, params, lpn))


_SIX = np.uint64(6)


@inlined
def moves_of(dev, block, mask):
    """Count the valid pages to move before a set is erased."""
    params = dev.params[0]
    return np.int64(valid_in(dev, block, mask | neighbours_of(params, mask)))


@inlined
def cost_of(params, moves):
    """Return the cost of erasing a set with so many moves."""
    return moves * params.copy_cost + params.erase_cost


@inlined
def _valid_pages(dev, sub):
    sub_block = dev.sub_block[sub]
    return np.int64(sub_block.written - sub_block.invalid)


@inlined
def _better_run(dev, block, gain, moves_before):
    """Find the run of a block that exceeds the benefit `gain / cost` most.

    The excess is `invalid * cost - gain * its cost`, where `cost` is that of `moves_before`. A run `a..b`
    exceeds by `end(b) - start(a)` with sums over the sub-blocks before them, so one pass finds the best start
    for every end. Of equals, the shorter run is found, then the lower one. Returned are first and last
    sub-block, the invalid pages and moves of the run, and whether it exceeds the benefit.
    """
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    last = params.sub_blocks - 1
    counts_beside = np.int64(params.isolation == SOFTWARE)
    cost = cost_of(params, moves_before)
    per_move = gain * params.copy_cost
    invalid, moves = np.int64(0), np.int64(0)  # of all sub-blocks up to here
    valid_before, valid = np.int64(0), _valid_pages(dev, base)
    start, start_total, start_invalid, start_moves = 0, np.int64(2**62), np.int64(0), np.int64(0)
    best_excess, best_start, best_end = np.int64(-(2**62)), 0, 0
    best_invalid, best_moves = np.int64(0), np.int64(0)
    for s in range(params.sub_blocks):
        # 1. Let the run start here if no earlier start is better; of equal ones, the later makes it shorter.
        #    Where neighbours count, the pages of the sub-block in front of the run have to be moved, too.
        moves_from = moves - counts_beside * valid_before
        at_start = cost * invalid - per_move * moves_from
        if at_start <= start_total:
            start, start_total, start_invalid, start_moves = s, at_start, invalid, moves_from
        # 2. Take the sub-block into the sums, and look at the next one, which may be a neighbour of the run.
        invalid += dev.sub_block[base + s].invalid
        moves += valid
        valid_before = valid
        valid = _valid_pages(dev, base + s + 1) if s < last else np.int64(0)
        # 3. Let the run end here if it exceeds the best one, or equals it and is shorter. Ends are tried from
        #    the lowest on, so that of runs of equal length the lowest stays.
        moves_to = moves + counts_beside * valid
        excess = cost * invalid - per_move * moves_to - start_total
        if excess > best_excess or (excess == best_excess and s - start < best_end - best_start):
            best_excess, best_start, best_end = excess, start, s
            best_invalid, best_moves = invalid - start_invalid, moves_to - start_moves
    return best_start, best_end, best_invalid, best_moves, best_excess > gain * params.erase_cost


@inlined
def _best_run(dev, block, gain, moves):
    """Find the best run of a block, from the invalid pages and moves of one of its sets.

    Each pass finds the run that exceeds the benefit of the one before most. The pass after which none does
    has broken the ties (Dinkelbach's method, exact in integers). Returned are mask, invalid pages, moves.
    """
    first, last, exceeds = 0, 0, True
    while exceeds:
        first, last, gain, moves, exceeds = _better_run(dev, block, gain, moves)
    return full_mask(last - first + 1) << np.uint64(first), gain, moves


@inlined
def _next_by_invalid(dev, block, taken):
    """Return the sub-block with most invalid pages that is not taken, the lowest of equals; -1 for none."""
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
    """Find mask, invalid pages, moves of the best beginning of the sub-blocks by falling invalid pages."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    mask, best = NONE, NONE
    gain, moves = np.int64(0), np.int64(0)
    best_gain, best_moves, best_cost = np.int64(0), np.int64(0), np.int64(1)
    while True:
        s = _next_by_invalid(dev, block, mask)
        if s < 0:
            return best, best_gain, best_moves
        # Even if sub-block `s` and all after it needed no move.
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


@inlined
def _find_best(dev, block, guess):
    """Find mask, invalid pages, moves of the best set of a block from any set of it; zeros for none.

    The nearer that set is to the best, the sooner it is found.
    """
    params = dev.params[0]
    if dev.block[block].invalid == 0:
        return NONE, np.int64(0), np.int64(0)
    if params.erase_unit != SUB_BLOCK_RUN:
        return _best_prefix(dev, block)
    gain = np.int64(invalid_in(dev, block, guess))
    if gain == 0:
        guess = full_mask(params.sub_blocks)
        gain = np.int64(dev.block[block].invalid)
    return _best_run(dev, block, gain, moves_of(dev, block, guess))


@kernel
def best_set(dev, block):
    """Return the mask of the best erase set of a block, 0 if it has no invalid page."""
    return _find_best(dev, block, NONE)[0]


@kernel
def _full_and_invalid(dev, block):
    """Count the sub-blocks of a block that hold only invalid pages."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    count = 0
    for s in range(params.sub_blocks):
        if dev.sub_block[base + s].invalid == params.pages_per_sub_block:
            count += 1
    return count


@inlined
def first_writable(dev, block, mask):
    """Return the lowest sub-block of `mask` with unwritten pages, as a global number; -1 for none."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    while mask != NONE:
        s = np.int64(trailing_zeros(mask))
        if dev.sub_block[base + s].written < params.pages_per_sub_block:
            return base + s
        mask &= mask - ONE
    return np.int64(-1)


@inlined
def tie_of(mask):
    """Return the number that orders best sets of equal benefit; that of the set chosen first is smallest."""
    if mask == NONE:
        return np.int64(0)
    return np.int64(count_bits(mask) << _SIX | trailing_zeros(mask))


@inlined
def _keep(dev, block, found):
    """Keep mask, invalid pages and moves of a block's best set, and what follows from them."""
    params = dev.params[0]
    best = dev.best[block]
    best.mask, best.gain, best.moves = found
    if params.isolation == HARDWARE:
        listed = dev.block[block].status & INDEXED
        best.rank_gain, best.rank_moves, best.rank_tie = _full_and_invalid(dev, block) if listed else 0, 0, 0
    else:
        best.rank_gain, best.rank_moves, best.rank_tie = best.gain, best.moves, tie_of(best.mask)
    best.writable = 0
    if dev.block[block].status & POOLED:
        in_best = first_writable(dev, block, best.mask) >= 0
        best.writable = WRITABLE_BEST if in_best else WRITABLE


@inlined
def find_first(dev, block):
    """Keep the lowest sub-block of a block with unwritten pages (for a block without an open one)."""
    params = dev.params[0]
    sub = first_writable(dev, block, full_mask(params.sub_blocks))
    dev.best[block].first = sub - np.int64(block) * params.sub_blocks if sub >= 0 else 0


@inlined
def renew(dev, block):
    """Find a block's best set and its rank, and whether it can be written, and keep them."""
    if dev.block[block].status & INDEXED:
        _keep(dev, block, _find_best(dev, block, dev.best[block].mask))
    else:
        _keep(dev, block, (NONE, np.int64(0), np.int64(0)))


@inlined
def renew_after(dev, block, s, programmed):
    """Do as `renew` after one page of sub-block `s` of an indexed block was programmed or became invalid.

    A page that was programmed makes the sets that it burdens worse, so the best one stays unless it is one of
    them. The benefit of the best set is corrected, not counted again.
    """
    params = dev.params[0]
    best = dev.best[block]
    burdened = has(best.mask | neighbours_of(params, best.mask), s)
    if programmed and not burdened:
        if not dev.block[block].status & POOLED:
            best.writable = 0
        return
    if best.mask == NONE or params.erase_unit != SUB_BLOCK_RUN:
        _keep(dev, block, _find_best(dev, block, NONE))
        return
    gain, moves = np.int64(best.gain), np.int64(best.moves)
    if programmed:
        moves += 1
    elif burdened:
        gain += np.int64(has(best.mask, s))
        moves -= 1
    _keep(dev, block, _best_run(dev, block, gain, moves))
