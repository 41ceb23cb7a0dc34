"""M-Merge: partial blocks are erased in place, around copies of what is valid in them (PEN, section 5).

All pages leave before the first erase, since a partial erase disturbs what is beside it.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.block.bundles import block_at, erased_pages, first_erased, is_valid, page_at
from ssdgym.engine.block.merging.emptying import GO_ON, copy_page, erase_now, lowest_of, next_valid, room_for
from ssdgym.engine.block.state import BACK, CUT, DATA, END, NEXT_BLOCK, OUT, UPDATE
from ssdgym.engine.core.bits import has
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OUT_OF_SPACE
from ssdgym.engine.flash.parts import leaves_of


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
