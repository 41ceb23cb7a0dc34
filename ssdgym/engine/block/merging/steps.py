"""The steps of a job: each is one command, found when it is begun, since pages may be trimmed meanwhile."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.block.merging.emptying import GO_ON, erase_emptied, lowest_of
from ssdgym.engine.block.merging.in_place import (
    back_anywhere,
    back_to_place,
    cut,
    erase_first,
    move_out,
    next_block,
)
from ssdgym.engine.block.merging.merge import move_block_by_block, move_by_place, scan
from ssdgym.engine.block.state import BACK, CUT, FIRST_ERASE, MOVE, NEXT_BLOCK, NFTL, OUT, SCAN
from ssdgym.engine.core.kernel import inlined, kernel


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
