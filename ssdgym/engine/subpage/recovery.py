"""How a device of the sub-page family goes on after a power cut: its regions and lists as they are found."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.index import add_block, remove_block
from ssdgym.engine.blocks.manager import adopt_block, open_block
from ssdgym.engine.blocks.victims import adopt_worn, erase_again
from ssdgym.engine.blocks.wear import is_worn, mark_worn
from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import entry, inlined, kernel
from ssdgym.engine.core.records import MAX_STREAMS, POOLED
from ssdgym.engine.core.status import OK
from ssdgym.engine.erase.legality import is_overfull
from ssdgym.engine.rounds import start_round
from ssdgym.engine.subpage.gc_round import run_round
from ssdgym.engine.subpage.lifetime import retire_member, settle
from ssdgym.engine.subpage.pages import mapped_of
from ssdgym.engine.subpage.region import evict_now, most_kept
from ssdgym.engine.subpage.state import SUBFTL


@kernel
def _adopt_region_block(dev, block):
    """Find how often the pages of a region block have been programmed, and what is valid; a pass is over."""
    pages, held = np.int64(dev.subpage[0].block_pages), dev.region_block[block]
    held.valid = 0
    held.passes = 0
    for page in range(block * pages, (block + 1) * pages):
        held.valid += dev.page_valid[page]
        held.passes = max(held.passes, min(np.int64(dev.page_use[page]), np.int64(dev.subpage[0].passes)))


@kernel
def _adopt_region(dev, plane, in_region):
    """Give the blocks of a plane's region to it.

    Where none of them is erased (`subftl`) a collection was interrupted: the one with fewest valid subpages
    is collected, and all of these go to the main area.
    """
    params, region, k = dev.params[0], dev.region[plane], np.int64(0)
    reserve, victim = np.int64(-1), np.int64(-1)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        held = dev.region_block[block]
        if in_region[block] and not held.in_region:
            remove_block(dev, np.int64(block))
        elif held.in_region and not in_region[block]:
            add_block(dev, plane, np.int64(block))
        held.in_region = in_region[block]
        if not held.in_region:
            continue
        dev.member[plane * np.int64(dev.subpage[0].region_blocks) + k] = block
        k += 1
        _adopt_region_block(dev, np.int64(block))
        if held.passes == 0:
            reserve = np.int64(block)
        if victim < 0 or held.valid < dev.region_block[victim].valid:
            victim = np.int64(block)
    if dev.subpage[0].kind != SUBFTL:
        return
    region.reserve = reserve
    if reserve < 0:
        region.victim = victim
        region.slot = victim * dev.subpage[0].block_pages * dev.subpage[0].slots
        region.kept = most_kept(dev)


@kernel
def _victim_with_room(dev, plane):
    """Return the block with most invalid units whose valid ones fit elsewhere in its plane, or -1."""
    params, subpage = dev.params[0], dev.subpage[0]
    per_page = np.int64(subpage.slots // subpage.unit_slots)
    room = np.int64(dev.plane[plane].pool_pages)
    sub = np.int64(dev.open_sub_block[plane * MAX_STREAMS])
    if sub >= 0:
        room += params.pages_per_block - dev.sub_block[sub].written
    best, most = np.int64(-1), np.int64(params.least_invalid - 1)
    block = np.int64(dev.plane[plane].age_head)
    while block >= 0:
        record = dev.block[block]
        pages = (record.written - record.invalid + per_page - 1) // per_page
        own = params.pages_per_block - record.written
        if record.invalid > most and pages * per_page <= room - own:
            best, most = block, np.int64(record.invalid)
        block = np.int64(record.next_age)
    return best


@kernel
def _collect_plane(dev, plane, work):
    """Collect until as many pages are in the pool as between rounds; count moves and erases in `work`."""
    params, pairs = dev.params[0], dev.decider.pairs
    while dev.plane[plane].pool_pages < params.stop_pool and not is_overfull(params, dev.plane[plane]):
        block = np.int64(_victim_with_room(dev, plane))
        if block < 0:
            return
        pairs[0].block = block
        pairs[0].mask = full_mask(params.sub_blocks)
        before = np.int64(dev.tally[0].full_programs)
        if start_round(dev, plane, pairs, 1) != OK or run_round(dev, plane) != OK:
            return
        work[plane, 0] += dev.tally[0].full_programs - before
        work[plane, 1] += 1


@inlined
def _reopen(dev, plane):
    """Go on in the first block of the main area that is written in part."""
    params = dev.params[0]
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        is_partial = 0 < dev.sub_block[block].written < params.pages_per_block
        if is_partial and dev.block[block].status & POOLED:
            open_block(dev, plane, np.int64(0), np.int64(block))
            return


# -- where cells wear out


@inlined
def _adopt_worn(dev, block, mark):
    """Take over a worn block of status `mark`; one of a region is retired when it has been erased."""
    if dev.region_block[block].in_region:
        mark_worn(dev, block)
    else:
        adopt_worn(dev, block, mark)


@kernel
def _retire_erased(dev, plane):
    """Let others take the place of erased blocks of a region that are worn."""
    params, region = dev.params[0], dev.region[plane]
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        held = dev.region_block[block]
        if held.in_region and held.passes == 0 and is_worn(dev, np.int64(block)):
            other = np.int64(retire_member(dev, plane, np.int64(block)))
            region.reserve = other if region.reserve == block else region.reserve


@entry
def adopt_pages(dev, half_erased, in_region, worn, split, work):
    """Let an empty device take over the pages that have been found and mapped.

    `half_erased` (m,) ERASE_PAIR is erased again. `in_region` uint8 (blocks,) marks the blocks of regions,
    `worn` uint8 (blocks,) is the status of worn blocks, 0 of others. Planes that were short of free pages
    collect. Then each group of `split` (k,) is written to one page, as its sectors were found on several.
    `work` (planes, 2) gets the pages programmed and the blocks erased.
    """
    for k in range(half_erased.shape[0]):
        erase_again(dev, np.int64(half_erased[k].block), half_erased[k].mask, worn)
    params = dev.params[0]
    for plane in range(np.int64(params.planes)):
        _adopt_region(dev, plane, in_region)
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            adopt_block(dev, np.int64(block))
            if worn[block]:
                _adopt_worn(dev, np.int64(block), worn[block])
        _reopen(dev, plane)
        if params.endures:
            _retire_erased(dev, plane)
    if params.endures:
        settle(dev)
    for plane in range(np.int64(params.planes)):
        _collect_plane(dev, plane, work)
    for k in range(split.shape[0]):
        if mapped_of(dev, np.int64(split[k])) == 0:  # it has been given up
            continue
        if evict_now(dev, np.int64(split[k]), np.int64(0)) != OK:
            return
        plane = np.int64(dev.control[0].host_plane)
        dev.control[0].gc_plane = -1
        work[plane, 0] += 1
        _collect_plane(dev, plane, work)
