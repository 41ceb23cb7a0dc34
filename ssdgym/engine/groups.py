"""Block groups: the blocks of a plane sorted by rank into groups of limited size (SpeedupGC, Algorithm 1).

Each group is a pair of binary heaps of block numbers, one with the smallest rank at its root and one with
the largest, and two sets of bits for the blocks of it that can be written to. A block knows its places in
the heaps. Groups are counted from 0 here, and from 1 in ``docs/engine.md``.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.best_sets import find_first, is_chosen_first, renew, renew_after
from ssdgym.engine.kernel import inlined, kernel, lowest_bit, merged, shared
from ssdgym.engine.layout import HARDWARE, WRITABLE, WRITABLE_BEST, group_view
from ssdgym.engine.masks import NONE, ONE

#: What has happened to a block.
ANYTHING, PROGRAMMED, INVALIDATED = 0, 1, 2
#: The two heaps of a group.
LOW, HIGH = 0, 1
_WORD = 64


@shared
def words_of(blocks):
    """Words of a set of bits with one bit per block: (words, words that say which of those are not 0)."""
    words = (blocks + _WORD - 1) // _WORD
    return words, (words + _WORD - 1) // _WORD


# -- the heaps


@inlined
def _is_larger(view, a, b):
    """Does block ``a`` stand above ``b``? By rank; of equal ranks the one whose best set is chosen first."""
    x, y = view.best[a], view.best[b]
    ours, theirs = np.int64(x.rank_gain) * y.rank_cost, np.int64(y.rank_gain) * x.rank_cost
    if ours != theirs:
        return ours > theirs
    if view.geometry[0].isolation == HARDWARE:
        return a < b
    return is_chosen_first(x.mask, y.mask, a, b)


@inlined
def _before(view, a, b, heap):
    """Does block ``a`` stand nearer to the root than ``b``?"""
    return _is_larger(view, a, b) if heap == HIGH else _is_larger(view, b, a)


@inlined
def _heap_base(geometry, number, heap):
    return (2 * np.int64(number) + heap) * (geometry.group_limit + 1)


@inlined
def _put(view, base, place, block, heap):
    view.heap[base + place] = block
    if heap == LOW:
        view.best[block].low = place
    else:
        view.best[block].high = place


@inlined
def _rise(view, base, place, block, heap):
    """Let a block rise from a free place of its heap; returns where it stops."""
    while place > 0:
        parent = (place - 1) >> 1
        above = np.int64(view.heap[base + parent])
        if not _before(view, block, above, heap):
            break
        _put(view, base, place, above, heap)
        place = parent
    return place


@inlined
def _sink(view, base, size, place, block, heap):
    """Let a block sink from a free place of its heap; returns where it stops."""
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        below = np.int64(view.heap[base + child])
        if child + 1 < size:
            other = np.int64(view.heap[base + child + 1])
            if _before(view, other, below, heap):
                child, below = child + 1, other
        if not _before(view, below, block, heap):
            break
        _put(view, base, place, below, heap)
        place = child
    return place


@inlined
def _settle(view, geometry, number, place, block, heap):
    """Put a block where it belongs, up or down from a place of its group's heap."""
    base = _heap_base(geometry, number, heap)
    risen = _rise(view, base, place, block, heap)
    if risen == place:
        risen = _sink(view, base, np.int64(view.group_size[number]), place, block, heap)
    _put(view, base, risen, block, heap)


@inlined
def _remove_from_heap(view, geometry, number, place, heap):
    """Fill the place of a block that leaves with the last one (``group_size`` is that without it already)."""
    size = np.int64(view.group_size[number])
    if place < size:
        last = np.int64(view.heap[_heap_base(geometry, number, heap) + size])
        _settle(view, geometry, number, place, last, heap)


@inlined
def _root(view, geometry, number, heap):
    return np.int64(view.heap[_heap_base(geometry, number, heap)])


# -- membership


@inlined
def _bits_base(geometry, number, kind):
    words, summary = words_of(np.int64(geometry.blocks))
    return (2 * np.int64(number) + kind) * (words + summary)


