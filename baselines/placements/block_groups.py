"""Block groups: the blocks of a plane sorted by rank into groups of limited size (SpeedupGC, Algorithm 1).

The table of a plane has three parts: the place at which each group begins and the last group ends; the
numbers of the plane's blocks, sorted by group and within a group by rising rank; and two bit sets of writable
blocks for each group. Moving the boundary between two groups by one place moves the block there to the other
group. Groups are numbered from 0 here, and from 1 in E28 to E34 (`hotness_groups`).
"""

import numpy as np

from ssdgym.baselines.victims.gsm import exceeds, is_larger, make_rank
from ssdgym.policy import kernel, lowest_bit

#: Record of a block: rank, group; `shown`: 0, WRITABLE, or WRITABLE_BEST if its best set is writable.
RANK = [("rank_gain", "i4"), ("rank_moves", "i4"), ("rank_tie", "i4"), ("group", "u1"), ("shown", "u1")]
#: Record of the device: groups of a plane, most blocks of a group, and words of a plane's table.
SIZES = [("groups", "i8"), ("limit", "i8"), ("plane_words", "i8")]
WRITABLE, WRITABLE_BEST = 1, 2
_WORD = 32


# -- the table of a plane


@kernel
def _bit_words(blocks):
    """Return the words of a set with one bit per block, and those of a set with one bit per such word."""
    words = (blocks + _WORD - 1) // _WORD
    return words, (words + _WORD - 1) // _WORD


def words_of_plane(blocks: int, groups: int) -> int:
    """Return the words of the table of a plane."""
    return groups + 1 + blocks + 2 * groups * sum(_bit_words.py_func(blocks))


@kernel
def set_sizes(view):
    """Store number and largest size of groups, from the thresholds and blocks of the device."""
    params, memory = view.params[0], view.memory[0]
    blocks = np.int64(params.blocks)
    memory.groups = np.int64(params.group_of_degree >> np.uint64(60))
    memory.limit = blocks // (memory.groups - 1) - 1
    words, summary = _bit_words(blocks)
    memory.plane_words = memory.groups + 1 + blocks + 2 * memory.groups * (words + summary)


@kernel
def begin_of(view, plane, group):
    """Return the place in the sorted blocks of a plane at which a group begins."""
    return np.int64(view.table[plane * view.memory[0].plane_words + group])


@kernel
def _shift_begin(view, plane, group, by):
    view.table[plane * view.memory[0].plane_words + group] = begin_of(view, plane, group) + by


@kernel
def size_of(view, plane, group):
    """Return the number of blocks in a group."""
    return begin_of(view, plane, group + 1) - begin_of(view, plane, group)


@kernel
def _first_word(view, plane):
    """Return the word of the block at place 0."""
    return plane * view.memory[0].plane_words + view.memory[0].groups + 1


@kernel
def _block_at(view, plane, place):
    return np.int64(view.table[_first_word(view, plane) + place])


# -- ranks


@kernel
def rank_of(view, block):
    """Return the rank of a block."""
    own = view.block_memory[block]
    return make_rank(own.rank_gain, own.rank_moves, own.rank_tie, block)


# -- blocks that can be written to


@kernel
def _bits_word(view, plane, group, kind):
    words, summary = _bit_words(np.int64(view.params[0].blocks))
    first = _first_word(view, plane) + np.int64(view.params[0].blocks)
    return first + (2 * group + kind) * (words + summary)


@kernel
def _set_bit(view, plane, group, kind, place, value):
    base = _bits_word(view, plane, group, kind)
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
    """Store in the bit sets of a block's group whether the block, and its best set, are writable."""
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
def first_of(view, plane, group, kind):
    """Return a group's lowest block that is writable or, for `kind` 1, has a writable best set; -1: none."""
    base, blocks = _bits_word(view, plane, group, kind), np.int64(view.params[0].blocks)
    words, summary = _bit_words(blocks)
    for k in range(summary):
        mark = np.int64(view.table[base + words + k])
        if mark != 0:
            word = k * _WORD + lowest_bit(mark)
            return plane * blocks + word * _WORD + lowest_bit(np.int64(view.table[base + word]))
    return np.int64(-1)


# -- the order within a group


