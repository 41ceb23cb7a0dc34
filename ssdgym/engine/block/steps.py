"""The steps of a merge, by copies or in place, and their changes to pages and blocks."""

import numpy as np

from ssdgym.engine.block import bundles, state
from ssdgym.engine.block.lifetime import release, settle
from ssdgym.engine.block.plans import MERGE_BLOCKS, held_slots
from ssdgym.engine.blocks.wear import is_worn
from ssdgym.engine.core.bits import has, lowest_of
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OUT_OF_SPACE
from ssdgym.engine.flash import check_page, is_valid, leaves_of, level_of

#: Kinds of steps: a scan of spare areas; the copy of a page; an erase.
SCANNED, COPIED, ERASED = range(3)
#: Result of a phase in which nothing is left to do; the next phase follows.
GO_ON = 10


@kernel
def copy_page(dev, bundle, source, target):
    """Relocate a valid page of a bundle to the erased page `target`; return COPIED."""
    lpn = np.int64(dev.physical[source].lpn)
    check_page(dev, lpn, source)
    bundles.forget(dev, bundle, source)
    bundles.program(dev, target, lpn, np.int64(dev.physical[source].version))
    dev.counters[0].relocated_pages += 1
    return np.int64(COPIED)


@inlined
def erase_now(dev, plane, bundle, block, node):
    """Erase a partial block, and store its level in the job's `amount`; return ERASED."""
    bundles.erase(dev, bundle, block, node)
    dev.job[plane].amount = level_of(node)
    return np.int64(ERASED)


@inlined
def erase_emptied(dev, plane, bundle, slot):
    """Erase a block without valid pages, and release it; the last such erase of a job ends the job."""
    job = dev.job[plane]
    block = bundles.block_at(dev, bundle, slot)
    done = erase_now(dev, plane, bundle, block, np.int64(1))
    bundles.set_block(dev, bundle, slot, np.int64(-1))
    release(dev, block)
    job.emptied &= ~(np.uint32(1) << np.uint32(slot))
    if job.emptied == 0:  # the job ends
        if dev.merging[0].kind == state.NFTL and job.answer == MERGE_BLOCKS:
            target = bundles.block_at(dev, bundle, state.TARGET)
            bundles.set_block(dev, bundle, state.TARGET, np.int64(-1))
            bundles.set_block(dev, bundle, state.DATA, target)
        job.bundle = -1
        bundles.review(dev, bundle)
    if dev.params[0].endures:
        settle(dev, block)
    return done


@inlined
def next_valid(dev, plane, block):
    """Return the next valid page of a block, from page `job.page` on; -1 for none."""
    job, size = dev.job[plane], np.int64(dev.params[0].pages_per_block)
    while job.page < size:
        ppn = block * size + job.page
        if is_valid(dev, ppn):
            return ppn
        job.page += 1
    return np.int64(-1)


@kernel
def room_of_job(dev, plane, bundle, emptied):
    """Return an erased page for a copy, or -1: if `emptied`, in a block to empty, otherwise in another."""
    slots = np.int64(dev.job[plane].emptied)
    if not emptied:
        slots = held_slots(dev, bundle) & ~slots
    block = bundles.first_room(dev, bundle, slots)
    if block < 0:
        if dev.merging[0].kind == state.NFTL or dev.bundle[bundle].held == dev.merging[0].slots:
            return np.int64(-1)
        block = np.int64(bundles.take_block(dev, plane))
        if block < 0:
            return np.int64(-1)
        slot = bundles.free_slot(dev, bundle)
        bundles.set_block(dev, bundle, slot, block)
        if emptied:
            dev.job[plane].emptied |= np.uint32(1) << np.uint32(slot)
    return np.int64(bundles.first_erased(dev, block))


# M-Merge: partial blocks are erased in place; their valid pages leave before and return (PEN, section 5).
#
# All pages leave before the first erase, since a partial erase disturbs the sub-blocks beside it.


@inlined
def _begin_phase(job, phase):
    job.phase = phase
    job.node = -1
    job.page = 0


