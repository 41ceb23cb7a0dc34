"""Tournament trees: the block with the best erase set of a plane.

Updates are lazy: a changed block joins the plane's dirty list, and the next query computes its best set
again and repairs the plane's trees along its path. A tree has a leaf per block; an inner node holds the
better block of its two children, -1 for none. Each plane has two: over all blocks (the next victim), and over
those that can be written to (for placements that write to the next victim). Where block groups are kept and
ranked by benefit, they hold the next victim and there are no trees.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import NONE
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import HOT_TO_VICTIMS, INDEXED
from ssdgym.engine.speedupgc.best_sets import cost_of, renew, tie_of

#: The two trees of a plane.
VICTIMS, TARGETS = 0, 1


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
    ours, theirs = x.gain * cost_of(params, y.moves), y.gain * cost_of(params, x.moves)
    if ours != theirs:
        return ours > theirs
    ties = tie_of(x.mask), tie_of(y.mask)
    return ties[0] < ties[1] if ties[0] != ties[1] else a < b


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
