"""Block groups: the blocks of a plane sorted by rank into groups of limited size (SpeedupGC, Algorithm 1).

Each group is a pair of heaps of blocks, and two sets of bits for its blocks that can be written to. Groups
are counted from 0 here, and from 1 in E28 to E34 (`baselines/placements/hotness_groups.py`).
"""

import numpy as np

from ssdgym.engine.core.bits import NONE, ONE
from ssdgym.engine.core.kernel import inlined, kernel, shared, trailing_zeros
from ssdgym.engine.speedupgc.best_sets import WRITABLE, WRITABLE_BEST, find_first, renew, renew_after
from ssdgym.engine.speedupgc.heaps import (
    HIGH,
    LOW,
    Rank,
    advance_entry,
    entry_at,
    exceeds,
    first_from,
    heap_base,
    is_larger,
    raise_entry,
    rank_of,
    remove_from_heap,
)

#: What has happened to a block.
ANYTHING, PROGRAMMED, INVALIDATED = 0, 1, 2
_WORD = 64


@shared
def words_of(blocks):
    """Return the words of a set with one bit per block, and the words that mark which of those are not 0."""
    words = (blocks + _WORD - 1) // _WORD
    return words, (words + _WORD - 1) // _WORD


# -- membership


@inlined
def _bits_base(params, number, kind):
    words, summary = words_of(np.int64(params.blocks))
    return (2 * np.int64(number) + kind) * (words + summary)


@inlined
def _set_bit(dev, number, kind, place, value):
    params = dev.params[0]
    base = _bits_base(params, number, kind)
    word = place // _WORD
    bit = ONE << np.uint64(place % _WORD)
    words, _ = words_of(np.int64(params.blocks))
    summary = base + words + word // _WORD
    mark = ONE << np.uint64(word % _WORD)
    if value:
        dev.group_bits[base + word] |= bit
        dev.group_bits[summary] |= mark
    else:
        dev.group_bits[base + word] &= ~bit
        if dev.group_bits[base + word] == NONE:
            dev.group_bits[summary] &= ~mark


@inlined
def _show(dev, plane, block, writable):
    """Enter into the bits of the block's group how it can be written."""
    params = dev.params[0]
    number = plane * params.groups + dev.best[block].group
    place = block - plane * params.blocks
    _set_bit(dev, number, 0, place, writable >= WRITABLE)
    _set_bit(dev, number, 1, place, writable == WRITABLE_BEST)


@kernel
def _leave(dev, plane, block):
    """Take a block out of its group; its rank may have changed already."""
    params = dev.params[0]
    number = plane * params.groups + dev.best[block].group
    _show(dev, plane, block, 0)
    dev.group_size[number] -= 1
    remove_from_heap(dev, number, np.int64(dev.best[block].low), LOW)
    remove_from_heap(dev, number, np.int64(dev.best[block].high), HIGH)


@kernel
def join_group(dev, plane, block, group):
    """Add a block to a group."""
    params = dev.params[0]
    number = plane * params.groups + group
    size = np.int64(dev.group_size[number])
    dev.group_size[number] = size + 1
    dev.best[block].group = group
    rank = rank_of(dev, block)
    raise_entry(dev, number, size, rank, LOW)
    raise_entry(dev, number, size, rank, HIGH)
    _show(dev, plane, block, dev.best[block].writable)


# -- Algorithm 1


@inlined
def _lowest_but(dev, number, block):
    """Return the smallest rank of a group, `block` left out."""
    params = dev.params[0]
    size = np.int64(dev.group_size[number])
    none = Rank(np.int64(0), np.int64(0), np.int64(0), np.int64(-1))
    if size == 0:
        return none
    root = first_from(dev, number, 0, LOW)
    if root.block != block:
        return root
    if size == 1:
        return none
    left = first_from(dev, number, 1, LOW)
    if size == 2:
        return left
    right = first_from(dev, number, 2, LOW)
    return left if is_larger(params, right, left) else right


@inlined
def _stands_above(dev, plane, rank, group):
    """Return whether a block's rank is above the smallest one of a group, itself left out."""
    params = dev.params[0]
    lowest = _lowest_but(dev, plane * params.groups + group, rank.block)
    return lowest.block >= 0 and exceeds(params, rank, lowest)


@inlined
def _group_for(dev, plane, rank):
    """Find the highest group whose smallest rank, the block left out, is below that of a block; else 0.

    Ranks rise from group to group, so the search starts where the block was; an empty group is passed over.
    """
    params = dev.params[0]
    group = np.int64(dev.best[rank.block].group)
    for higher in range(group + 1, params.groups):
        if _stands_above(dev, plane, rank, higher):
            group = np.int64(higher)
        elif dev.group_size[plane * params.groups + higher] > 0:
            break
    while group > 0 and not _stands_above(dev, plane, rank, group):
        group -= 1
    return group


@inlined
def _has_room_below(dev, plane, group):
    params = dev.params[0]
    found = False
    for lower in range(group):
        found = found or dev.group_size[plane * params.groups + lower] < params.group_limit
    return found


@inlined
def _insert(dev, plane, block, group):
    """Add a block to a group; move what is too much down, or up where all groups below are full."""
    params = dev.params[0]
    first = plane * params.groups
    full = dev.group_size[first + group] == params.group_limit
    if full and _has_room_below(dev, plane, group):
        # 1. The group is full and one below is not: its smallest rank makes room and goes down, where the
        #    same may happen again. Every rank stays above those of the groups below.
        while dev.group_size[first + group] == params.group_limit:
            evicted = first_from(dev, first + group, 0, LOW).block
            _leave(dev, plane, evicted)
            join_group(dev, plane, block, group)
            block = evicted
            group -= 1
        join_group(dev, plane, block, group)
        return
    # 2. Else the block joins, and what is too much goes up: nothing can go down, or nothing has to.
    join_group(dev, plane, block, group)
    while dev.group_size[first + group] > params.group_limit:
        block = first_from(dev, first + group, 0, HIGH).block
        _leave(dev, plane, block)
        group += 1
        join_group(dev, plane, block, group)


