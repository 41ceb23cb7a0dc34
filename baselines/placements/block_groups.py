"""Block groups: the blocks of a plane sorted by rank into groups of limited size (SpeedupGC, Algorithm 1).

Each group has two heaps, with its smallest rank at the root of one and its largest at that of the other, and
two sets of bits for its blocks that can be written to. Groups are counted from 0 here, and from 1 in E28 to
E34 (`hotness_groups`).

The heaps are lazy. An entry holds the rank it is sorted by, which may differ from the block's present rank:
in the heap of smallest ranks it may be too small, in that of largest ranks too large. So a block whose rank
rises moves in one heap only, and one whose rank falls in the other; an entry that reaches a root is sorted
again, before it is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ssdgym.policy import cost_of, kernel, lowest_bit

#: Of each block: the rank gain / (moves * copy cost + erase cost), of equals the smaller tie is larger; its
#: places in the heaps, its group, and how it can be written: 0 not, WRITABLE, WRITABLE_BEST in its best set.
RANK = [
    ("rank_gain", "i4"),
    ("rank_moves", "i4"),
    ("rank_tie", "i4"),
    ("low", "i4"),
    ("high", "i4"),
    ("group", "u1"),
    ("shown", "u1"),
]
#: Of the device: groups of a plane, most blocks of a group, and words of a plane's table.
SIZES = [("groups", "i8"), ("limit", "i8"), ("plane_words", "i8")]
WRITABLE, WRITABLE_BEST = 1, 2
#: The two heaps of a group.
LOW, HIGH = 0, 1
#: The group of a block that has not been dealt yet.
NO_GROUP = 255
#: Bits of a word, and words of an entry of a heap.
_WORD, _ENTRY = 32, 4


class Rank(NamedTuple):
    """The rank of a block; the block is -1 for no rank."""

    gain: Any
    moves: Any
    tie: Any
    block: Any


# -- the table of a plane: sizes of groups, bits, heaps


def words_of_plane(blocks: int, groups: int) -> int:
    """Return the words of the table of a plane."""
    limit = blocks // (groups - 1) - 1
    return groups * (1 + 2 * sum(_bit_words.py_func(blocks)) + 2 * _ENTRY * (limit + 1))


@kernel
def _bit_words(blocks):
    """Return the words of a set with one bit per block, and the words that mark which of those are not 0."""
    words = (blocks + _WORD - 1) // _WORD
    return words, (words + _WORD - 1) // _WORD


@kernel
def set_sizes(view):
    """Note the sizes of groups, from the thresholds and blocks of the device."""
    params, memory = view.params[0], view.memory[0]
    blocks = np.int64(params.blocks)
    memory.groups = np.int64(params.group_of_degree >> np.uint64(60))
    memory.limit = blocks // (memory.groups - 1) - 1
    words, summary = _bit_words(blocks)
    memory.plane_words = memory.groups * (1 + 2 * (words + summary) + 2 * _ENTRY * (memory.limit + 1))


@kernel
def _size_place(view, plane, group):
    return plane * view.memory[0].plane_words + group


@kernel
def size_of(view, plane, group):
    """Return the blocks of a group."""
    return np.int64(view.table[_size_place(view, plane, group)])


@kernel
def _bits_place(view, plane, group, kind):
    words, summary = _bit_words(np.int64(view.params[0].blocks))
    memory = view.memory[0]
    return plane * memory.plane_words + memory.groups + (2 * group + kind) * (words + summary)


@kernel
def _heap_place(view, plane, group, heap):
    memory = view.memory[0]
    before = (memory.groups - 1 - group) * 2 + 1 - heap  # heaps lie at the end of the plane's table
    return (plane + 1) * memory.plane_words - (before + 1) * _ENTRY * (memory.limit + 1)


# -- ranks


@kernel
def rank_of(view, block):
    """Return the rank of a block."""
    own = view.block_memory[block]
    return Rank(np.int64(own.rank_gain), np.int64(own.rank_moves), np.int64(own.rank_tie), np.int64(block))


@kernel
def _exceeds(params, a, b):
    """Return whether rank `a` is above rank `b`, ties left out."""
    return a.gain * cost_of(params, b.moves) > b.gain * cost_of(params, a.moves)


@kernel
def is_larger(params, a, b):
    """Return whether rank `a` is above `b`; of equals, the one whose best set is chosen first is."""
    ours, theirs = a.gain * cost_of(params, b.moves), b.gain * cost_of(params, a.moves)
    if ours != theirs:
        return ours > theirs
    return a.tie < b.tie if a.tie != b.tie else a.block < b.block


@kernel
def _is_before(params, a, b, heap):
    """Return whether rank `a` belongs nearer to the root than `b`."""
    return is_larger(params, a, b) if heap == HIGH else is_larger(params, b, a)


# -- heaps


@kernel
def _entry_at(view, base, place):
    """Return the rank an entry is sorted by."""
    table, k = view.table, base + _ENTRY * place
    return Rank(np.int64(table[k]), np.int64(table[k + 1]), np.int64(table[k + 2]), np.int64(table[k + 3]))


@kernel
def _put(view, base, place, rank, heap):
    k = base + _ENTRY * place
    view.table[k], view.table[k + 1], view.table[k + 2], view.table[k + 3] = rank
    if heap == LOW:
        view.block_memory[rank.block].low = place
    else:
        view.block_memory[rank.block].high = place


@kernel
def _rise(view, base, place, rank, heap):
    """Let an entry rise from a free place of its heap; return where it stops."""
    params = view.params[0]
    while place > 0:
        parent = (place - 1) >> 1
        above = _entry_at(view, base, parent)
        if not _is_before(params, rank, above, heap):
            break
        _put(view, base, place, above, heap)
        place = parent
    return place


@kernel
def _sink(view, base, size, place, rank, heap):
    """Let an entry sink from a free place of its heap; return where it stops."""
    params = view.params[0]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        below = _entry_at(view, base, child)
        if child + 1 < size:
            other = _entry_at(view, base, child + 1)
            if _is_before(params, other, below, heap):
                child, below = child + 1, other
        if not _is_before(params, below, rank, heap):
            break
        _put(view, base, place, below, heap)
        place = child
    return place


@kernel
def _raise_entry(view, plane, group, place, rank, heap):
    """Put an entry into its group's heap, at a place or nearer to the root."""
    base = _heap_place(view, plane, group, heap)
    _put(view, base, _rise(view, base, place, rank, heap), rank, heap)


