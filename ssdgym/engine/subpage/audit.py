"""The audit: every sector has its newest data, pages and regions keep their rules, and all counts add up."""

import numpy as np

from ssdgym.engine.blocks.index import check_lists
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import INDEXED, OPEN, POOLED
from ssdgym.engine.core.status import (
    BLOCK_COUNTS,
    BLOCK_STATUS,
    BUFFER_LIST,
    FREE_PAGES,
    NO_FAULT,
    PAGE_COUNTS,
    POOL_PAGES,
    REGION_BLOCKS,
    REGION_PAGES,
    SPLIT_GROUPS,
    VALID_PAGES,
)
from ssdgym.engine.rounds import is_victim
from ssdgym.engine.subpage.pages import holds, in_region, page_of
from ssdgym.engine.subpage.state import FGM, SUBFTL


@inlined
def is_written(dev, slot):
    """Return whether a slot has been written since the erase of its page."""
    page = page_of(dev, slot)
    return slot - page * dev.subpage[0].slots < dev.page_use[page]


@kernel
def _valid_slots(dev, page):
    slots = np.int64(dev.subpage[0].slots)
    count = np.int64(0)
    for slot in range(page * slots, (page + 1) * slots):
        count += holds(dev, slot)
    return count


@kernel
def _check_main_block(dev, block):
    """Check the counts of a block of the main area and where it is listed."""
    params = dev.params[0]
    subpage = dev.subpage[0]
    record = dev.block[block]
    fine = subpage.unit_slots == 1
    written = np.int64(dev.sub_block[block].written)
    valid = np.int64(0)
    for page in range(block * subpage.block_pages, (block + 1) * subpage.block_pages):
        found = _valid_slots(dev, page)
        if found != dev.page_valid[page]:
            return PAGE_COUNTS
        unit = (page - block * subpage.block_pages) * (subpage.slots if fine else 1)
        if (dev.page_use[page] == subpage.slots) != (unit < written):
            return PAGE_COUNTS
        valid += found if fine else found > 0
    is_open = (record.status & OPEN) != 0
    if written - valid != dev.sub_block[block].invalid or record.invalid != written - valid:
        return BLOCK_COUNTS
    if record.written != (0 if is_open else written):
        return BLOCK_COUNTS
    victim = is_victim(dev.plane, dev.round_pairs, record.plane, block)
    if ((record.status & INDEXED) != 0) != (not is_open and not victim and written > 0):
        return BLOCK_STATUS
    pooled = not is_open and not victim and written < params.pages_per_block
    return NO_FAULT if ((record.status & POOLED) != 0) == pooled else BLOCK_STATUS


@kernel
def _check_region_block(dev, block):
    """Check that pages of a region hold one valid subpage at most, the last, and the counts of its block."""
    subpage = dev.subpage[0]
    slots = np.int64(subpage.slots)
    held = dev.region_block[block]
    if dev.block[block].status != 0 or dev.sub_block[block].written != 0:
        return REGION_BLOCKS
    valid = np.int64(0)
    for page in range(block * subpage.block_pages, (block + 1) * subpage.block_pages):
        found = _valid_slots(dev, page)
        if found != dev.page_valid[page]:
            return PAGE_COUNTS
        valid += found
        if subpage.kind != SUBFTL:
            continue
        use = np.int64(dev.page_use[page])
        if found > 1 or use > held.passes or (found == 1 and not holds(dev, page * slots + use - 1)):
            return REGION_PAGES
    return NO_FAULT if valid == held.valid else REGION_BLOCKS


@kernel
def _check_region(dev, plane):
    """Check that the blocks of a region are its members, and what it says of them."""
    params = dev.params[0]
    subpage = dev.subpage[0]
    region = dev.region[plane]
    count = np.int64(0)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        count += dev.region_block[block].in_region
    if count != subpage.region_blocks:
        return REGION_BLOCKS
    for k in range(plane * subpage.region_blocks, (plane + 1) * subpage.region_blocks):
        if not dev.region_block[dev.member[k]].in_region:
            return REGION_BLOCKS
    if region.reserve >= 0 and dev.region_block[region.reserve].passes != 0:
        return REGION_BLOCKS
    if subpage.kind == SUBFTL and (region.reserve < 0) != (region.victim >= 0):
        return REGION_BLOCKS
    return NO_FAULT


@kernel
def _check_counts(dev, number):
    """Check what a plane says of the pages of its main area."""
    params = dev.params[0]
    plane = dev.plane[number]
    free = np.int64(0)
    pool = np.int64(0)
    valid = np.int64(0)
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        if dev.region_block[block].in_region:
            continue
        written = np.int64(dev.sub_block[block].written)
        free += params.pages_per_block - written
        valid += written - dev.sub_block[block].invalid
        if dev.block[block].status & POOLED:
            pool += params.pages_per_block - written
    if free != plane.free_pages:
        return FREE_PAGES
    if pool != plane.pool_pages:
        return POOL_PAGES
    return NO_FAULT if valid == plane.valid else VALID_PAGES


@kernel
def _check_groups(dev):
    """Check that, where pages are mapped, the sectors of a group in the main area are on one page."""
    subpage = dev.subpage[0]
    slots = np.int64(subpage.slots)
    for group in range(dev.params[0].logical_pages // slots):
        page = np.int64(-1)
        for s in range(slots):
            slot = np.int64(dev.logical[group * slots + s].ppn)
            if slot < 0 or in_region(dev, page_of(dev, slot)):
                continue
            if slot % slots != s or (page >= 0 and page_of(dev, slot) != page):
                return SPLIT_GROUPS
            page = page_of(dev, slot)
    return NO_FAULT


@kernel
def _check_buffer(dev):
    """Check that the list of the buffer holds what the groups say, and that all of it has been promised."""
    subpage = dev.subpage[0]
    slots = np.int64(subpage.slots)
    buffer = dev.buffer[0]
    count = np.int64(0)
    before = np.int64(-1)
    number = np.int64(buffer.head)
    while number >= 0 and count <= subpage.buffer_groups:
        entry = dev.entry[number]
        if dev.entry_of[entry.group] != number or entry.previous != before or entry.dirty == 0:
            return BUFFER_LIST
        for s in range(slots):
            if entry.dirty >> s & 1 and dev.in_flight[entry.group * slots + s] < 1:
                return BUFFER_LIST
        before = number
        number = np.int64(entry.next)
        count += 1
    return NO_FAULT if count == buffer.count and before == buffer.tail else BUFFER_LIST


@inlined
def first_fault_of(dev):
    """Return the number of the first invariant that the device breaks, NO_FAULT for none. Slow."""
    params = dev.params[0]
    for plane in range(params.planes):
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            if dev.region_block[block].in_region:
                fault = np.int64(_check_region_block(dev, block))
            else:
                fault = np.int64(_check_main_block(dev, block))
            if fault != NO_FAULT:
                return fault
        fault = np.int64(_check_counts(dev, plane))
        if fault == NO_FAULT:
            fault = np.int64(_check_region(dev, plane))
        if fault == NO_FAULT:
            fault = np.int64(check_lists(dev, plane))
        if fault != NO_FAULT:
            return fault
    fault = np.int64(_check_buffer(dev))
    if fault == NO_FAULT and dev.subpage[0].kind != FGM:
        fault = np.int64(_check_groups(dev))
    return fault
