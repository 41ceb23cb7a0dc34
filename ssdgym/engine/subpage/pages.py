"""Flash pages, their slots, the sectors in slots, and programs in the main area."""

import numpy as np

from ssdgym.engine.blocks import manager
from ssdgym.engine.core.bits import lowest_of, quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.flash import program_page
from ssdgym.engine.subpage.state import SUBFTL
from ssdgym.engine.time.events import wake


@inlined
def full_mask(dev):
    """Return the mask of all sectors of a group."""
    return (np.int64(1) << np.int64(dev.subpage[0].slots)) - 1


@inlined
def count_sectors(mask):
    """Count the sectors of a mask."""
    count = np.int64(0)
    while mask != 0:
        mask &= mask - 1
        count += 1
    return count


@inlined
def page_of(dev, slot):
    """Return the flash page of a slot."""
    return quotient(slot, dev.subpage[0].slots)


@inlined
def block_of_page(dev, page):
    """Return the block of a flash page."""
    return quotient(page, dev.subpage[0].block_pages)


@inlined
def plane_of_page(dev, page):
    """Return the plane of a flash page."""
    return quotient(page, np.int64(dev.params[0].blocks) * dev.subpage[0].block_pages)


@inlined
def die_of_page(dev, page):
    """Return the die of a flash page."""
    return remainder(plane_of_page(dev, page), dev.params[0].dies)


@inlined
def in_region(dev, page):
    """Return whether a flash page is in a region."""
    return dev.region_block[block_of_page(dev, page)].in_region != 0


@inlined
def unit_of(dev, slot):
    """Return the unit of a slot of the main area: the slot for `fgm`, otherwise its flash page."""
    return quotient(slot, dev.subpage[0].unit_slots)


@inlined
def is_written(dev, slot):
    """Return whether a slot has been written since the erase of its page."""
    page = page_of(dev, slot)
    return slot - page * dev.subpage[0].slots < dev.page_use[page]


@inlined
def age_h(dev, page):
    """Return the hours since the last program of a flash page."""
    return dev.buffer[0].calendar_h - np.int64(dev.stored_h[page])


@inlined
def check_slot(dev, slot):
    """Check a valid slot that is read; count it if its version is not current or its age over the limit."""
    held = dev.physical[slot]
    if held.version != dev.logical[held.lpn].version:
        dev.counters[0].lost_pages += 1
    subpage, page = dev.subpage[0], page_of(dev, slot)
    limit_h = subpage.full_retention_h
    if subpage.kind == SUBFTL and in_region(dev, page):
        limit_h = subpage.retention_h[slot - page * subpage.slots]
    if age_h(dev, page) > limit_h:
        dev.tally[0].uncorrectable_reads += 1


@inlined
def read_page(dev, group, mask):
    """Read, in one command, mapped sectors of a group that are on one flash page."""
    dev.counters[0].flash_reads += 1
    first = group * np.int64(dev.subpage[0].slots)
    while mask != 0:
        s = lowest_of(mask)
        mask &= mask - 1
        lpn = first + s
        slot = np.int64(dev.logical[lpn].ppn)
        if dev.physical[slot].lpn != lpn:
            dev.counters[0].lost_pages += 1
        else:
            check_slot(dev, slot)


@inlined
def together(dev, group, mask):
    """Return the mask of the mapped sectors of `mask` on the flash page of its lowest sector."""
    first = group * np.int64(dev.subpage[0].slots)
    page = page_of(dev, np.int64(dev.logical[first + lowest_of(mask)].ppn))
    found = np.int64(0)
    for s in range(dev.subpage[0].slots):
        slot = np.int64(dev.logical[first + s].ppn)
        if mask >> s & 1 and slot >= 0 and page_of(dev, slot) == page:
            found |= np.int64(1) << np.int64(s)
    return found


