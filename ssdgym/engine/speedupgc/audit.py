"""The audit of best sets and block groups: by exhaustive search, and by counting."""

import numpy as np

from ssdgym.engine.core.bits import NONE, full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import HOT_TO_VICTIMS, INDEXED, OPEN, POOLED, SUB_BLOCK_RUN
from ssdgym.engine.core.status import BEST_SETS, GROUPS, HEAPS, NO_FAULT, TREES, WRITABLE_BLOCKS
from ssdgym.engine.flash import invalid_in
from ssdgym.engine.speedupgc.best_sets import WRITABLE, WRITABLE_BEST, cost_of, moves_of
from ssdgym.engine.speedupgc.groups import writable_bit
from ssdgym.engine.speedupgc.heaps import (
    HIGH,
    LOW,
    TARGETS,
    VICTIMS,
    beats,
    entry_at,
    exceeds,
    heap_base,
    is_before,
    rank_of,
    root_of,
)


@inlined
def _set_cost(dev, block, mask):
    params = dev.params[0]
    return cost_of(params, moves_of(dev, block, mask))


@inlined
def _is_better(dev, block, mask, other):
    """Return whether set `other` of a block has a higher benefit than `mask`."""
    ours = invalid_in(dev, block, mask) * _set_cost(dev, block, other)
    return invalid_in(dev, block, other) * _set_cost(dev, block, mask) > ours


@kernel
def _is_best(dev, block):
    """Return whether the set kept for a block is the best one; every run is tried."""
    params = dev.params[0]
    mask = dev.best[block].mask
    if params.groups > 0 and not dev.block[block].status & (INDEXED | OPEN | POOLED) and mask != NONE:
        return True  # a victim keeps the set it had
    if not dev.block[block].status & INDEXED or dev.block[block].invalid == 0:
        return mask == NONE
    if invalid_in(dev, block, mask) != dev.best[block].gain:
        return False
    if moves_of(dev, block, mask) != dev.best[block].moves:
        return False
    if params.erase_unit != SUB_BLOCK_RUN:
        return not _is_better(dev, block, mask, full_mask(params.sub_blocks))
    for length in range(1, params.sub_blocks + 1):
        for start in range(params.sub_blocks - length + 1):
            if _is_better(dev, block, mask, full_mask(length) << np.uint64(start)):
                return False
    return True


@kernel
def _tree_is_right(dev, plane, tree):
    """Return whether the best of all blocks is at the root."""
    params = dev.params[0]
    winner = np.int64(-1)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        best = dev.best[block]
        takes_part = dev.block[block].status & INDEXED and best.mask != NONE
        takes_part = takes_part and (tree == VICTIMS or best.writable > 0)
        if takes_part and beats(dev, tree, block, winner):
            winner = np.int64(block)
    return dev.tree[root_of(params, plane, tree) + 1] == winner


@kernel
def check_trees(dev, plane):
    """Return the fault of best sets or trees, NO_FAULT for none; dirty blocks may be out of date."""
    params = dev.params[0]
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        kept = params.groups > 0 or not dev.best[block].dirty
        if kept and not _is_best(dev, block):
            return BEST_SETS
    if params.tree_leaves == 0 or dev.plane[plane].dirty_head >= 0:
        return NO_FAULT
    if not _tree_is_right(dev, plane, VICTIMS):
        return TREES
    if params.placement == HOT_TO_VICTIMS and not _tree_is_right(dev, plane, TARGETS):
        return TREES
    return NO_FAULT


@kernel
def _heap_is_right(dev, number, group, heap):
    """Return whether a heap is in order.

    Every block of it has its place, is no nearer to the root than the entry above, and its entry is no
    farther from the root than its rank.
    """
    params = dev.params[0]
    base = heap_base(params, number, heap)
    for place in range(dev.group_size[number]):
        entry = entry_at(dev, base + place)
        best = dev.best[entry.block]
        if best.group != group or (best.low if heap == LOW else best.high) != place:
            return False
        if is_before(params, rank_of(dev, entry.block), entry, heap):
            return False
        if place > 0 and is_before(params, entry, entry_at(dev, base + ((place - 1) >> 1)), heap):
            return False
    return True


@kernel
def check_groups(dev, plane):
    """Return the fault of the groups: of their sizes, order, writable blocks or heaps; NO_FAULT for none."""
    params = dev.params[0]
    first, end = plane * params.blocks, (plane + 1) * params.blocks
    for group in range(params.groups):
        size = 0
        lowest = np.int64(-1)
        for block in range(first, end):
            if dev.best[block].group != group:
                continue
            size += 1
            pooled = (dev.block[block].status & POOLED) != 0
            if pooled != (dev.best[block].writable >= WRITABLE):
                return WRITABLE_BLOCKS
            for kind in range(2):
                shown = dev.best[block].writable >= (WRITABLE_BEST if kind else WRITABLE)
                if writable_bit(dev, plane, group, kind, block) != shown:
                    return WRITABLE_BLOCKS
            if lowest < 0 or exceeds(params, rank_of(dev, lowest), rank_of(dev, block)):
                lowest = np.int64(block)
        if size != dev.group_size[plane * params.groups + group] or size > params.group_limit:
            return GROUPS
        for block in range(first, end):
            below = lowest >= 0 and dev.best[block].group < group
            if below and exceeds(params, rank_of(dev, block), rank_of(dev, lowest)):
                return GROUPS
        number = plane * params.groups + group
        if not (_heap_is_right(dev, number, group, LOW) and _heap_is_right(dev, number, group, HIGH)):
            return HEAPS
    return NO_FAULT
