"""Orders of blocks by their best sets: tournament trees, and the binary heaps of block groups.

Each group has two, one with the smallest rank at its root and one with the largest. Each block has its places
in the heaps.

The heaps are lazy. An entry holds the rank it is sorted by, which may differ from the block's present rank:
in the heap of smallest ranks it may be too small, in that of largest ranks too large. So a block whose rank
rises moves in one heap only, and one whose rank falls in the other; an entry that reaches a root is sorted
again, before it is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ssdgym.engine.core.bits import NONE
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import HOT_TO_VICTIMS, INDEXED
from ssdgym.engine.speedupgc.best_sets import cost_of, renew, tie_of

#: The two heaps of a group.
LOW, HIGH = 0, 1


class Rank(NamedTuple):
    """The rank of a block: the fields of HEAP; the block is -1 for no rank."""

    gain: Any
    moves: Any
    tie: Any
    block: Any


@inlined
def rank_of(dev, block):
    """Return the rank of a block."""
    best = dev.best[block]
    return Rank(np.int64(best.rank_gain), np.int64(best.rank_moves), np.int64(best.rank_tie), np.int64(block))


@inlined
def exceeds(params, a, b):
    """Return whether rank `a` is above rank `b`, ties left out."""
    return a.gain * cost_of(params, b.moves) > b.gain * cost_of(params, a.moves)


@inlined
def is_larger(params, a, b):
    """Return whether rank `a` is above `b`; of equals, the one whose best set is chosen first is."""
    ours, theirs = a.gain * cost_of(params, b.moves), b.gain * cost_of(params, a.moves)
    if ours != theirs:
        return ours > theirs
    return a.tie < b.tie if a.tie != b.tie else a.block < b.block


@inlined
def is_before(params, a, b, heap):
    """Return whether rank `a` belongs nearer to the root than `b`."""
    return is_larger(params, a, b) if heap == HIGH else is_larger(params, b, a)


@inlined
def heap_base(params, number, heap):
    """Return the place where a heap begins."""
    return (2 * np.int64(number) + heap) * (params.group_limit + 1)


@inlined
def entry_at(dev, place):
    """Return the rank an entry is sorted by."""
    entry = dev.heap[place]
    return Rank(np.int64(entry.gain), np.int64(entry.moves), np.int64(entry.tie), np.int64(entry.block))


@inlined
def _put(dev, base, place, rank, heap):
    entry = dev.heap[base + place]
    entry.gain, entry.moves, entry.tie, entry.block = rank
    if heap == LOW:
        dev.best[rank.block].low = place
    else:
        dev.best[rank.block].high = place


@inlined
def _rise(dev, base, place, rank, heap):
    """Let an entry rise from a free place of its heap; return where it stops."""
    params = dev.params[0]
    while place > 0:
        parent = (place - 1) >> 1
        above = entry_at(dev, base + parent)
        if not is_before(params, rank, above, heap):
            break
        _put(dev, base, place, above, heap)
        place = parent
    return place


@inlined
def _sink(dev, base, size, place, rank, heap):
    """Let an entry sink from a free place of its heap; return where it stops."""
    params = dev.params[0]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        below = entry_at(dev, base + child)
        if child + 1 < size:
            other = entry_at(dev, base + child + 1)
            if is_before(params, other, below, heap):
                child, below = child + 1, other
        if not is_before(params, below, rank, heap):
            break
        _put(dev, base, place, below, heap)
        place = child
    return place


@inlined
def raise_entry(dev, number, place, rank, heap):
    """Put an entry into its group's heap, at a place or nearer to the root."""
    params = dev.params[0]
    base = heap_base(params, number, heap)
    _put(dev, base, _rise(dev, base, place, rank, heap), rank, heap)


@inlined
def advance_entry(dev, number, place, rank, heap):
    """Raise a block's entry after its rank has moved towards the root, unless it is nearer already."""
    params = dev.params[0]
    base = heap_base(params, number, heap)
    if is_before(params, rank, entry_at(dev, base + place), heap):
        raise_entry(dev, number, place, rank, heap)


@kernel
def remove_from_heap(dev, number, place, heap):
    """Fill the place of a block that leaves with the last one; `group_size` no longer counts the block."""
    params = dev.params[0]
    size = np.int64(dev.group_size[number])
    if place < size:
        base = heap_base(params, number, heap)
        last = entry_at(dev, base + size)
        risen = _rise(dev, base, place, last, heap)
        if risen == place:
            risen = _sink(dev, base, size, place, last, heap)
        _put(dev, base, risen, last, heap)