@inlined
def mapped_of(dev, group):
    """Return the mask of the mapped sectors of a group."""
    first = group * np.int64(dev.subpage[0].slots)
    mask = np.int64(0)
    for s in range(dev.subpage[0].slots):
        if dev.logical[first + s].ppn >= 0:
            mask |= np.int64(1) << np.int64(s)
    return mask


@inlined
def wake_collection(dev, plane):
    """Make the die of a plane ready if the victim of its region can be erased now."""
    params, region = dev.params[0], dev.region[plane]
    victim = np.int64(region.victim)
    if victim < 0 or not params.timed:
        return
    end = (victim + 1) * dev.subpage[0].block_pages * dev.subpage[0].slots
    if region.slot == end and region.pending == 0 and dev.region_block[victim].valid == 0:
        wake(dev, remainder(plane, params.dies))


@inlined
def forget(dev, lpn):
    """Invalidate the slot of a sector that is rewritten or trimmed, and unmap the sector, if it is mapped."""
    slot = np.int64(dev.logical[lpn].ppn)
    if slot < 0:
        return
    page = page_of(dev, slot)
    dev.page_valid[page] -= 1
    block = block_of_page(dev, page)
    held = dev.region_block[block]
    if held.in_region:
        held.valid -= 1
        if held.valid == 0:
            wake_collection(dev, plane_of_page(dev, page))
    elif dev.subpage[0].unit_slots == 1 or dev.page_valid[page] == 0:
        manager.invalidate(dev, dev.control[0].clock, lpn, unit_of(dev, slot))
    dev.logical[lpn].ppn = -1


@inlined
def accept(dev, lpn, version):
    """Make `version` of a sector the current version if it is newer; return whether it is newer."""
    behind = version - dev.logical[lpn].version
    if behind <= 0:
        return False
    dev.in_flight[lpn] -= behind
    dev.logical[lpn].version = version
    return True


@inlined
def put(dev, slot, lpn):
    """Program a slot with the current version of a sector, and map the sector to the slot."""
    program_page(dev, slot, lpn, np.int64(dev.logical[lpn].version))
    dev.logical[lpn].ppn = slot


@inlined
def waste(dev, slot):
    """Mark a slot as programmed without data."""
    program_page(dev, slot, np.int64(-1), np.int64(0))


@inlined
def count_page(dev, page, live):
    """Count a page that has been programmed as a whole, with `live` valid slots."""
    dev.page_valid[page] = live
    dev.page_use[page] = dev.subpage[0].slots
    dev.stored_h[page] = dev.buffer[0].calendar_h
    dev.tally[0].full_programs += 1
    dev.tally[0].wasted_slots += dev.subpage[0].slots - live


@kernel
def take_page(dev, plane, live, relocated):
    """Take the next page of a plane's main area for `live` valid slots; return the page, -1 for none."""
    subpage = dev.subpage[0]
    units = quotient(subpage.slots, subpage.unit_slots)
    live_units = live if subpage.unit_slots == 1 else np.int64(live > 0)
    first = np.int64(-1)
    for k in range(units):
        block = np.int64(manager.writable_sub_block(dev, plane, 0))
        if block < 0:
            return np.int64(-1)
        unit = block * dev.params[0].pages_per_sub_block + dev.sub_block[block].written
        if k == 0:
            first = unit
        if k < live_units and not relocated:
            manager.count_valid(dev, plane)
        manager.note_program(dev, block, relocated)
        manager.count_in_stream(dev.stream[plane * MAX_STREAMS], 1, relocated)
        manager.count_programs(dev, dev.control[0].clock, plane, 0, block, 1)
        if k >= live_units:
            manager.count_invalid(dev, unit)
    page = first if units == 1 else quotient(first, subpage.slots)
    count_page(dev, page, live)
    return page


@inlined
def wipe_pages(dev, block):
    """Mark all slots of a block, which is about to be erased, as not programmed."""
    pages = np.int64(dev.subpage[0].block_pages)
    for page in range(block * pages, (block + 1) * pages):
        dev.page_use[page] = 0