@kernel
def _erase_in_place(dev, plane, bundle, slot):
    """Erase the job's current partial block, in a block that remains in use."""
    block = bundles.block_at(dev, bundle, slot)
    done = erase_now(dev, plane, bundle, block, np.int64(dev.job[plane].node))
    if is_worn(dev, block):
        # Continue as a Merge: NFTL empties all blocks of the bundle, a superblock also the current block.
        job = dev.job[plane]
        if dev.merging[0].kind == state.NFTL:
            job.answer = MERGE_BLOCKS
            job.emptied = held_slots(dev, bundle)
        else:
            job.emptied |= np.uint32(1) << np.uint32(job.slot)
        job.left = dev.bundle[bundle].since_merge = 0
        _begin_phase(job, state.MOVE)
    return done


@kernel
def _go_to_next_planned(dev, plane):
    """Advance a job to the next partial block of the plan, the largest first; return whether there is one."""
    job, levels = dev.job[plane], np.int64(dev.merging[0].levels)
    for node in range(job.node + 1, np.int64(2) << levels):
        if has(dev.job_plan[plane, job.slot, node >> 6], node & 63):
            first, _ = leaves_of(levels, np.int64(node))
            job.node = node
            job.page = first * dev.params[0].pages_per_sub_block
            return True
    job.node = -1
    return False


@inlined
def _is_within(dev, plane):
    """Advance a job's next page into the plan's next partial block, if needed; return whether one is left."""
    job = dev.job[plane]
    if job.node >= 0:
        first, count = leaves_of(np.int64(dev.merging[0].levels), np.int64(job.node))
        if job.page < (first + count) * dev.params[0].pages_per_sub_block:
            return True
    return _go_to_next_planned(dev, plane)


@kernel
def move_out(dev, plane, bundle):
    """Copy the next valid page of the plan out of the current block, to a block that the job empties."""
    job = dev.job[plane]
    base = bundles.block_at(dev, bundle, np.int64(job.slot)) * np.int64(dev.params[0].pages_per_block)
    while True:
        if not _is_within(dev, plane):
            _begin_phase(job, state.CUT)
            return np.int64(GO_ON)
        source = base + job.page
        job.page += 1
        if is_valid(dev, source):
            target = np.int64(room_of_job(dev, plane, bundle, True))
            if target < 0:
                return np.int64(OUT_OF_SPACE)
            dev.tally[0].out_copies += 1
            return np.int64(copy_page(dev, bundle, source, target))


@kernel
def back_to_place(dev, plane, bundle):
    """Copy the next page of the update block whose place is in the plan to its place in the data block."""
    job = dev.job[plane]
    data = bundles.block_at(dev, bundle, state.DATA) * np.int64(dev.params[0].pages_per_block)
    end = data + np.int64(dev.params[0].pages_per_block)
    while True:
        if not _is_within(dev, plane):
            job.phase = state.NEXT_BLOCK
            return np.int64(GO_ON)
        place = np.int64(job.page)
        job.page += 1
        lpn = bundles.page_at(dev, bundle, place)
        source = np.int64(dev.logical[lpn].ppn)
        if source >= 0 and not data <= source < end:
            return np.int64(copy_page(dev, bundle, source, data + place))


@kernel
def back_anywhere(dev, plane, bundle):
    """Copy the next valid page of the blocks that the job empties to an erased page of the current block."""
    job = dev.job[plane]
    block = bundles.block_at(dev, bundle, np.int64(job.slot))
    if job.node < 0:
        job.node = 0  # here, the slot from whose block pages are copied
    while bundles.erased_pages(dev, block) > 0 and job.node < dev.merging[0].slots:
        if np.int64(job.emptied) >> np.int64(job.node) & 1:
            source = next_valid(dev, plane, bundles.block_at(dev, bundle, np.int64(job.node)))
            if source >= 0:
                return np.int64(copy_page(dev, bundle, source, np.int64(bundles.first_erased(dev, block))))
        job.node += 1
        job.page = 0
    job.phase = state.NEXT_BLOCK
    return np.int64(GO_ON)


