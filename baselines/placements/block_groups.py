"""Block groups: the blocks of a plane in groups of limited size, by rank (SpeedupGC, Algorithm 1).

The table of a plane has three parts: the size of each group; a heap of the blocks of each group, with the
block of smallest rank on top; and two bit sets for each group. The first has its writable blocks, which are
those in the pool; the second has those of them whose best set has unwritten pages. Groups are numbered from 0
here, and from 1 in E28 to E34 (`hotness_groups`). A word is an item of `view.table`.
"""

import numpy as np

from ssdgym.baselines.victims.gsm import exceeds, is_larger, make_rank
from ssdgym.policy import kernel, lowest_bit

#: Record of a block: group; `shown`, the bit sets that contain it: 0 for none, WRITABLE for the first,
#: WRITABLE_BEST for both; rank (see `Rank`); place in the heap of its group.
RANK = [
    *(("group", "u1"), ("shown", "u1")),
    *(("rank_gain", "i4"), ("rank_moves", "i4"), ("rank_tie", "i4"), ("place", "i4")),
]
#: Record of the device: number of groups of a plane, most blocks of a group, words of a plane's table.
SIZES = [("groups", "i8"), ("limit", "i8"), ("plane_words", "i8")]
WRITABLE, WRITABLE_BEST = 1, 2
_WORD = 32


@kernel
def largest_group(blocks, groups):
    """Return the most blocks of a group in a plane with this number of blocks and of groups (E28)."""
    return blocks // (groups - 1) - 1


@kernel
def _bit_words(blocks):
    """Return the words of a bit set of blocks, and of its summary, which has a bit for each word not 0."""
    words = (blocks + _WORD - 1) // _WORD
    return words, (words + _WORD - 1) // _WORD


@kernel
def words_of_plane(blocks, groups):
    """Return the words of a plane's table; a heap has room for one block more than a group may have."""
    words, summary = _bit_words(blocks)
    return groups * (1 + largest_group(blocks, groups) + 1 + 2 * (words + summary))


@kernel
def set_sizes(view):
    """Store the number and largest size of groups, and the words of a plane's table."""
    params, memory = view.params[0], view.memory[0]
    memory.groups = np.int64(params.group_of_degree >> np.uint64(60))
    memory.limit = largest_group(np.int64(params.blocks), memory.groups)
    memory.plane_words = words_of_plane(np.int64(params.blocks), memory.groups)


@kernel
def _size_word(view, plane, group):
    return plane * view.memory[0].plane_words + group


@kernel
def size_of(view, plane, group):
    """Return the number of blocks in a group."""
    return np.int64(view.table[_size_word(view, plane, group)])


@kernel
def _heap(view, plane, group):
    """Return the number of the word that holds the first block in the heap of a group."""
    memory = view.memory[0]
    return plane * memory.plane_words + memory.groups + group * (memory.limit + 1)


@kernel
def _block_at(view, word):
    return np.int64(view.table[word])


@kernel
def rank_of(view, block):
    """Return the rank of a block."""
    own = view.block_memory[block]
    return make_rank(own.rank_gain, own.rank_moves, own.rank_tie, block)


@kernel
def _bits_word(view, plane, group, kind):
    words, summary = _bit_words(np.int64(view.params[0].blocks))
    return _heap(view, plane, view.memory[0].groups) + (2 * group + kind) * (words + summary)


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
    """Set the bits of a block in its group's bit sets; `writable` is a value of `shown` (see `RANK`)."""
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
    """Return a group's lowest block in the bit set `kind`: 0 writable, 1 writable best set; -1 for none."""
    base, blocks = _bits_word(view, plane, group, kind), np.int64(view.params[0].blocks)
    words, summary = _bit_words(blocks)
    for k in range(summary):
        mark = np.int64(view.table[base + words + k])
        if mark != 0:
            word = k * _WORD + lowest_bit(mark)
            return plane * blocks + word * _WORD + lowest_bit(np.int64(view.table[base + word]))
    return np.int64(-1)


# -- the heap of a group


@kernel
def _put(view, heap, place, block):
    view.table[heap + place] = block
    view.block_memory[block].place = place


@kernel
def _rise(view, plane, group, block):
    """Move a block towards the top of the heap of its group, past blocks of larger rank."""
    heap, place = _heap(view, plane, group), np.int64(view.block_memory[block].place)
    rank = rank_of(view, block)
    while place > 0:
        above = _block_at(view, heap + ((place - 1) >> 1))
        if not is_larger(view.params[0], rank_of(view, above), rank):
            break
        _put(view, heap, place, above)
        place = (place - 1) >> 1
    _put(view, heap, place, block)


