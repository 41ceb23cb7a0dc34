"""The region of small writes: passes over its blocks, and their collection."""

import numpy as np

from ssdgym.engine.blocks.index import join_pool, leave_pool
from ssdgym.engine.core.bits import full_mask, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OK, OUT_OF_ORDER
from ssdgym.engine.decisions import ASK_COLLECTED, PENDING, REGION, request_action
from ssdgym.engine.flash import erase_cells
from ssdgym.engine.subpage.buffer import group_of
from ssdgym.engine.subpage.pages import (
    accept,
    age_h,
    check_slot,
    count_page,
    die_of_page,
    forget,
    holds,
    in_region,
    mapped_of,
    mapped_version,
    page_of,
    put,
    wipe_pages,
)
from ssdgym.engine.subpage.queues import queue_eviction
from ssdgym.engine.subpage.state import SUBFTL
from ssdgym.engine.subpage.writes import accept_list, begin_eviction, forget_list, put_list, write_now
from ssdgym.engine.time.events import note_touched

#: What a region can do for a write: program it, advance a subpage first, or collect first.
READY, ADVANCE, COLLECT = range(3)


# The region of a plane: blocks whose pages are programmed several times between two erases, or a log.
#
# In `subftl` a page takes one subpage after the other, each while no other of it is valid (erase-free
# subpage programming; Kim et al., DAC 2017, section 3). In `sector_log` its pages are programmed as a
# whole.


@inlined
def _before(first, second, third, other_first, other_second, other_third):
    """Return whether three numbers come before three others, the first one counting most."""
    if first != other_first:
        return first < other_first
    if second != other_second:
        return second < other_second
    return third < other_third


@inlined
def _precedes(dev, block, other, by_passes):
    """Return whether a block is a better target than another one."""
    a, b = dev.region_block[block], dev.region_block[other]
    if by_passes:
        return _before(a.passes, a.valid, block, b.passes, b.valid, other)
    return _before(a.valid, a.passes, block, b.valid, b.passes, other)


@kernel
def _best_block(dev, plane, by_passes, least_passes, most_passes):
    """Return the best target of so many passes, but for the reserve; -1 for none."""
    blocks = np.int64(dev.subpage[0].region_blocks)
    best = np.int64(-1)
    for k in range(plane * blocks, (plane + 1) * blocks):
        block = np.int64(dev.member[k])
        passes = dev.region_block[block].passes
        if block == dev.region[plane].reserve or passes < least_passes or passes > most_passes:
            continue
        if best < 0 or _precedes(dev, block, best, by_passes):
            best = block
    return best


@inlined
def _printed_target(dev, plane):
    """Return the target of the rule that the paper prints: passes first, then so many collections."""
    passes = np.int64(dev.subpage[0].passes)
    region = dev.region[plane]
    if region.to_collect == 0:
        block = _best_block(dev, plane, True, np.int64(0), passes - 1)
        if block >= 0:
            return block
        region.to_collect = dev.subpage[0].collect_blocks
    region.to_collect -= 1
    return _best_block(dev, plane, False, passes, passes)


@kernel
def _choose_target(dev, plane):
    """Open the next block of a region for a pass over it, or begin to collect it."""
    subpage = dev.subpage[0]
    region = dev.region[plane]
    if subpage.collect_blocks > 0:
        block = _printed_target(dev, plane)
    else:
        block = _best_block(dev, plane, False, np.int64(0), np.int64(subpage.passes))
    held = dev.region_block[block]
    if held.passes < subpage.passes:
        held.passes += 1
        held.next_page = 0
        region.open = block
        return
    region.victim = block
    region.slot = block * subpage.block_pages * subpage.slots
    region.kept = 0
    region.evicts = -1
    if subpage.kind == SUBFTL:
        region.open = region.reserve
        region.reserve = -1
        dev.region_block[region.open].passes = 1
        dev.region_block[region.open].next_page = 0
    dev.tally[0].region_collections += 1
    dev.counters[0].gc_invocations += 1


@inlined
def open_page(dev, plane):
    """Return the page of the open block of a region that is programmed next."""
    block = np.int64(dev.region[plane].open)
    return block * dev.subpage[0].block_pages + dev.region_block[block].next_page


@kernel
def prepare(dev, plane):
    """Bring a region to where it can take a write; return READY, ADVANCE or COLLECT."""
    subpage = dev.subpage[0]
    region = dev.region[plane]
    while region.victim < 0:
        if region.open < 0:
            _choose_target(dev, plane)
            continue
        held = dev.region_block[region.open]
        if held.next_page == subpage.block_pages:
            region.open = -1
        elif subpage.kind != SUBFTL or dev.page_valid[open_page(dev, plane)] == 0:
            return np.int64(READY)
        elif subpage.never_advance:
            held.next_page += 1
        else:
            return np.int64(ADVANCE)
    return np.int64(COLLECT)