@kernel
def _corrected_first(dev, number, place, heap):
    """Let what is at a place of a heap sink until an entry stays there that is as its block is."""
    params = dev.params[0]
    base = heap_base(params, number, heap)
    size = np.int64(dev.group_size[number])
    while True:
        entry = entry_at(dev, base + place)
        rank = rank_of(dev, entry.block)
        if _is_same(rank, entry):
            return rank
        _put(dev, base, _sink(dev, base, size, place, rank, heap), rank, heap)


@inlined
def _is_same(a, b):
    return a.gain == b.gain and a.moves == b.moves and a.tie == b.tie


@inlined
def first_from(dev, number, place, heap):
    """Return the first rank of a heap, or of the part below a place of it.

    Entries that reach the place are corrected first.
    """
    entry = entry_at(dev, heap_base(dev.params[0], number, heap) + place)
    rank = rank_of(dev, entry.block)
    return rank if _is_same(rank, entry) else _corrected_first(dev, number, place, heap)


#: The two trees of a plane.
VICTIMS, TARGETS = 0, 1


# Tournament trees: the block with the best erase set of a plane.
#
# Updates are lazy: a changed block joins the plane's dirty list, and the next query computes its best set
# again and repairs the plane's trees along its path. A tree has a leaf per block; an inner node holds the
# better block of its two children, -1 for none. Each plane has two: over all blocks (the next victim), and
# over those that can be written to (for placements that write to the next victim). Where block groups are
# kept and ranked by benefit, they hold the next victim and there are no trees.


@inlined
def mark_dirty(dev, block):
    """Put a changed block on the dirty list, so that the next query updates its place in the trees."""
    params = dev.params[0]
    if params.tree_leaves > 0 and not dev.best[block].dirty:
        best = dev.best[block]
        plane = dev.plane[dev.block[block].plane]
        best.dirty = 1
        best.next_dirty = plane.dirty_head
        plane.dirty_head = block


@inlined
def beats(dev, tree, a, b):
    """Return whether block `a` is better than `b`; -1 is no block, and loses."""
    if a < 0 or b < 0:
        return b < 0
    params = dev.params[0]
    x, y = dev.best[a], dev.best[b]
    if tree == TARGETS and x.writable != y.writable:
        return x.writable > y.writable
    first = Rank(np.int64(x.gain), np.int64(x.moves), tie_of(x.mask), np.int64(a))
    return is_larger(params, first, Rank(np.int64(y.gain), np.int64(y.moves), tie_of(y.mask), np.int64(b)))


@inlined
def root_of(params, plane, tree):
    """Return the place in front of the root of a tree of a plane."""
    return (tree * np.int64(params.planes) + plane) * 2 * params.tree_leaves


@inlined
def _repair(dev, plane, tree, block, takes_part):
    """Set a block's leaf and repair its path, up to where another block wins as before."""
    params = dev.params[0]
    base = root_of(params, plane, tree)
    node = block - plane * params.blocks + np.int64(params.tree_leaves)
    dev.tree[base + node] = block if takes_part else -1
    while node > 1:
        a, b = np.int64(dev.tree[base + node]), np.int64(dev.tree[base + (node ^ 1)])
        winner = a if beats(dev, tree, a, b) else b
        node >>= 1
        if winner == dev.tree[base + node] and winner != block:
            return
        dev.tree[base + node] = winner


@kernel
def _refresh(dev, plane):
    params = dev.params[0]
    block = np.int64(dev.plane[plane].dirty_head)
    while block >= 0:
        best = dev.best[block]
        if params.groups == 0:  # with groups it is kept at every change
            renew(dev, block)
        indexed = (dev.block[block].status & INDEXED) != 0  # a victim keeps its set for its group's sake
        _repair(dev, plane, VICTIMS, block, indexed and best.mask != NONE)
        if params.placement == HOT_TO_VICTIMS:
            _repair(dev, plane, TARGETS, block, best.mask != NONE and best.writable > 0)
        best.dirty = 0
        block = np.int64(best.next_dirty)
    dev.plane[plane].dirty_head = -1


@inlined
def refresh(dev, plane):
    """Bring a plane's trees up to date."""
    params = dev.params[0]
    if params.tree_leaves > 0 and dev.plane[plane].dirty_head >= 0:
        _refresh(dev, plane)


@inlined
def best_of_plane(dev, plane):
    """Return the block with the best set of a plane whose trees are up to date; -1 for none."""
    params = dev.params[0]
    return np.int64(dev.tree[root_of(params, plane, VICTIMS) + 1])


@inlined
def best_target(dev, plane):
    """Return the block of the pool that would be erased next, by the trees; -1 for none."""
    params = dev.params[0]
    return np.int64(dev.tree[root_of(params, plane, TARGETS) + 1])
