"""The steps of a merge, by copies or in place."""

import numpy as np

from ssdgym.engine.block.bundles import (
    block_at,
    erased_pages,
    first_erased,
    is_valid,
    page_at,
    set_block,
    take_block,
)
from ssdgym.engine.block.figures import held_slots
from ssdgym.engine.block.plans import (
    GO_ON,
    MERGE_BLOCKS,
    SCANNED,
    copy_page,
    erase_emptied,
    erase_now,
    lowest_of,
    next_valid,
    room_for,
)
from ssdgym.engine.block.state import (
    BACK,
    CUT,
    DATA,
    END,
    FIRST_ERASE,
    MOVE,
    NEXT_BLOCK,
    NFTL,
    OUT,
    SCAN,
    TARGET,
    UPDATE,
)
from ssdgym.engine.core.bits import has
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OUT_OF_SPACE
from ssdgym.engine.flash import leaves_of

# M-Merge: partial blocks are erased in place, around copies of what is valid in them (PEN, section 5).
#
# All pages leave before the first erase, since a partial erase disturbs what is beside it.


@inlined
def erase_first(dev, plane, bundle):
    """Erase the part of the update block that has been chosen, if what leaves the data block needs it."""
    job = dev.job[plane]
    job.phase = NEXT_BLOCK
    if job.node == 0:
        return np.int64(GO_ON)
    return erase_now(dev, plane, bundle, block_at(dev, bundle, np.int64(UPDATE)), np.int64(job.node))


@inlined
def _begin_phase(job, phase):
    job.phase = phase
    job.node = -1
    job.page = 0


@kernel
def next_block(dev, plane):
    """Go on with the next block in which partial blocks are erased."""
    job = dev.job[plane]
    if job.left == 0:
        job.phase = END
        return np.int64(GO_ON)
    job.slot = lowest_of(np.int64(job.left))
    job.left &= ~(np.uint32(1) << np.uint32(job.slot))
    _begin_phase(job, OUT)
    return np.int64(GO_ON)


@kernel
def _next_planned(dev, plane):
    """Return the next partial block of a job's plan by its number, so the largest first; -1 for none."""
    job = dev.job[plane]
    for node in range(job.node + 1, np.int64(2) << np.int64(dev.merging[0].levels)):
        if has(dev.job_plan[plane, job.slot, node >> 6], node & 63):
            return np.int64(node)
    return np.int64(-1)


@inlined
def _go_to_next_planned(dev, plane):
    """Go on with the next partial block of the plan, from its first page on; return whether there is one."""
    job = dev.job[plane]
    job.node = _next_planned(dev, plane)
    if job.node < 0:
        return False
    first, _ = leaves_of(np.int64(dev.merging[0].levels), np.int64(job.node))
    job.page = first * dev.params[0].pages_per_sub_block
    return True


@inlined
def _is_within(dev, plane):
    """Return whether a page of the plan is next; behind a partial block go on to the next one."""
    job = dev.job[plane]
    if job.node >= 0:
        first, count = leaves_of(np.int64(dev.merging[0].levels), np.int64(job.node))
        if job.page < (first + count) * dev.params[0].pages_per_sub_block:
            return True
    return _go_to_next_planned(dev, plane)


@kernel
def move_out(dev, plane, bundle):
    """Copy the next valid page that has to leave the block at hand to a block that is emptied at last."""
    job = dev.job[plane]
    base = block_at(dev, bundle, np.int64(job.slot)) * np.int64(dev.params[0].pages_per_block)
    while True:
        if not _is_within(dev, plane):
            _begin_phase(job, CUT)
            return np.int64(GO_ON)
        source = base + job.page
        job.page += 1
        if is_valid(dev, source):
            target = np.int64(room_for(dev, plane, bundle, np.int64(job.emptied), True))
            if target < 0:
                return np.int64(OUT_OF_SPACE)
            dev.tally[0].out_copies += 1
            return np.int64(copy_page(dev, bundle, source, target))


@inlined
def cut(dev, plane, bundle):
    """Erase the next partial block of the plan."""
    job = dev.job[plane]
    if not _go_to_next_planned(dev, plane):
        _begin_phase(job, BACK)
        return np.int64(GO_ON)
    return erase_now(dev, plane, bundle, block_at(dev, bundle, np.int64(job.slot)), np.int64(job.node))


@kernel
def back_to_place(dev, plane, bundle):
    """Copy the next page of the update block back to its place in the data block."""
    job = dev.job[plane]
    data = block_at(dev, bundle, DATA) * np.int64(dev.params[0].pages_per_block)
    end = data + np.int64(dev.params[0].pages_per_block)
    while True:
        if not _is_within(dev, plane):
            job.phase = NEXT_BLOCK
            return np.int64(GO_ON)
        place = np.int64(job.page)
        job.page += 1
        source = np.int64(dev.logical[page_at(dev, bundle, place)].ppn)
        if source >= 0 and not data <= source < end:
            return np.int64(copy_page(dev, bundle, source, data + place))


@kernel
def back_anywhere(dev, plane, bundle):
    """Copy the next page of the blocks that are emptied to an erased page of the block at hand."""
    job = dev.job[plane]
    block = block_at(dev, bundle, np.int64(job.slot))
    if job.node < 0:
        job.node = 0  # the slot that pages come from
    while erased_pages(dev, block) > 0 and job.node < dev.merging[0].slots:
        if np.int64(job.emptied) >> np.int64(job.node) & 1:
            source = next_valid(dev, plane, block_at(dev, bundle, np.int64(job.node)))
            if source >= 0:
                return np.int64(copy_page(dev, bundle, source, np.int64(first_erased(dev, block))))
        job.node += 1
        job.page = 0
    job.phase = NEXT_BLOCK
    return np.int64(GO_ON)


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


@inlined
def _phase_step(dev, plane, bundle):
    job = dev.job[plane]
    by_place = dev.merging[0].kind == NFTL
    if job.phase == SCAN:
        return scan(dev, plane, bundle)
    if job.phase == MOVE:
        if by_place:
            return np.int64(move_by_place(dev, plane, bundle))
        return np.int64(move_block_by_block(dev, plane, bundle))
    if job.phase == FIRST_ERASE:
        return np.int64(erase_first(dev, plane, bundle))
    if job.phase == NEXT_BLOCK:
        return np.int64(next_block(dev, plane))
    if job.phase == OUT:
        return np.int64(move_out(dev, plane, bundle))
    if job.phase == CUT:
        return cut(dev, plane, bundle)
    if job.phase == BACK:
        if by_place:
            return np.int64(back_to_place(dev, plane, bundle))
        return np.int64(back_anywhere(dev, plane, bundle))
    return erase_emptied(dev, plane, bundle, lowest_of(np.int64(job.emptied)))


@kernel
def next_step(dev, plane):
    """Carry out the next command of a planned job; return what it was, or an error.

    With the last one, an erase, the job ends.
    """
    bundle = np.int64(dev.job[plane].bundle)
    while True:
        done = np.int64(_phase_step(dev, plane, bundle))
        if done != GO_ON:
            return done
