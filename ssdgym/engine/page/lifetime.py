"""Wear in the page family: worn blocks are emptied, planes are given up, the device shrinks.

See `docs/lifetime.md`. A plane that is given up holds data, but no page is programmed there any more.
"""

import numpy as np

from ssdgym.engine.blocks.index import enter_index
from ssdgym.engine.cells import settle_for
from ssdgym.engine.core.bits import NONE, ONE
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_STREAMS, STATIC, TO_THE_POOL
from ssdgym.engine.decisions import RECYCLED, block_event
from ssdgym.engine.erase.legality import pages_taken
from ssdgym.engine.flash import block_of
from ssdgym.engine.page.collecting import pages_to_move
from ssdgym.engine.rounds import give_up, set_pair


@inlined
def _room_of_stream(dev, plane, stream):
    """Return the unwritten pages of the open block of (plane, stream)."""
    params = dev.params[0]
    sub = np.int64(dev.open_sub_block[plane * MAX_STREAMS + stream])
    if sub < 0:
        return np.int64(0)
    return params.pages_per_block - dev.block[block_of(params, sub)].written - dev.sub_block[sub].written


@kernel
def _room_to_move(dev, plane):
    """Return how many pages can be relocated in a plane before the next erase there."""
    params = dev.params[0]
    room = np.int64(dev.plane[plane].pool_pages)
    if params.placement == TO_THE_POOL:
        return room
    if not params.overflows:
        return room + _room_of_stream(dev, plane, params.gc_stream)
    for stream in range(params.streams):
        room += _room_of_stream(dev, plane, stream)
    return room


@kernel
def can_move(dev, leader, pairs, count):
    """Return whether all planes of an erase set have room for the set's moves."""
    for k in range(count):
        plane = np.int64(dev.block[pairs[k].block].plane)
        if pages_taken(dev, plane, pairs, count) > _room_to_move(dev, plane):
            return False
    return True


@inlined
def _held(dev, plane):
    """Return how many logical pages a plane can hold and still be collected.

    If the device may shrink, this number also leaves the plane its original share of spare pages.
    """
    params = dev.params[0]
    gone = np.int64(dev.plane[plane].gone_pages)
    held = max(params.valid_limit - gone, 0)
    if not params.shrinks:
        return held
    pages = np.int64(params.blocks) * params.pages_per_block
    return min(held, -(-params.logical_pages * (pages - gone) // (pages * params.planes)))


@inlined
def _supported(dev):
    """Return how many logical pages the device can have so that all its planes can still be collected."""
    params = dev.params[0]
    if params.allocation != STATIC:
        most, held = np.int64(-1), np.int64(0)
        for plane in range(params.planes):
            most += max(params.valid_limit - dev.plane[plane].gone_pages, 0)
            held += _held(dev, plane)
        return min(most, held)
    pages = np.int64(dev.life[0].capacity)
    for plane in range(params.planes):
        # Of the logical pages below `pages`, every `planes`-th one is in this plane.
        pages = min(pages, _held(dev, plane) * params.planes + plane)
    return pages


@kernel
def settle(dev):
    """After blocks are lost, give up logical pages or end the life of the device, if needed."""
    settle_for(dev, np.int64(_supported(dev)))


@kernel
def empty_block(dev, block):
    """Add the written sub-blocks of a worn block to the round of its plane, or start a round with them.

    If there is no room for the moves, the block returns to the index instead, and the plane is given up.
    """
    number = np.int64(dev.block[block].plane)
    plane = dev.plane[number]
    if plane.round_leader < 0:
        plane.round_leader = number
        plane.round_count = 0
        plane.round_planes = 1
        plane.round_pair = plane.round_page = 0
    sub_blocks = np.int64(dev.params[0].sub_blocks)
    mask = NONE
    for s in range(sub_blocks):
        if dev.sub_block[block * sub_blocks + s].written > 0:
            mask |= ONE << np.uint64(s)
    set_pair(dev, number, plane.round_count, block, mask)
    plane.round_count += 1
    if pages_to_move(dev, number) <= _room_to_move(dev, number):
        plane.collecting = 1
        return
    plane.round_count -= 1
    if plane.round_count == 0:
        plane.round_leader = -1
    enter_index(dev, block)
    block_event(dev, RECYCLED, number, block)
    give_up(dev, number)
