"""The region of a plane: blocks whose pages are programmed several times between two erases, or a log.

In `subftl` a page takes one subpage after the other, each while no other of it is valid (erase-free subpage
programming; Kim et al., DAC 2017, section 3). In `sector_log` its pages are programmed as a whole.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OK, OUT_OF_ORDER
from ssdgym.engine.subpage.pages import accept, check_slot, count_page, forget, in_region, page_of, put
from ssdgym.engine.subpage.state import SUBFTL
from ssdgym.engine.subpage.writes import accept_list, forget_list, put_list

#: What a region can do for a write: program it, advance a subpage first, or collect first.
READY, ADVANCE, COLLECT = range(3)


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
    """Program a sector that a write carries, and that is still new, to a region that is ready for it.

    Returns:
        OK or OUT_OF_ORDER.
    """
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