@inlined
def scan(dev, plane, bundle):
    """Read the spare areas of all programmed pages of a bundle of NFTL."""
    job = dev.job[plane]
    job.phase = state.MOVE if job.answer == MERGE_BLOCKS else state.FIRST_ERASE
    job.page = 0
    if dev.merging[0].kind != state.NFTL:
        return np.int64(GO_ON)
    pages = np.int64(0)
    for slot in (state.DATA, state.UPDATE):
        block = bundles.block_at(dev, bundle, np.int64(slot))
        if block >= 0:
            pages += dev.block[block].written
    job.amount = pages
    dev.tally[0].spare_reads += pages
    return np.int64(SCANNED if pages > 0 else GO_ON)


@kernel
def move_by_place(dev, plane, bundle):
    """Copy the next mapped page of a bundle of NFTL to its place in the target block."""
    params, job = dev.params[0], dev.job[plane]
    while job.page < params.pages_per_block:
        place = np.int64(job.page)
        job.page += 1
        lpn = bundles.page_at(dev, bundle, place)
        source = np.int64(dev.logical[lpn].ppn)
        if source >= 0:
            if bundles.block_at(dev, bundle, state.TARGET) < 0:
                target = np.int64(bundles.take_block(dev, plane))
                if target < 0:
                    return np.int64(OUT_OF_SPACE)
                bundles.set_block(dev, bundle, state.TARGET, target)
            first = bundles.block_at(dev, bundle, state.TARGET) * np.int64(params.pages_per_block)
            return np.int64(copy_page(dev, bundle, source, first + place))
    job.phase = state.END
    return np.int64(GO_ON)


@kernel
def move_block_by_block(dev, plane, bundle):
    """Copy the next valid page of the superblock's blocks that are emptied, or erase an emptied block."""
    job = dev.job[plane]
    slot = lowest_of(np.int64(job.emptied))
    source = next_valid(dev, plane, bundles.block_at(dev, bundle, slot))
    if source < 0:
        job.page = 0
        return erase_emptied(dev, plane, bundle, slot)
    target = np.int64(room_of_job(dev, plane, bundle, False))
    return np.int64(copy_page(dev, bundle, source, target)) if target >= 0 else np.int64(OUT_OF_SPACE)


@inlined
def _phase_step(dev, plane, bundle):
    job = dev.job[plane]
    by_place = dev.merging[0].kind == state.NFTL
    if job.phase == state.SCAN:
        return scan(dev, plane, bundle)
    if job.phase == state.MOVE:
        if by_place:
            return np.int64(move_by_place(dev, plane, bundle))
        return np.int64(move_block_by_block(dev, plane, bundle))
    if job.phase == state.FIRST_ERASE:
        # Erase a part of the update block, if pages that leave the data block need the room.
        job.phase = state.NEXT_BLOCK
        if job.node == 0:
            return np.int64(GO_ON)
        return np.int64(_erase_in_place(dev, plane, bundle, np.int64(state.UPDATE)))
    if job.phase == state.NEXT_BLOCK:
        if job.left == 0:
            job.phase = state.END
            return np.int64(GO_ON)
        job.slot = lowest_of(np.int64(job.left))
        job.left &= ~(np.uint32(1) << np.uint32(job.slot))
        _begin_phase(job, state.OUT)
        return np.int64(GO_ON)
    if job.phase == state.OUT:
        return np.int64(move_out(dev, plane, bundle))
    if job.phase == state.CUT:  # erase the next partial block of the plan
        if _go_to_next_planned(dev, plane):
            return np.int64(_erase_in_place(dev, plane, bundle, np.int64(job.slot)))
        _begin_phase(job, state.BACK)
        return np.int64(GO_ON)
    if job.phase == state.BACK:
        if by_place:
            return np.int64(back_to_place(dev, plane, bundle))
        return np.int64(back_anywhere(dev, plane, bundle))
    return erase_emptied(dev, plane, bundle, lowest_of(np.int64(job.emptied)))


@kernel
def next_step(dev, plane):
    """Carry out the next command of a planned job; return its kind, or an error.

    The job ends with its last erase.
    """
    bundle = np.int64(dev.job[plane].bundle)
    while True:
        done = np.int64(_phase_step(dev, plane, bundle))
        if done != GO_ON:
            return done