@inlined
def _set_bit(view, geometry, number, kind, place, value):
    base = _bits_base(geometry, number, kind)
    word = place // _WORD
    bit = ONE << np.uint64(place % _WORD)
    words, _ = words_of(np.int64(geometry.blocks))
    summary = base + words + word // _WORD
    mark = ONE << np.uint64(word % _WORD)
    if value:
        view.group_bits[base + word] |= bit
        view.group_bits[summary] |= mark
    else:
        view.group_bits[base + word] &= ~bit
        if view.group_bits[base + word] == NONE:
            view.group_bits[summary] &= ~mark


@inlined
def writable_bit(view, geometry, plane, group, kind, block):
    """Does a block stand among those of a group that can be written to (kind 0), or in their best set
    (kind 1)?
    """
    place = block - plane * geometry.blocks
    word = _bits_base(geometry, plane * geometry.groups + group, kind) + place // _WORD
    return (view.group_bits[word] >> np.uint64(place % _WORD)) & ONE != NONE


@inlined
def _show(view, geometry, plane, block, writable):
    """Enter into the bits of the block's group how it can be written."""
    number = plane * geometry.groups + view.best[block].group
    place = block - plane * geometry.blocks
    _set_bit(view, geometry, number, 0, place, writable >= WRITABLE)
    _set_bit(view, geometry, number, 1, place, writable == WRITABLE_BEST)


@inlined
def _leave(view, geometry, plane, block):
    """Take a block out of its group; its rank may have changed already."""
    number = plane * geometry.groups + view.best[block].group
    _show(view, geometry, plane, block, 0)
    view.group_size[number] -= 1
    _remove_from_heap(view, geometry, number, np.int64(view.best[block].low), LOW)
    _remove_from_heap(view, geometry, number, np.int64(view.best[block].high), HIGH)


@inlined
def _join(view, geometry, plane, block, group):
    """Add a block to a group."""
    number = plane * geometry.groups + group
    size = np.int64(view.group_size[number])
    view.group_size[number] = size + 1
    view.best[block].group = group
    _settle(view, geometry, number, size, block, LOW)
    _settle(view, geometry, number, size, block, HIGH)
    _show(view, geometry, plane, block, view.best[block].writable)


# -- Algorithm 1


@inlined
def _lowest_but(view, geometry, number, block):
    """The block of smallest rank of a group, ``block`` left out; -1 if there is none."""
    size = np.int64(view.group_size[number])
    if size == 0:
        return np.int64(-1)
    root = _root(view, geometry, number, LOW)
    if root != block:
        return root
    if size == 1:
        return np.int64(-1)
    base = _heap_base(geometry, number, LOW)
    left = np.int64(view.heap[base + 1])
    if size == 2:
        return left
    right = np.int64(view.heap[base + 2])
    return left if _before(view, left, right, LOW) else right


@inlined
def _stands_above(view, geometry, plane, block, group):
    """Is the rank of a block above the smallest one of a group (in which it does not count itself)?"""
    lowest = _lowest_but(view, geometry, plane * geometry.groups + group, block)
    if lowest < 0:
        return False
    ours, theirs = view.best[block], view.best[lowest]
    return np.int64(theirs.rank_gain) * ours.rank_cost < np.int64(ours.rank_gain) * theirs.rank_cost


@inlined
def _group_for(view, geometry, plane, block):
    """The highest group whose smallest rank is below that of the block (which does not count), else the
    first.

    Ranks rise from group to group, so the search starts where the block was; an empty group is passed over.
    """
    group = np.int64(view.best[block].group)
    for higher in range(group + 1, geometry.groups):
        if _stands_above(view, geometry, plane, block, higher):
            group = np.int64(higher)
        elif view.group_size[plane * geometry.groups + higher] > 0:
            break
    while group > 0 and not _stands_above(view, geometry, plane, block, group):
        group -= 1
    return group


@inlined
def _has_room_below(view, geometry, plane, group):
    for lower in range(group):
        if view.group_size[plane * geometry.groups + lower] < geometry.group_limit:
            return True
    return False


