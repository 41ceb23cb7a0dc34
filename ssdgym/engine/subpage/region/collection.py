"""The collection of a region block: what stays in the region, what goes to the main area, and the erase."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.index import join_pool, leave_pool
from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OK
from ssdgym.engine.decisions import ASK_COLLECTED, REGION, WAIT, ask_outside
from ssdgym.engine.flash.cells import erase_cells
from ssdgym.engine.subpage.buffer import group_of
from ssdgym.engine.subpage.pages import age_h, holds, page_of, wipe_pages
from ssdgym.engine.subpage.queues import lacks_room, queue_eviction
from ssdgym.engine.subpage.region.passes import move_subpage
from ssdgym.engine.subpage.state import SUBFTL
from ssdgym.engine.subpage.writes import begin_eviction, mapped_of, write_now

#: What a step of a collection has done: a move, the erase, an eviction, or nothing, since it has to wait.
MOVED, ERASED, EVICTED, WAITS = range(4)
#: Untimed: the transaction in which evictions are made.
_EVICTION = 1


@inlined
def most_kept(dev):
    """Return how many subpages of a victim stay in the region at most: some always go, so that it ends."""
    return 3 * np.int64(dev.subpage[0].block_pages) // 4


@inlined
def _next_valid(dev, plane):
    """Bring the scan of a victim to its next valid slot, and return that; -1 where none is left."""
    region = dev.region[plane]
    slots = np.int64(dev.subpage[0].slots)
    end = (np.int64(region.victim) + 1) * dev.subpage[0].block_pages * slots
    while region.slot < end:
        page = page_of(dev, np.int64(region.slot))
        if dev.page_valid[page] == 0:
            region.slot = (page + 1) * slots
        elif holds(dev, np.int64(region.slot)):
            return np.int64(region.slot)
        else:
            region.slot += 1
    return np.int64(-1)


@inlined
def _starve(dev, plane):
    """Note that a collection waits for room for its next eviction, which is decided."""
    region = dev.region[plane]
    region.evicts = region.slot
    if not region.starved:
        region.starved = 1
        dev.buffer[0].starved += 1
    return np.int64(WAITS)


@inlined
def _stays(dev, plane, lpn):
    """Decide whether a subpage of a victim stays in the region; WAIT where that is asked for outside."""
    region = dev.region[plane]
    if dev.subpage[0].kind != SUBFTL or region.kept >= most_kept(dev) or region.evicts == region.slot:
        return np.int64(0)
    if dev.decider.external & ASK_COLLECTED == 0:
        return np.int64(dev.updated[lpn])
    dev.buffer[0].collected_plane = plane
    return ask_outside(dev, REGION, plane, lpn)


@inlined
def evict_now(dev, group, plane):
    """Move a group to the main area in no time; return OK or an error."""
    begin_eviction(dev, np.int64(_EVICTION), group, plane)
    return write_now(dev, np.int64(_EVICTION))


@inlined
def _evict(dev, plane, group):
    """Move a group to the main area, or begin to; return EVICTED, WAITS or an error."""
    if not dev.params[0].timed:
        status = evict_now(dev, group, plane)
        return np.int64(EVICTED) if status == OK else status
    if dev.evicting[group] == 0:
        if lacks_room(dev):
            return _starve(dev, plane)
        queue_eviction(dev, plane, group, mapped_of(dev, group))
    return np.int64(EVICTED)


@inlined
def _worn_beyond(dev, plane, block):
    """Return the least worn erased block of the main area if a region block is worn much more, or -1."""
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


@inlined
def _exchange(dev, plane, block, other):
    """Let an erased region block and an erased block of the main area take each other's place."""
    blocks = np.int64(dev.subpage[0].region_blocks)
    for k in range(plane * blocks, (plane + 1) * blocks):
        if dev.member[k] == block:
            dev.member[k] = other
    dev.region_block[block].in_region = 0
    dev.region_block[other].in_region = 1
    leave_pool(dev, other)
    join_pool(dev, block)
    dev.tally[0].region_conversions += 1


@kernel
def _erase_victim(dev, plane):
    subpage = dev.subpage[0]
    region = dev.region[plane]
    block = np.int64(region.victim)
    wipe_pages(dev, block)
    erase_cells(dev, block, full_mask(dev.params[0].sub_blocks))
    dev.counters[0].erases += 1
    dev.region_block[block].passes = 0
    dev.region_block[block].next_page = 0
    region.victim = -1
    if subpage.kind != SUBFTL:
        return
    if subpage.wear_gap > 0:
        other = _worn_beyond(dev, plane, block)
        if other >= 0:
            _exchange(dev, plane, block, other)
            block = other
    region.reserve = block


@kernel
def collect_step(dev, plane):
    """Carry out the next step of the collection of a region.

    Returns:
        MOVED, ERASED, EVICTED or WAITS; WAIT where a decision is due outside; an error.
    """
    region = dev.region[plane]
    slot = _next_valid(dev, plane)
    if slot < 0:
        if region.pending > 0 or dev.region_block[region.victim].valid > 0:
            return np.int64(WAITS)
        _erase_victim(dev, plane)
        return np.int64(ERASED)
    lpn = np.int64(dev.physical[slot].lpn)
    stays = _stays(dev, plane, lpn)
    if stays == WAIT:
        return stays
    if stays:
        status = move_subpage(dev, plane, slot)
        region.slot += 1
        return np.int64(MOVED) if status == OK else status
    done = _evict(dev, plane, group_of(dev, lpn))
    if done == EVICTED:
        region.slot += 1
    return done


@kernel
def sweep_step(dev):
    """Evict the next subpage of a retention sweep that is too old; the sweep may end. Untimed."""
    buffer = dev.buffer[0]
    subpage = dev.subpage[0]
    slots = np.int64(subpage.slots)
    per_block = slots * subpage.block_pages
    blocks = np.int64(dev.params[0].blocks)
    while buffer.sweep_plane < dev.params[0].planes:
        first = np.int64(buffer.sweep_plane) * blocks * per_block
        while buffer.sweep_slot < blocks * per_block:
            slot = first + np.int64(buffer.sweep_slot)
            page = page_of(dev, slot)
            if not dev.region_block[slot // per_block].in_region:
                buffer.sweep_slot += per_block
            elif dev.page_valid[page] == 0 or age_h(dev, page) <= subpage.evict_after_h:
                buffer.sweep_slot += slots - buffer.sweep_slot % slots
            else:
                buffer.sweep_slot += 1
                if holds(dev, slot):
                    dev.tally[0].retention_evictions += 1
                    group = group_of(dev, np.int64(dev.physical[slot].lpn))
                    return evict_now(dev, group, np.int64(buffer.sweep_plane))
        buffer.sweep_plane += 1
        buffer.sweep_slot = 0
    buffer.sweep_plane = -1
    return np.int64(OK)
