"""What victim policies are written with: looking at blocks, drawing them, choosing one."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.gc import full_mask
from ssdgym.engine.kernel import inlined, kernel, shared
from ssdgym.engine.layout import INDEXED
from ssdgym.engine.rng import below, draw


@inlined
def whole_block(dev, choice, block):
    """Choose a whole block (or nothing, for block -1); returns what a policy has to return."""
    if block < 0:
        return 0
    choice[0].block = block
    choice[0].mask = full_mask(dev.geometry[0].sub_blocks)
    return 1


@shared
def blocks_of(dev, plane):
    """The block numbers of a plane."""
    blocks = dev.geometry[0].blocks
    return range(plane * blocks, (plane + 1) * blocks)


@inlined
def eligible(dev, block):
    """May this block be a victim: in the index, with something to gain?"""
    record = dev.block[block]
    return (record.status & INDEXED) != 0 and record.invalid > 0


@inlined
def random_eligible(dev, plane, stream, first_draw):
    """A uniformly random eligible block of a plane, from 65 draws of a stream; -1 if there is none."""
    geometry = dev.geometry[0]
    decision = dev.run[0].rounds
    first = plane * geometry.blocks
    for k in range(64):
        block = first + below(draw(geometry.seed, stream, decision, first_draw + k), geometry.blocks)
        if eligible(dev, block):
            return block
    start = below(draw(geometry.seed, stream, decision, first_draw + 64), geometry.blocks)
    for k in range(geometry.blocks):
        block = first + (start + k) % geometry.blocks
        if eligible(dev, block):
            return block
    return -1


@kernel
def best_run(dev, block):
    """The mask of the run of sub-blocks with most invalid pages per time to reclaim it.

    Benefit = invalid / (valid * t_copy + t_erase), compared by cross-products in integers; ties go to the
    shorter run, then to the lower start. Exact over all runs of the block (SpeedupGC's measure without
    neighbours).
    """
    geometry = dev.geometry[0]
    t_copy = geometry.read_ns + geometry.program_ns + 2 * geometry.transfer_ns
    t_erase = geometry.erase_ns
    if t_copy == 0 and t_erase == 0:
        t_copy, t_erase = 1, geometry.pages_per_sub_block
    best_mask = np.uint64(0)
    best_gain, best_cost = 0, 1
    base = block * geometry.sub_blocks
    for length in range(1, geometry.sub_blocks + 1):
        for start in range(geometry.sub_blocks - length + 1):
            gain = 0
            valid = 0
            for s in range(start, start + length):
                sub_block = dev.sub_block[base + s]
                gain += sub_block.invalid
                valid += sub_block.written - sub_block.invalid
            cost = valid * t_copy + t_erase
            if gain * best_cost > best_gain * cost:
                best_gain, best_cost = gain, cost
                best_mask = full_mask(length) << np.uint64(start)
    return best_mask