@kernel
def _sink(view, plane, group, block):
    """Move a block away from the top of the heap of its group, past blocks of smaller rank."""
    params, heap, size = view.params[0], _heap(view, plane, group), size_of(view, plane, group)
    rank, place = rank_of(view, block), np.int64(view.block_memory[block].place)
    while 2 * place + 1 < size:
        child = 2 * place + 1
        below = _block_at(view, heap + child)
        if child + 1 < size:
            other = _block_at(view, heap + child + 1)
            if is_larger(params, rank_of(view, below), rank_of(view, other)):
                child, below = child + 1, other
        if not is_larger(params, rank, rank_of(view, below)):
            break
        _put(view, heap, place, below)
        place = child
    _put(view, heap, place, block)


@kernel
def join(view, plane, group, block):
    """Add a block, which is in no group, to a group."""
    own, size = view.block_memory[block], size_of(view, plane, group)
    own.group, own.place = group, size
    view.table[_size_word(view, plane, group)] = size + 1
    _rise(view, plane, group, block)


@kernel
def _leave(view, plane, group, block):
    """Remove a block from the heap of its group; the last block of the heap takes its place."""
    size = size_of(view, plane, group) - 1
    view.table[_size_word(view, plane, group)] = size
    last = _block_at(view, _heap(view, plane, group) + size)
    if last != block:
        view.block_memory[last].place = view.block_memory[block].place
        _rise(view, plane, group, last)
        _sink(view, plane, group, last)


@kernel
def deal(view, plane):
    """Empty the heap of group 0, which has all blocks of a plane; set the group of each block by its rank."""
    blocks = size_of(view, plane, 0)
    for number in range(blocks):
        block = _block_at(view, _heap(view, plane, 0))
        _leave(view, plane, 0, block)
        view.block_memory[block].group = number * view.memory[0].groups // blocks


@kernel
def _largest(view, plane, group):
    """Return the block of largest rank in a group, which is a leaf of the heap."""
    heap, size = _heap(view, plane, group), size_of(view, plane, group)
    largest = _block_at(view, heap + size - 1)
    for place in range(size >> 1, size - 1):
        block = _block_at(view, heap + place)
        if is_larger(view.params[0], rank_of(view, block), rank_of(view, largest)):
            largest = block
    return largest


# -- Algorithm 1


@kernel
def _exceeds_that_at(view, rank, word):
    return exceeds(view.params[0], rank, rank_of(view, _block_at(view, word)))


@kernel
def _stands_above(view, plane, rank, group):
    """Return whether `rank`, of a block, is above the smallest rank of the other blocks of a group."""
    heap, size = _heap(view, plane, group), size_of(view, plane, group)
    if size > 0 and _block_at(view, heap) != rank.block:
        return _exceeds_that_at(view, rank, heap)
    # The block is on top of its heap, so the smallest rank of the others is one of the two below it.
    below_left = size > 1 and _exceeds_that_at(view, rank, heap + 1)
    return below_left or (size > 2 and _exceeds_that_at(view, rank, heap + 2))


@kernel
def _group_for(view, plane, rank):
    """Return the highest group in which a different block has a rank below `rank`; 0 if there is none.

    Ranks rise from group to group, so the search goes up or down from the group that the block is in.
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
def _move(view, plane, block, group):
    own, shown = view.block_memory[block], np.int64(view.block_memory[block].shown)
    show(view, plane, block, 0)
    _leave(view, plane, np.int64(own.group), block)
    join(view, plane, group, block)
    show(view, plane, block, shown)


@kernel
def _make_room(view, plane, group):
    """If a group that a block has joined exceeds its limit, move blocks to lower or else to higher groups."""
    limit, room = view.memory[0].limit, group - 1
    while room >= 0 and size_of(view, plane, room) == limit:
        room -= 1
    if size_of(view, plane, group) > limit and room >= 0:
        # 1. A lower group has room. From the group above it upwards, the block of smallest rank of each group
        # moves one group down, so ranks still rise from group to group.
        for higher in range(room + 1, group + 1):
            _move(view, plane, _block_at(view, _heap(view, plane, higher)), higher - 1)
        return
    # 2. Otherwise the block of largest rank of each group over its limit moves one group up.
    while size_of(view, plane, group) > limit:
        group += 1
        _move(view, plane, _largest(view, plane, group - 1), group)


@kernel
def reclassify(view, plane, block, before, writable):
    """Move a block, whose rank was `before`, to the group of its present rank (E30); see `show`."""
    rank, group = rank_of(view, block), np.int64(view.block_memory[block].group)
    found = _group_for(view, plane, rank)
    if found != group:
        _move(view, plane, block, found)
        _make_room(view, plane, found)
    elif is_larger(view.params[0], rank, before):
        _sink(view, plane, group, block)
    elif rank != before:
        _rise(view, plane, group, block)
    show(view, plane, block, writable)
