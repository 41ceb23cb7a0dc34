"""Passes over the blocks of a region: which block is programmed next, and which page of the block.

A pass programs the pages of a block in order, each once. A *target* is chosen for a pass or for collection.
"""

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.subpage.state import SUBFTL

#: What a region has to do for a write: program it; first advance a subpage; first collect a block.
READY, ADVANCE, COLLECT = range(3)


# With `subftl`, a page of a region is programmed several times between two erases, one subpage at a time,
# while no other subpage of the page is valid (erase-free subpage programming; Kim et al., DAC 2017, section
# 3). With `sector_log` the region is a log whose pages are programmed as a whole.


@inlined
def _precedes(dev, block, other, by_passes):
    """Return whether a block is a better target than `other`: by passes first, or by valid slots first."""
    a, b = dev.region_block[block], dev.region_block[other]
    if by_passes:
        return (a.passes, a.valid, block) < (b.passes, b.valid, other)
    return (a.valid, a.passes, block) < (b.valid, b.passes, other)


@kernel
def _best_block(dev, plane, by_passes, least_passes, most_passes):
    """Return the best target with `least_passes` to `most_passes` passes, never the reserve; -1 for none."""
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
    """Return the target of rule `printed`: a block with passes left; if none is, a victim."""
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
    """Choose the next target of a region: open it for a pass, or begin to collect it."""
    subpage, region = dev.subpage[0], dev.region[plane]
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


@inlined
def pass_page(dev, plane, valid):
    """Move a pass behind the page that was just programmed, and add `valid` to the block's valid slots."""
    held = dev.region_block[dev.region[plane].open]
    held.next_page += 1
    held.valid += valid


@kernel
def prepare(dev, plane):
    """Prepare a region for a write; return READY, ADVANCE or COLLECT."""
    subpage, region = dev.subpage[0], dev.region[plane]
    while region.victim < 0:
        if region.open < 0:
            _choose_target(dev, plane)
            continue
        held = dev.region_block[region.open]
        if held.next_page == subpage.block_pages:  # the pass is complete
            region.open = -1
        elif subpage.kind != SUBFTL or dev.page_valid[open_page(dev, plane)] == 0:
            return np.int64(READY)
        elif subpage.never_advance:
            held.next_page += 1
        else:
            return np.int64(ADVANCE)
    return np.int64(COLLECT)