@kernel
def _reclassify(dev, block, change, s):
    params = dev.params[0]
    plane = np.int64(dev.block[block].plane)
    best = dev.best[block]
    before, was_writable = rank_of(dev, block), best.writable
    sub = np.int64(block) * params.sub_blocks + s
    if change == ANYTHING or dev.sub_block[sub].written == params.pages_per_sub_block:
        find_first(dev, block)
    if change == ANYTHING:
        renew(dev, block)
    else:
        renew_after(dev, block, s, change == PROGRAMMED)
    rank = rank_of(dev, block)
    group = _group_for(dev, plane, rank)
    if group != best.group:
        _leave(dev, plane, block)
        _insert(dev, plane, block, group)
        return
    number = plane * params.groups + group
    if is_larger(params, rank, before):
        advance_entry(dev, number, np.int64(best.high), rank, HIGH)
    elif is_larger(params, before, rank):
        advance_entry(dev, number, np.int64(best.low), rank, LOW)
    if best.writable != was_writable:
        _show(dev, plane, block, best.writable)


@inlined
def reclassify(dev, block, change, s):
    """Find the best set, the rank and the group of a changed block that is no victim.

    One page of sub-block `s` has changed, as `change` says, or ANYTHING has.
    """
    params = dev.params[0]
    if params.groups > 0:
        _reclassify(dev, np.int64(block), change, np.int64(s))


@kernel
def _withdraw(dev, block):
    _show(dev, np.int64(dev.block[block].plane), block, 0)
    dev.best[block].writable = 0


@inlined
def withdraw(dev, block):
    """Keep a block that becomes a victim in its group, and let nothing be written to it."""
    params = dev.params[0]
    if params.groups > 0:
        _withdraw(dev, np.int64(block))


@kernel
def form_groups(dev, plane):
    """Deal the blocks of an empty plane, whose ranks are all the same, to its groups in turn."""
    params = dev.params[0]
    for place in range(params.blocks):
        block = np.int64(plane) * params.blocks + place
        renew(dev, block)
        join_group(dev, plane, block, place % params.groups)


@kernel
def _refresh_groups(dev, plane):
    params = dev.params[0]
    winner = Rank(np.int64(0), np.int64(0), np.int64(0), np.int64(-1))
    for lower in range(params.groups):
        number = plane * params.groups + params.groups - 1 - lower
        if dev.group_size[number] == 0:
            continue
        if winner.block < 0 or is_larger(params, entry_at(dev, heap_base(params, number, HIGH)), winner):
            rank = first_from(dev, number, 0, HIGH)
            if winner.block < 0 or is_larger(params, rank, winner):
                winner = rank


@inlined
def refresh_groups(dev, plane):
    """Correct the largest rank of a plane whose ranks are benefits, for `best_of_groups`."""
    params = dev.params[0]
    if params.groups > 0 and params.tree_leaves == 0:
        _refresh_groups(dev, plane)


@inlined
def best_of_groups(dev, plane):
    """Return the block with the best set of a plane whose groups are refreshed; -1 for none."""
    params = dev.params[0]
    winner = Rank(np.int64(0), np.int64(0), np.int64(0), np.int64(-1))
    for group in range(params.groups):
        number = plane * params.groups + group
        if dev.group_size[number] > 0:
            root = entry_at(dev, heap_base(params, number, HIGH))
            if winner.block < 0 or is_larger(params, root, winner):
                winner = root
    return winner.block if winner.gain > 0 else np.int64(-1)


# -- looking for a block to write to


@inlined
def first_of(dev, plane, group, kind):
    """Return the lowest block of a group to be written to (kind 0), or in its best set (1); -1 for none."""
    params = dev.params[0]
    base = _bits_base(params, plane * params.groups + group, kind)
    words, summary = words_of(np.int64(params.blocks))
    for k in range(summary):
        mark = dev.group_bits[base + words + k]
        if mark != NONE:
            word = k * _WORD + np.int64(trailing_zeros(mark))
            place = np.int64(trailing_zeros(dev.group_bits[base + word]))
            return plane * params.blocks + word * _WORD + place
    return np.int64(-1)


#: The group of a block that has not been dealt yet.
_NONE = 255


@kernel
def _lowest_block(dev, plane):
    """Return the block with the smallest rank of those that have not been dealt."""
    params = dev.params[0]
    lowest = np.int64(-1)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        if dev.best[block].group == _NONE and (
            lowest < 0 or is_larger(params, rank_of(dev, lowest), rank_of(dev, block))
        ):
            lowest = np.int64(block)
    return lowest


@kernel
def _deal_plane(dev, plane):
    params = dev.params[0]
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        find_first(dev, block)
        renew(dev, block)
        dev.best[block].group = _NONE
    for place in range(np.int64(params.blocks)):
        join_group(dev, plane, _lowest_block(dev, plane), place * params.groups // params.blocks)


@inlined
def deal_to_groups(dev):
    """Deal the blocks of a device that kept no groups so far to groups by rank, as many to each."""
    params = dev.params[0]
    dev.group_size[:] = 0
    dev.group_bits[:] = 0
    for plane in range(np.int64(params.planes)):
        _deal_plane(dev, plane)