@kernel
def _advance_entry(view, plane, group, place, rank, heap):
    """Raise a block's entry after its rank has moved towards the root, unless it is nearer already."""
    base = _heap_place(view, plane, group, heap)
    if _is_before(view.params[0], rank, _entry_at(view, base, place), heap):
        _put(view, base, _rise(view, base, place, rank, heap), rank, heap)


@kernel
def _remove_entry(view, plane, group, place, heap):
    """Fill the place of a block that leaves with the last one; the size no longer counts the block."""
    size = size_of(view, plane, group)
    if place < size:
        base = _heap_place(view, plane, group, heap)
        last = _entry_at(view, base, size)
        risen = _rise(view, base, place, last, heap)
        if risen == place:
            risen = _sink(view, base, size, place, last, heap)
        _put(view, base, risen, last, heap)


@kernel
def _first_from(view, plane, group, place, heap):
    """Return the first rank of a heap, or of the part below a place of it; what reaches it is corrected."""
    base = _heap_place(view, plane, group, heap)
    while True:
        entry = _entry_at(view, base, place)
        rank = rank_of(view, entry.block)
        if rank.gain == entry.gain and rank.moves == entry.moves and rank.tie == entry.tie:
            return rank
        sunk = _sink(view, base, size_of(view, plane, group), place, rank, heap)
        _put(view, base, sunk, rank, heap)


# -- membership


@kernel
def _set_bit(view, plane, group, kind, place, value):
    base = _bits_place(view, plane, group, kind)
    word = place // _WORD
    bit, mark = np.int64(1) << (place % _WORD), np.int64(1) << (word % _WORD)
    summary = base + _bit_words(np.int64(view.params[0].blocks))[0] + word // _WORD
    held = np.int64(view.table[base + word])
    if value:
        view.table[base + word] = held | bit
        view.table[summary] = np.int64(view.table[summary]) | mark
    else:
        view.table[base + word] = held & ~bit
        if held & ~bit == 0:
            view.table[summary] = np.int64(view.table[summary]) & ~mark


@kernel
def show(view, plane, block, writable):
    """Enter into the bits of the block's group how it can be written."""
    own = view.block_memory[block]
    if own.shown == writable:
        return
    group, place = np.int64(own.group), np.int64(block - plane * view.params[0].blocks)
    if (own.shown >= WRITABLE) != (writable >= WRITABLE):
        _set_bit(view, plane, group, 0, place, writable >= WRITABLE)
    if (own.shown == WRITABLE_BEST) != (writable == WRITABLE_BEST):
        _set_bit(view, plane, group, 1, place, writable == WRITABLE_BEST)
    own.shown = writable


