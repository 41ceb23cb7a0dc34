"""Merge: the valid pages of blocks are copied to others, and the blocks erased."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.block.bundles import block_at, page_at, set_block, take_block
from ssdgym.engine.block.merging.emptying import (
    GO_ON,
    SCANNED,
    copy_page,
    erase_emptied,
    lowest_of,
    next_valid,
    room_for,
)
from ssdgym.engine.block.merging.figures import held_slots
from ssdgym.engine.block.merging.plans import MERGE_BLOCKS
from ssdgym.engine.block.state import DATA, END, FIRST_ERASE, MOVE, NFTL, TARGET, UPDATE
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OUT_OF_SPACE


@inlined
def scan(dev, plane, bundle):
    """Read the spare areas of all programmed pages of a bundle of NFTL."""
    job = dev.job[plane]
    job.phase = MOVE if job.answer == MERGE_BLOCKS else FIRST_ERASE
    job.page = 0
    if dev.merging[0].kind != NFTL:
        return np.int64(GO_ON)
    pages = np.int64(0)
    for slot in (DATA, UPDATE):
        block = block_at(dev, bundle, np.int64(slot))
        if block >= 0:
            pages += dev.block[block].written
    job.amount = pages
    dev.tally[0].spare_reads += pages
    return np.int64(SCANNED if pages > 0 else GO_ON)


@kernel
def move_by_place(dev, plane, bundle):
    """Copy the next page of a bundle of NFTL to its place in the target."""
    params, job = dev.params[0], dev.job[plane]
    while job.page < params.pages_per_block:
        place = np.int64(job.page)
        job.page += 1
        source = np.int64(dev.logical[page_at(dev, bundle, place)].ppn)
        if source >= 0:
            if block_at(dev, bundle, TARGET) < 0:
                target = np.int64(take_block(dev, plane))
                if target < 0:
                    return np.int64(OUT_OF_SPACE)
                set_block(dev, bundle, TARGET, target)
            first = block_at(dev, bundle, TARGET) * np.int64(params.pages_per_block)
            return np.int64(copy_page(dev, bundle, source, first + place))
    job.phase = END
    return np.int64(GO_ON)


@kernel
def move_block_by_block(dev, plane, bundle):
    """Copy the next page of the blocks of a superblock that are emptied, or erase one."""
    job = dev.job[plane]
    slot = lowest_of(np.int64(job.emptied))
    source = next_valid(dev, plane, block_at(dev, bundle, slot))
    if source < 0:
        job.page = 0
        return erase_emptied(dev, plane, bundle, slot)
    others = held_slots(dev, bundle) & ~np.int64(job.emptied)
    target = np.int64(room_for(dev, plane, bundle, others, False))
    return np.int64(copy_page(dev, bundle, source, target)) if target >= 0 else np.int64(OUT_OF_SPACE)
