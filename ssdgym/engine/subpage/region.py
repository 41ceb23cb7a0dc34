"""The region of small writes: how subpages are programmed there, and how its blocks are collected."""

import numpy as np

from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OK, OUT_OF_ORDER
from ssdgym.engine.decisions import ASK_COLLECTED, PENDING, REGION, request_action
from ssdgym.engine.flash import erase_cells, is_valid
from ssdgym.engine.subpage import pages, writes
from ssdgym.engine.subpage.buffer import group_of
from ssdgym.engine.subpage.lifetime import member_after
from ssdgym.engine.subpage.passes import open_page, pass_page
from ssdgym.engine.subpage.queues import new_transaction, queue_after_reads
from ssdgym.engine.subpage.state import SUBFTL


@inlined
def _program_subpage(dev, page, lpn):
    """Program a page's next subpage; return OUT_OF_ORDER if the page is full or has a valid subpage."""
    slots = np.int64(dev.subpage[0].slots)
    use = np.int64(dev.page_use[page])
    if use >= slots or dev.page_valid[page] != 0:
        return np.int64(OUT_OF_ORDER)
    pages.put(dev, page * slots + use, lpn)
    dev.page_use[page] += 1
    dev.page_valid[page] = 1
    dev.stored_h[page] = dev.buffer[0].calendar_h
    dev.tally[0].subpage_programs += 1
    return np.int64(OK)


@kernel
def advance(dev, plane):
    """Advance the valid subpage of the next page to the page's next slot; return OK or OUT_OF_ORDER.

    Read and program are one command; the data is in the controller in between.
    """
    page = open_page(dev, plane)
    slot = page * dev.subpage[0].slots + dev.page_use[page] - 1
    lpn = np.int64(dev.physical[slot].lpn)
    dev.counters[0].flash_reads += 1
    pages.check_slot(dev, slot)
    dev.page_valid[page] = 0
    status = _program_subpage(dev, page, lpn)
    pass_page(dev, plane, 0)
    dev.tally[0].advances += 1
    dev.tally[0].small_flash_bytes += dev.subpage[0].subpage_bytes
    return status


@inlined
def _note_updated(dev, lpn):
    """Store in `updated` whether the old copy of a sector that is written to a region is in a region."""
    slot = np.int64(dev.logical[lpn].ppn)
    dev.updated[lpn] = slot >= 0 and pages.in_region(dev, pages.page_of(dev, slot))


@kernel
def program_subpage(dev, plane, number, lpn, version):
    """Program a sector that write `number` carries to a region that is READY; return OK or OUT_OF_ORDER."""
    pages.accept(dev, lpn, version)
    _note_updated(dev, lpn)
    pages.forget(dev, lpn)
    status = _program_subpage(dev, open_page(dev, plane), lpn)
    pass_page(dev, plane, 1)
    if dev.transaction[number].partial:
        dev.tally[0].small_flash_bytes += dev.subpage[0].subpage_bytes
    dev.control[0].host_plane = plane
    return status


@kernel
def program_log_page(dev, plane, number):
    """Program the sectors of a write that no newer version has overtaken to a page of a plane's log."""
    subpage = dev.subpage[0]
    count = writes.accept_list(dev, number)
    base = number * np.int64(subpage.slots)
    for k in range(count):
        _note_updated(dev, np.int64(dev.carried[base + k].lpn))
    writes.forget_list(dev, number, count)
    page = open_page(dev, plane)
    writes.put_list(dev, number, page, count)
    pages.count_page(dev, page, count)
    pass_page(dev, plane, count)
    if dev.transaction[number].partial:
        dev.tally[0].small_flash_bytes += subpage.slots * subpage.subpage_bytes
    dev.control[0].host_plane = plane


#: What a step of a collection has done: a move within the region; the erase; an eviction; nothing, since the
#: collection waits for evictions; nothing, since the main area that an eviction goes to is collected first.
MOVED, ERASED, EVICTED, WAITS, SHORT = range(5)
#: Untimed: the transaction that carries out evictions.
_EVICTION = 1


@inlined
def most_kept(dev):
    """Return how many subpages of a victim may stay in the region."""
    return 3 * np.int64(dev.subpage[0].block_pages) // 4


@inlined
def _next_valid(dev, plane):
    """Advance the scan of a victim to the next valid slot; return the slot, -1 if none is left."""
    region = dev.region[plane]
    slots = np.int64(dev.subpage[0].slots)
    end = (np.int64(region.victim) + 1) * dev.subpage[0].block_pages * slots
    while region.slot < end:
        page = pages.page_of(dev, np.int64(region.slot))
        if dev.page_valid[page] == 0:
            region.slot = (page + 1) * slots
        elif is_valid(dev, np.int64(region.slot)):
            return np.int64(region.slot)
        else:
            region.slot += 1
    return np.int64(-1)