@kernel
def _leave(view, plane, block):
    """Take a block out of its group; its rank may have changed already."""
    own = view.block_memory[block]
    group = np.int64(own.group)
    show(view, plane, block, 0)
    view.table[_size_place(view, plane, group)] -= np.uint32(1)
    _remove_entry(view, plane, group, np.int64(own.low), LOW)
    _remove_entry(view, plane, group, np.int64(own.high), HIGH)


@kernel
def join_group(view, plane, block, group, writable):
    """Add a block to a group."""
    size = size_of(view, plane, group)
    view.table[_size_place(view, plane, group)] = size + 1
    view.block_memory[block].group = group
    rank = rank_of(view, block)
    _raise_entry(view, plane, group, size, rank, LOW)
    _raise_entry(view, plane, group, size, rank, HIGH)
    show(view, plane, block, writable)


# -- Algorithm 1


@kernel
def _lowest_but(view, plane, group, block):
    """Return the smallest rank of a group, `block` left out."""
    size = size_of(view, plane, group)
    none = Rank(np.int64(0), np.int64(0), np.int64(0), np.int64(-1))
    if size == 0:
        return none
    root = _first_from(view, plane, group, 0, LOW)
    if root.block != block:
        return root
    if size == 1:
        return none
    left = _first_from(view, plane, group, 1, LOW)
    if size == 2:
        return left
    right = _first_from(view, plane, group, 2, LOW)
    return left if is_larger(view.params[0], right, left) else right


@kernel
def _stands_above(view, plane, rank, group):
    """Return whether a block's rank is above the smallest one of a group, itself left out."""
    lowest = _lowest_but(view, plane, group, rank.block)
    return lowest.block >= 0 and _exceeds(view.params[0], rank, lowest)


@kernel
def _group_for(view, plane, rank):
    """Find the highest group whose smallest rank, the block left out, is below that of a block; else 0.

    Ranks rise from group to group, so the search starts where the block was; an empty group is passed over.
    """
    group = np.int64(view.block_memory[rank.block].group)
    for higher in range(group + 1, view.memory[0].groups):
        if _stands_above(view, plane, rank, higher):
            group = np.int64(higher)
        elif size_of(view, plane, higher) > 0:
            break
    while group > 0 and not _stands_above(view, plane, rank, group):
        group -= 1
    return group


@kernel
def _has_room_below(view, plane, group):
    found = False
    for lower in range(group):
        found = found or size_of(view, plane, lower) < view.memory[0].limit
    return found


@kernel
def _insert(view, plane, block, group, writable):
    """Add a block to a group; move what is too much down, or up where all groups below are full."""
    limit = view.memory[0].limit
    if size_of(view, plane, group) == limit and _has_room_below(view, plane, group):
        # 1. The group is full and one below is not: its smallest rank makes room and goes down, where the
        #    same may happen again. Every rank stays above those of the groups below.
        while size_of(view, plane, group) == limit:
            evicted = _first_from(view, plane, group, 0, LOW).block
            shown = np.int64(view.block_memory[evicted].shown)
            _leave(view, plane, evicted)
            join_group(view, plane, block, group, writable)
            block, writable = evicted, shown
            group -= 1
        join_group(view, plane, block, group, writable)
        return
    # 2. Else the block joins, and what is too much goes up: nothing can go down, or nothing has to.
    join_group(view, plane, block, group, writable)
    while size_of(view, plane, group) > limit:
        block = _first_from(view, plane, group, 0, HIGH).block
        shown = np.int64(view.block_memory[block].shown)
        _leave(view, plane, block)
        group += 1
        join_group(view, plane, block, group, shown)


@kernel
def reclassify(view, plane, block, before, writable):
    """Find the group of a block whose rank was `before` (E30)."""
    params, own = view.params[0], view.block_memory[block]
    rank = rank_of(view, block)
    group = _group_for(view, plane, rank)
    if group != own.group:
        _leave(view, plane, block)
        _insert(view, plane, block, group, writable)
        return
    if is_larger(params, rank, before):
        _advance_entry(view, plane, group, np.int64(own.high), rank, HIGH)
    elif is_larger(params, before, rank):
        _advance_entry(view, plane, group, np.int64(own.low), rank, LOW)
    show(view, plane, block, writable)


# -- looking for a block to write to


@kernel
def first_of(view, plane, group, kind):
    """Return the lowest block of a group to be written to (kind 0), or in its best set (1); -1 for none."""
    base, blocks = _bits_place(view, plane, group, kind), np.int64(view.params[0].blocks)
    words, summary = _bit_words(blocks)
    for k in range(summary):
        mark = np.int64(view.table[base + words + k])
        if mark != 0:
            word = k * _WORD + lowest_bit(mark)
            return plane * blocks + word * _WORD + lowest_bit(np.int64(view.table[base + word]))
    return np.int64(-1)