@inlined
def _insert(view, geometry, plane, block, group):
    """Add a block to a group; what is too much moves down, or up where all groups below are full."""
    first = plane * geometry.groups
    full = view.group_size[first + group] == geometry.group_limit
    if full and _has_room_below(view, geometry, plane, group):
        while view.group_size[first + group] == geometry.group_limit:
            evicted = _root(view, geometry, first + group, LOW)
            _leave(view, geometry, plane, evicted)
            _join(view, geometry, plane, block, group)
            block = evicted
            group -= 1
        _join(view, geometry, plane, block, group)
        return
    _join(view, geometry, plane, block, group)
    while view.group_size[first + group] > geometry.group_limit:
        block = _root(view, geometry, first + group, HIGH)
        _leave(view, geometry, plane, block)
        group += 1
        _join(view, geometry, plane, block, group)


@kernel
def _reclassify(view, block, change, s):
    geometry = view.geometry[0]
    plane = np.int64(view.block[block].plane)
    best = view.best[block]
    before = best.mask, best.cost, best.writable
    unit = np.int64(block) * geometry.sub_blocks + s
    if change == ANYTHING or view.sub_block[unit].written == geometry.pages_per_sub_block:
        find_first(view, geometry, block)
    if change == ANYTHING:
        renew(view, geometry, block)
    else:
        renew_after(view, geometry, block, s, change == PROGRAMMED)
    group = _group_for(view, geometry, plane, block)
    if group != best.group:
        _leave(view, geometry, plane, block)
        _insert(view, geometry, plane, block, group)
        return
    if change != PROGRAMMED or best.mask != before[0] or best.cost != before[1]:
        number = plane * geometry.groups + group
        _settle(view, geometry, number, np.int64(best.low), block, LOW)
        _settle(view, geometry, number, np.int64(best.high), block, HIGH)
    if best.writable != before[2]:
        _show(view, geometry, plane, block, best.writable)


@merged
def reclassify(dev, geometry, block, change, s):
    """A block (no victim) has changed, by one page of sub-block ``s`` unless ANYTHING has happened: find its
    best set, its rank and its group anew.
    """
    if geometry.groups > 0:
        _reclassify(group_view(dev), np.int64(block), change, np.int64(s))


@kernel
def _withdraw(view, block):
    geometry = view.geometry[0]
    _show(view, geometry, np.int64(view.block[block].plane), block, 0)
    view.best[block].writable = 0


@merged
def withdraw(dev, geometry, block):
    """A block becomes a victim: it keeps its place in its group, but nothing is written to it."""
    if geometry.groups > 0:
        _withdraw(group_view(dev), np.int64(block))


@kernel
def form_groups(view, plane):
    """Deal the blocks of an empty plane to its groups in turn: all ranks are the same."""
    geometry = view.geometry[0]
    for place in range(geometry.blocks):
        block = np.int64(plane) * geometry.blocks + place
        renew(view, geometry, block)
        _join(view, geometry, plane, block, place % geometry.groups)


@inlined
def best_of_groups(view, plane):
    """The block with the best set of a plane whose ranks are benefits; -1 if there is none."""
    geometry = view.geometry[0]
    winner = np.int64(-1)
    for group in range(geometry.groups):
        number = plane * geometry.groups + group
        if view.group_size[number] > 0:
            block = _root(view, geometry, number, HIGH)
            if winner < 0 or _is_larger(view, block, winner):
                winner = block
    return winner if winner >= 0 and view.best[winner].mask != NONE else np.int64(-1)


# -- looking for a block to write to


@inlined
def first_of(view, geometry, plane, group, kind):
    """The lowest block of a group that can be written to (kind 0), or in its best set (kind 1); -1 if
    none.
    """
    base = _bits_base(geometry, plane * geometry.groups + group, kind)
    words, summary = words_of(np.int64(geometry.blocks))
    for k in range(summary):
        mark = view.group_bits[base + words + k]
        if mark != NONE:
            word = k * _WORD + np.int64(lowest_bit(mark))
            return plane * geometry.blocks + word * _WORD + np.int64(lowest_bit(view.group_bits[base + word]))
    return np.int64(-1)
