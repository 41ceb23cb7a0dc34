"""Block groups for a device that has data: how they are formed when a placement starts that keeps them."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.speedupgc.best_sets import find_first, renew
from ssdgym.engine.speedupgc.groups import join_group
from ssdgym.engine.speedupgc.heaps import is_larger, rank_of

#: The group of a block that has not been dealt yet.
_NONE = 255


@kernel
def _lowest_block(dev, plane):
    """Return the block with the smallest rank of those that have not been dealt."""
    params = dev.params[0]
    lowest = np.int64(-1)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        if dev.best[block].group == _NONE and (
            lowest < 0 or is_larger(params, rank_of(dev, lowest), rank_of(dev, block))
        ):
            lowest = np.int64(block)
    return lowest


@kernel
def _deal_plane(dev, plane):
    params = dev.params[0]
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        find_first(dev, block)
        renew(dev, block)
        dev.best[block].group = _NONE
    for place in range(np.int64(params.blocks)):
        join_group(dev, plane, _lowest_block(dev, plane), place * params.groups // params.blocks)


@inlined
def deal_to_groups(dev):
    """Deal the blocks of a device that kept no groups so far to groups by rank, as many to each."""
    params = dev.params[0]
    dev.group_size[:] = 0
    dev.group_bits[:] = 0
    for plane in range(np.int64(params.planes)):
        _deal_plane(dev, plane)
