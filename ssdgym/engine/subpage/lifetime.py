"""Wear in the sub-page family: region blocks are exchanged, worn blocks are retired, the device shrinks.

See `docs/lifetime.md`. Counts of pages in records of planes are in units of the main area.
"""

import numpy as np

from ssdgym.engine.blocks.index import join_pool, leave_pool, unwritten_pages_of
from ssdgym.engine.blocks.manager import retire, writable_sub_block
from ssdgym.engine.blocks.wear import is_worn, least_worn_free, mark_worn
from ssdgym.engine.cells import end_life, settle_for, wears_out
from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.erase.legality import is_overfull
from ssdgym.engine.flash import valid_in
from ssdgym.engine.rounds import gc_needed


@inlined
def _room_to_move(dev, plane):
    """Return how many units a plane has room for before its next erase."""
    room = np.int64(dev.plane[plane].pool_pages)
    block = np.int64(dev.open_sub_block[plane * MAX_STREAMS])
    if block >= 0:
        room += dev.params[0].pages_per_block - dev.sub_block[block].written
    return room


@kernel
def can_move(dev, leader, pairs, count):
    """Return whether a plane that has lost blocks has room for an erase set's moves, in whole pages."""
    per_page = np.int64(dev.subpage[0].slots // dev.subpage[0].unit_slots)
    room = _room_to_move(dev, leader)
    for k in range(count):
        block = np.int64(pairs[k].block)
        valid = np.int64(valid_in(dev, block, pairs[k].mask))
        room -= -(-valid // per_page) * per_page + unwritten_pages_of(dev, block)
    return room >= 0


@inlined
def _held(dev, plane):
    """Return how many valid units a plane can hold and still be collected.

    If the device may shrink, this number also leaves the main area its original share of spare units.
    """
    params, subpage = dev.params[0], dev.subpage[0]
    gone = np.int64(dev.plane[plane].gone_pages)
    held = max(params.valid_limit - gone, 0)
    if not params.shrinks:
        return held
    units = (np.int64(params.blocks) - subpage.region_blocks) * params.pages_per_block
    logical = params.logical_pages // np.int64(subpage.unit_slots)
    return min(held, -(-logical * (units - gone) // (units * params.planes)))


@kernel
def settle(dev):
    """After blocks are lost, give up logical pages (whole groups) or end the device's life, if needed."""
    params, subpage = dev.params[0], dev.subpage[0]
    most, held = np.int64(-1), np.int64(0)
    for plane in range(params.planes):
        most += max(params.valid_limit - dev.plane[plane].gone_pages, 0)
        held += _held(dev, plane)
    sectors = min(most, held) * np.int64(subpage.unit_slots)
    settle_for(dev, sectors - sectors % np.int64(subpage.slots))


@kernel
def ensure_page(dev, plane):
    """Open a block in the main area of a plane if none is open; return whether one is open."""
    return writable_sub_block(dev, plane, 0) >= 0


@inlined
def _take_place(dev, plane, block, other):
    """Replace a region block by an erased block, `other`, of the main area; the old block joins no pool."""
    blocks = np.int64(dev.subpage[0].region_blocks)
    for k in range(plane * blocks, (plane + 1) * blocks):
        if dev.member[k] == block:
            dev.member[k] = other
    dev.region_block[block].in_region = 0
    dev.region_block[other].in_region = 1
    leave_pool(dev, other)


@kernel
def _worn_beyond(dev, plane, block):
    """Return the least worn erased block of the pool if the exchange with a region block is due; or -1."""
    total = np.int64(0)
    count = np.int64(0)
    least = np.int64(-1)
    other = np.int64(dev.plane[plane].pool_head)
    while other >= 0:
        if dev.block[other].written == 0:
            erases = np.int64(dev.sub_block[other].erases)
            total += erases
            count += 1
            fewer = least < 0 or erases < dev.sub_block[least].erases
            if fewer or (erases == dev.sub_block[least].erases and other < least):
                least = other
        other = np.int64(dev.block[other].next_pool)
    gap = np.int64(dev.sub_block[block].erases) * count - total
    return least if count > 0 and gap > count * dev.subpage[0].wear_gap else np.int64(-1)


@kernel
def _replace(dev, plane, block):
    """Retire a worn block of a region; return the block of the pool that takes its place.

    If the pool is empty, the life of the device ends, and the worn block is returned.
    """
    params = dev.params[0]
    mark_worn(dev, block)
    other = np.int64(least_worn_free(dev, plane))
    if other < 0:
        end_life(dev)
        return block
    _take_place(dev, plane, block, other)
    retire(dev, block)
    settle(dev)
    if gc_needed(params, dev.plane[plane]) and not is_overfull(params, dev.plane[plane]):
        dev.counters[0].gc_episodes += 1
        if params.timed:
            dev.plane[plane].collecting = 1
        else:
            dev.control[0].gc_plane = plane
    return other


@kernel
def member_after(dev, plane, block):
    """Replace a region block that was just erased, if it is worn; return the replacement, or the block."""
    params = dev.params[0]
    if params.endures and (wears_out(dev, block, full_mask(params.sub_blocks)) or is_worn(dev, block)):
        return np.int64(_replace(dev, plane, block))
    other = np.int64(-1)
    if dev.subpage[0].wear_gap > 0:
        other = np.int64(_worn_beyond(dev, plane, block))
    if other < 0:
        return block
    _take_place(dev, plane, block, other)
    join_pool(dev, block)
    dev.tally[0].region_conversions += 1
    return other