@kernel
def _place_of(view, plane, group, rank):
    """Return the place of the block whose old rank is `rank`, by which its group is still sorted."""
    low, high = begin_of(view, plane, group), begin_of(view, plane, group + 1)
    while low < high:
        middle = (low + high) >> 1
        block = _block_at(view, plane, middle)
        if block != rank.block and is_larger(view.params[0], rank, rank_of(view, block)):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _sort(view, plane, group, place, block):
    """Move a block from a place of its group to the place that its rank demands."""
    params, rank, base = view.params[0], rank_of(view, block), _first_word(view, plane)
    first, last = base + begin_of(view, plane, group), base + begin_of(view, plane, group + 1) - 1
    word = base + place
    while word > first and is_larger(params, rank_of(view, np.int64(view.table[word - 1])), rank):
        view.table[word] = view.table[word - 1]
        word -= 1
    while word < last and is_larger(params, rank, rank_of(view, np.int64(view.table[word + 1]))):
        view.table[word] = view.table[word + 1]
        word += 1
    view.table[word] = block


@kernel
def add_to_last(view, plane, group, block):
    """Add a block to a group while all later groups are empty."""
    for later in range(group + 1, view.memory[0].groups + 1):
        _shift_begin(view, plane, later, 1)
    view.block_memory[block].group = group
    _sort(view, plane, group, begin_of(view, plane, group + 1) - 1, block)


@kernel
def divide(view, plane):
    """Divide the blocks of a plane, all in group 0, into groups of equal size."""
    blocks, groups = np.int64(view.params[0].blocks), view.memory[0].groups
    for group in range(1, groups):
        _shift_begin(view, plane, group, -(-group * blocks // groups) - begin_of(view, plane, group))
        for place in range(begin_of(view, plane, group), blocks):
            view.block_memory[_block_at(view, plane, place)].group = group


# -- Algorithm 1


@kernel
def _stands_above(view, plane, rank, group):
    """Return whether a block's rank is above the smallest rank of a group's other blocks."""
    place, end = begin_of(view, plane, group), begin_of(view, plane, group + 1)
    if place < end and _block_at(view, plane, place) == rank.block:
        place += 1
    return place < end and exceeds(view.params[0], rank, rank_of(view, _block_at(view, plane, place)))


@kernel
def _group_for(view, plane, rank):
    """Return the highest group with another block whose rank is below `rank`; 0 if there is none.

    Ranks rise from group to group, so the search starts at the block's old group; it skips empty groups.
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
def _move(view, plane, place, block, group):
    """Move a block from a place to another group."""
    own, base = view.block_memory[block], _first_word(view, plane)
    before, shown = np.int64(own.group), np.int64(own.shown)
    show(view, plane, block, 0)
    own.group = group
    show(view, plane, block, shown)
    # 1. Move the block to the nearer end of the new group; blocks in between shift by one place.
    step = 1 if group > before else -1
    end = begin_of(view, plane, group) - 1 if group > before else begin_of(view, plane, group + 1)
    for word in range(base + place, base + end, step):
        view.table[word] = view.table[word + step]
    # 2. Shift the boundaries of groups in between by one place.
    for between in range(min(before, group) + 1, max(before, group) + 1):
        _shift_begin(view, plane, between, -step)
    # 3. Move the block within the group to the place that its rank demands.
    _sort(view, plane, group, end, block)


@kernel
def _make_room(view, plane, group):
    """Move surplus blocks of a group that a block has joined to lower groups, or else to higher groups."""
    limit, room = view.memory[0].limit, group - 1
    while room >= 0 and size_of(view, plane, room) == limit:
        room -= 1
    if size_of(view, plane, group) > limit and room >= 0:
        # 1. A lower group has room: from there upwards, the block of smallest rank of each group moves one
        # group down. Ranks stay above those of the groups below.
        for higher in range(room + 1, group + 1):
            place = begin_of(view, plane, higher)
            _move(view, plane, place, _block_at(view, plane, place), higher - 1)
        return
    # 2. Otherwise surplus blocks, if any, move to higher groups.
    while size_of(view, plane, group) > limit:
        place = begin_of(view, plane, group + 1) - 1
        group += 1
        _move(view, plane, place, _block_at(view, plane, place), group)


@kernel
def reclassify(view, plane, block, before, writable):
    """Move a block, whose rank was `before`, to the group of its present rank (E30)."""
    rank, group = rank_of(view, block), np.int64(view.block_memory[block].group)
    found = _group_for(view, plane, rank)
    if found != group:
        _move(view, plane, _place_of(view, plane, group, before), block, found)
        _make_room(view, plane, found)
    elif rank != before:
        _sort(view, plane, group, _place_of(view, plane, group, before), block)
    show(view, plane, block, writable)
