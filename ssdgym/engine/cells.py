"""Wear of cells: when a block is worn out, and when the life of a device ends."""

import numpy as np

from ssdgym.engine.core.bits import has
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.operations import family_forget_page


@kernel
def wears_out(dev, block, mask):
    """Return whether an erase of the sub-blocks of `mask`, which is already counted, has worn out a block."""
    params = dev.params[0]
    ends = False
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub = block * np.int64(params.sub_blocks) + s
            ends |= dev.sub_block[sub].erases >= dev.endurance[sub].last
    dev.life[0].has_worn |= ends
    return ends


@inlined
def strain(dev, sub):
    """Count an erase of a neighbour as wear of a sub-block; return whether the sub-block is worn out."""
    endurance = dev.endurance[sub]
    endurance.first -= 1
    endurance.last -= 1
    ends = dev.sub_block[sub].erases >= endurance.last
    dev.life[0].has_worn |= ends
    return ends


@inlined
def count_retired(dev):
    """Count one more retired block."""
    life = dev.life[0]
    if life.retired_blocks == 0:
        life.first_lost_at = dev.control[0].clock
    life.retired_blocks += 1


@inlined
def has_lost(dev):
    """Return whether any block of the device is worn, or has been retired."""
    return dev.life[0].has_worn != 0


@inlined
def is_over(dev):
    """Return whether the life of the device is over."""
    return dev.params[0].endures != 0 and dev.life[0].over != 0


@inlined
def end_life(dev):
    """End the life of the device, after which it carries out no request."""
    dev.life[0].over = 1


@kernel
def settle_for(dev, pages):
    """Give up all logical pages except the first `pages`; end the device's life if it may not do that."""
    params, life = dev.params[0], dev.life[0]
    before = np.int64(life.capacity)
    if pages >= before:
        return
    if not params.shrinks or pages < params.least_capacity:
        end_life(dev)
        return
    for lpn in range(pages, before):
        family_forget_page(dev, np.int64(lpn))
    life.capacity = pages
