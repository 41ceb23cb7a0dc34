"""GC rounds in the main area: valid slots are moved, then blocks are erased.

With `fgm`, the valid slots of several pages are gathered in one page. With other kinds, the valid slots of a
page move to the slots of equal numbers of one page.
"""

import numpy as np

from ssdgym.engine.blocks.manager import erase, vacate
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.engine.core.status import OK, OUT_OF_SPACE
from ssdgym.engine.erase.legality import gc_unfinished
from ssdgym.engine.flash import Phases, is_valid
from ssdgym.engine.subpage.lifetime import ensure_page, settle
from ssdgym.engine.subpage.pages import check_slot, put, take_page, waste, wipe_pages


@inlined
def _victim_of(dev, plane_number):
    plane = dev.plane[plane_number]
    return np.int64(dev.round_pairs[plane_number * MAX_PAIRS + plane.round_pair].block)


@kernel
def _find_page(dev, plane_number):
    """Return the next page with a valid slot that a plane's round has to move; -1 for none.

    In this family `round_page` counts slots. With `fgm`, a page whose slots go to two pages is read twice.
    """
    plane, subpage = dev.plane[plane_number], dev.subpage[0]
    slots = np.int64(subpage.slots)
    while plane.round_pair < plane.round_count:
        first = _victim_of(dev, plane_number) * subpage.block_pages
        while plane.round_page < subpage.block_pages * slots:
            page = first + plane.round_page // slots
            if dev.page_valid[page] == 0:
                plane.round_page += slots - plane.round_page % slots
            elif is_valid(dev, first * slots + plane.round_page):
                return page
            else:
                plane.round_page += 1
        plane.round_pair += 1
        plane.round_page = 0
    return np.int64(-1)


@inlined
def _vacate(dev, unit):
    """Count a unit of the main area whose data has been moved."""
    block = unit // np.int64(dev.params[0].pages_per_block)
    vacate(dev, block, block, 1)


@kernel
def _move_page(dev, plane_number, page):
    """Move the valid slots of a page; return 1, the number of pages read, or OUT_OF_SPACE."""
    slots = np.int64(dev.subpage[0].slots)
    live = np.int64(dev.page_valid[page])
    dev.counters[0].flash_reads += 1
    target = np.int64(take_page(dev, plane_number, live, True))
    if target < 0:
        return np.int64(OUT_OF_SPACE)
    for s in range(slots):
        slot = page * slots + s
        if is_valid(dev, slot):
            check_slot(dev, slot)
            put(dev, target * slots + s, np.int64(dev.physical[slot].lpn))
        else:
            waste(dev, target * slots + s)
    dev.page_valid[page] = 0
    _vacate(dev, page)
    dev.counters[0].relocated_pages += live
    return np.int64(1)


@kernel
def _gather(dev, plane_number):
    """Move the next valid slots of a victim to one page; return how many pages were read, or OUT_OF_SPACE."""
    plane = dev.plane[plane_number]
    slots = np.int64(dev.subpage[0].slots)
    first = _victim_of(dev, plane_number) * dev.subpage[0].block_pages * slots
    # Count the valid slots left in the present block, at most as many as a page has.
    count = np.int64(0)
    place = np.int64(plane.round_page)
    while count < slots and place < dev.subpage[0].block_pages * slots:
        count += is_valid(dev, first + place)
        place += 1
    target = np.int64(take_page(dev, plane_number, count, True))
    if target < 0:
        return np.int64(OUT_OF_SPACE)
    pages = np.int64(0)
    before = np.int64(-1)
    k = np.int64(0)
    while k < count:
        slot = first + np.int64(plane.round_page)
        if is_valid(dev, slot):
            page = slot // slots
            pages += page != before
            before = page
            check_slot(dev, slot)
            put(dev, target * slots + k, np.int64(dev.physical[slot].lpn))
            dev.page_valid[page] -= 1
            _vacate(dev, slot)
            k += 1
        plane.round_page += 1
    for rest in range(count, slots):
        waste(dev, target * slots + rest)
    dev.counters[0].flash_reads += pages
    dev.counters[0].relocated_pages += count
    return pages


@kernel
def move_command(dev, plane_number):
    """Carry out a round's next move; return how many pages it reads, 0 if no move is left, or an error."""
    page = np.int64(_find_page(dev, plane_number))
    if page < 0:
        return np.int64(0)
    if dev.params[0].endures and not ensure_page(dev, plane_number):
        return np.int64(OUT_OF_SPACE)
    if dev.subpage[0].unit_slots == 1:
        return np.int64(_gather(dev, plane_number))
    pages = np.int64(_move_page(dev, plane_number, page))
    plane = dev.plane[plane_number]
    plane.round_page += dev.subpage[0].slots - plane.round_page % dev.subpage[0].slots
    return pages


@inlined
def gather_phases(params, pages):
    """Return the phases of a command that moves data of `pages` pages to one page."""
    transfer_ns = np.int64((pages + 1) * params.transfer_ns)
    return Phases(np.int64(pages * params.read_ns), transfer_ns, np.int64(params.program_ns))


@kernel
def finish_round(dev, plane_number):
    """Erase the blocks of a round, which have no valid slots; stop GC in the plane if it needs no more."""
    plane = dev.plane[plane_number]
    for k in range(plane_number * MAX_PAIRS, plane_number * MAX_PAIRS + plane.round_count):
        block = np.int64(dev.round_pairs[k].block)
        wipe_pages(dev, block)
        erase(dev, block, dev.round_pairs[k].mask)
    if dev.params[0].endures:
        settle(dev)
    plane.round_leader = -1
    if plane.collecting and not gc_unfinished(dev.params[0], plane):
        plane.collecting = 0


@inlined
def run_round(dev, plane_number):
    """Finish a round in zero time; return OK or an error."""
    pages = np.int64(1)
    while pages > 0:
        pages = np.int64(move_command(dev, plane_number))
    if pages < 0:
        return pages
    finish_round(dev, plane_number)
    return np.int64(OK)