@inlined
def _program_subpage(dev, page, lpn):
    """Program the next subpage of a page without a valid one; return OK, or OUT_OF_ORDER where that fails."""
    slots = np.int64(dev.subpage[0].slots)
    use = np.int64(dev.page_use[page])
    if use >= slots or dev.page_valid[page] != 0:
        return np.int64(OUT_OF_ORDER)
    put(dev, page * slots + use, lpn)
    dev.page_use[page] = use + 1
    if dev.params[0].timed:
        note_touched(dev, die_of_page(dev, page), page + 1)
    dev.page_valid[page] = 1
    dev.stored_h[page] = dev.buffer[0].calendar_h
    dev.tally[0].subpage_programs += 1
    return np.int64(OK)


@inlined
def _pass_page(dev, plane, valid):
    """Go on behind the page of a region that has been programmed with so many valid slots."""
    held = dev.region_block[dev.region[plane].open]
    held.next_page += 1
    held.valid += valid


@kernel
def advance(dev, plane):
    """Move the valid subpage of the next page to the next place of that page; return OK or OUT_OF_ORDER.

    Its data is in the controller while the page is programmed: the two steps are one command.
    """
    page = open_page(dev, plane)
    slot = page * dev.subpage[0].slots + dev.page_use[page] - 1
    lpn = np.int64(dev.physical[slot].lpn)
    dev.counters[0].flash_reads += 1
    check_slot(dev, slot)
    dev.page_valid[page] = 0
    status = _program_subpage(dev, page, lpn)
    _pass_page(dev, plane, 0)
    dev.tally[0].advances += 1
    dev.tally[0].small_flash_bytes += dev.subpage[0].subpage_bytes
    return status


@kernel
def move_subpage(dev, plane, slot):
    """Move a valid subpage of the victim to the open block; return OK or OUT_OF_ORDER."""
    lpn = np.int64(dev.physical[slot].lpn)
    dev.counters[0].flash_reads += 1
    check_slot(dev, slot)
    forget(dev, lpn)
    status = _program_subpage(dev, open_page(dev, plane), lpn)
    _pass_page(dev, plane, 1)
    dev.region[plane].kept += 1
    dev.tally[0].region_moves += 1
    dev.tally[0].small_flash_bytes += dev.subpage[0].subpage_bytes
    return status


@inlined
def _note_updated(dev, lpn):
    """Note whether a sector that is written to a region is in one already."""
    slot = np.int64(dev.logical[lpn].ppn)
    dev.updated[lpn] = slot >= 0 and in_region(dev, page_of(dev, slot))


@kernel
def program_subpage(dev, plane, number, lpn, version):
    """Program a sector that a write carries, and that is still new; return OK or OUT_OF_ORDER.

    Its region is ready for it.
    """
    dev.carried[number * np.int64(dev.subpage[0].slots)].replaces = mapped_version(dev, lpn)
    accept(dev, lpn, version)
    _note_updated(dev, lpn)
    forget(dev, lpn)
    status = _program_subpage(dev, open_page(dev, plane), lpn)
    _pass_page(dev, plane, 1)
    if dev.transaction[number].partial:
        dev.tally[0].small_flash_bytes += dev.subpage[0].subpage_bytes
    dev.control[0].host_plane = plane
    return status


@kernel
def program_log_page(dev, plane, number):
    """Program the sectors that a write carries, some of them still new, to a page of the log of a plane."""
    subpage = dev.subpage[0]
    count = accept_list(dev, number)
    base = number * np.int64(subpage.slots)
    for k in range(count):
        _note_updated(dev, np.int64(dev.carried[base + k].lpn))
    forget_list(dev, number, count)
    page = open_page(dev, plane)
    put_list(dev, number, page, count)
    count_page(dev, page, count)
    _pass_page(dev, plane, count)
    if dev.transaction[number].partial:
        dev.tally[0].small_flash_bytes += subpage.slots * subpage.subpage_bytes
    dev.control[0].host_plane = plane


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
    """Decide whether a subpage of a victim stays in the region; PENDING where that is asked for outside."""
    region = dev.region[plane]
    if dev.subpage[0].kind != SUBFTL or region.kept >= most_kept(dev) or region.evicts == region.slot:
        return np.int64(0)
    if dev.decider.external & ASK_COLLECTED == 0:
        return np.int64(dev.updated[lpn])
    dev.buffer[0].collected_plane = plane
    return request_action(dev, REGION, plane, lpn)


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
        if dev.control[0].free_transactions < dev.subpage[0].slots + 1:  # for it and its reads
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
    if dev.params[0].timed:
        note_touched(dev, remainder(plane, dev.params[0].dies), -1 - block)
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

    Returns MOVED, ERASED, EVICTED or WAITS; PENDING where a decision is due outside; an error.
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
    if stays == PENDING:
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
