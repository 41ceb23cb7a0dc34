"""What the steps of all jobs are made of: pages copied, blocks emptied and erased."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.block.bundles import (
    block_at,
    erase,
    first_erased,
    first_room,
    forget,
    free_slot,
    give_back,
    is_valid,
    program,
    review,
    set_block,
    take_block,
)
from ssdgym.engine.block.merging.plans import MERGE_BLOCKS
from ssdgym.engine.block.state import DATA, NFTL, TARGET
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.flash.cells import check_page
from ssdgym.engine.flash.parts import level_of

#: What a step was: a scan of spare areas; a page copied; an erase.
SCANNED, COPIED, ERASED = range(3)
#: The phase has nothing left to do; look at the next one.
GO_ON = 10


@kernel
def copy_page(dev, bundle, source, target):
    """Relocate a valid page of a bundle."""
    lpn = np.int64(dev.physical[source].lpn)
    check_page(dev, lpn, source)
    forget(dev, bundle, source)
    program(dev, target, lpn, np.int64(dev.physical[source].version))
    dev.counters[0].relocated_pages += 1
    return np.int64(COPIED)


@inlined
def erase_now(dev, plane, bundle, block, node):
    """Erase a partial block; `amount` is its level then."""
    erase(dev, bundle, block, node)
    dev.job[plane].amount = level_of(node)
    return np.int64(ERASED)


@inlined
def lowest_of(slots):
    """Return the lowest of some slots, a bit each."""
    slot = np.int64(0)
    while not slots >> slot & 1:
        slot += 1
    return slot


@inlined
def _finish(dev, plane, bundle):
    """End the job of a plane, whose last block is being erased."""
    job = dev.job[plane]
    if dev.merging[0].kind == NFTL and job.answer == MERGE_BLOCKS:
        target = block_at(dev, bundle, TARGET)
        set_block(dev, bundle, TARGET, np.int64(-1))
        set_block(dev, bundle, DATA, target)
    job.bundle = -1
    review(dev, bundle)


@inlined
def erase_emptied(dev, plane, bundle, slot):
    """Erase a block of which nothing is wanted any more; it joins the pool."""
    job = dev.job[plane]
    done = erase_now(dev, plane, bundle, block_at(dev, bundle, slot), np.int64(1))
    give_back(dev, bundle, slot)
    job.emptied &= ~(np.uint32(1) << np.uint32(slot))
    if job.emptied == 0:
        _finish(dev, plane, bundle)
    return done


@inlined
def next_valid(dev, plane, block):
    """Return the next valid page of a block from the job's place in it on, -1 for none."""
    job, size = dev.job[plane], np.int64(dev.params[0].pages_per_block)
    while job.page < size:
        ppn = block * size + job.page
        if is_valid(dev, ppn):
            return ppn
        job.page += 1
    return np.int64(-1)


@kernel
def room_for(dev, plane, bundle, slots, emptied):
    """Return the lowest erased page of a bundle's blocks in some slots, or of a block added to them; -1.

    A block that is added is emptied itself at last where `emptied` says so.
    """
    block = first_room(dev, bundle, slots)
    if block < 0:
        block = np.int64(take_block(dev, plane))
        if block < 0:
            return np.int64(-1)
        slot = free_slot(dev, bundle)
        set_block(dev, bundle, slot, block)
        if emptied:
            dev.job[plane].emptied |= np.uint32(1) << np.uint32(slot)
    return np.int64(first_erased(dev, block))