@inlined
def _stays(dev, plane, lpn):
    """Return whether a subpage of a victim stays in the region; PENDING if a decision about it is due."""
    region = dev.region[plane]
    if dev.subpage[0].kind != SUBFTL or region.kept >= most_kept(dev) or region.evicts == region.slot:
        return np.int64(0)
    if dev.decider.external & ASK_COLLECTED == 0:
        return np.int64(dev.updated[lpn])
    dev.buffer[0].collected_plane = plane
    return request_action(dev, REGION, plane, lpn)


@inlined
def evict_now(dev, group, plane):
    """Move a group to the main area in zero time; return OK or an error."""
    writes.begin_eviction(dev, np.int64(_EVICTION), group, plane)
    return writes.write_now(dev, np.int64(_EVICTION))


@inlined
def _evict(dev, plane, group):
    """Evict a group to the main area (at once if untimed); return EVICTED, WAITS, SHORT or an error."""
    if not dev.params[0].timed:
        if dev.params[0].endures and writes.collects_first(dev):
            dev.region[plane].evicts = dev.region[plane].slot
            return np.int64(SHORT)
        status = evict_now(dev, group, plane)
        return np.int64(EVICTED) if status == OK else status
    if dev.evicting[group] == 0:
        if dev.control[0].free_transactions < dev.subpage[0].slots + 1:  # for the eviction and its reads
            region = dev.region[plane]
            region.evicts = region.slot
            if not region.starved:
                region.starved = 1
                dev.buffer[0].starved += 1
            return np.int64(WAITS)
        number = np.int64(new_transaction(dev))
        writes.begin_eviction(dev, number, group, plane)
        dev.evicting[group] = 1
        dev.region[plane].pending += 1
        queue_after_reads(dev, number, group, pages.mapped_of(dev, group))
    return np.int64(EVICTED)


@kernel
def collect_step(dev, plane):
    """Carry out the next step of the collection of a region.

    Returns MOVED, ERASED, EVICTED, WAITS, SHORT, PENDING if a decision is due, or an error.
    """
    region = dev.region[plane]
    slot = _next_valid(dev, plane)
    if slot < 0:
        if region.pending > 0 or dev.region_block[region.victim].valid > 0:
            return np.int64(WAITS)
        block = np.int64(region.victim)
        pages.wipe_pages(dev, block)
        erase_cells(dev, block, full_mask(dev.params[0].sub_blocks))
        dev.counters[0].erases += 1
        dev.region_block[block].passes = dev.region_block[block].next_page = 0
        region.victim = -1
        block = np.int64(member_after(dev, plane, block))
        if dev.subpage[0].kind == SUBFTL:
            region.reserve = block
        return np.int64(ERASED)
    lpn = np.int64(dev.physical[slot].lpn)
    stays = _stays(dev, plane, lpn)
    if stays == PENDING:
        return stays
    if stays:
        dev.counters[0].flash_reads += 1
        pages.check_slot(dev, slot)
        pages.forget(dev, lpn)
        status = _program_subpage(dev, open_page(dev, plane), lpn)
        pass_page(dev, plane, 1)
        dev.region[plane].kept += 1
        dev.tally[0].region_moves += 1
        dev.tally[0].small_flash_bytes += dev.subpage[0].subpage_bytes
        region.slot += 1
        return np.int64(MOVED) if status == OK else status
    done = _evict(dev, plane, group_of(dev, lpn))
    if done == EVICTED:
        region.slot += 1
    return done


@kernel
def sweep_step(dev):
    """Evict, in zero time, the next subpage too old for a retention sweep; if none is left, end the sweep."""
    buffer, subpage = dev.buffer[0], dev.subpage[0]
    slots = np.int64(subpage.slots)
    per_block = slots * subpage.block_pages
    blocks = np.int64(dev.params[0].blocks)
    while buffer.sweep_plane < dev.params[0].planes:
        first = np.int64(buffer.sweep_plane) * blocks * per_block
        while buffer.sweep_slot < blocks * per_block:
            slot = first + np.int64(buffer.sweep_slot)
            page = pages.page_of(dev, slot)
            if not dev.region_block[slot // per_block].in_region:
                buffer.sweep_slot += per_block
            elif dev.page_valid[page] == 0 or pages.age_h(dev, page) <= subpage.evict_after_h:
                buffer.sweep_slot += slots - buffer.sweep_slot % slots
            else:
                buffer.sweep_slot += 1
                if is_valid(dev, slot):
                    dev.tally[0].retention_evictions += 1
                    group = group_of(dev, np.int64(dev.physical[slot].lpn))
                    return evict_now(dev, group, np.int64(buffer.sweep_plane))
        buffer.sweep_plane += 1
        buffer.sweep_slot = 0
    buffer.sweep_plane = -1
    return np.int64(OK)
