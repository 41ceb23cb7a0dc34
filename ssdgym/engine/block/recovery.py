"""How a device of the block family goes on after a power cut: bundles get the blocks that are found."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.block.bundles import forget, program, review, set_block, wears_out_by
from ssdgym.engine.block.lifetime import settle_losses
from ssdgym.engine.blocks.index import leave_pool
from ssdgym.engine.blocks.manager import count_valid
from ssdgym.engine.blocks.victims import adopt_worn
from ssdgym.engine.blocks.wear import mark_worn
from ssdgym.engine.core.bits import NONE
from ssdgym.engine.core.kernel import entry, kernel
from ssdgym.engine.flash import erase_cells


@kernel
def _adopt_block(dev, bundle, block, lpn, version):
    """Program again what a block of a bundle holds, and leave the map as it is."""
    size = np.int64(dev.params[0].pages_per_block)
    for ppn in range(block * size, (block + 1) * size):
        if lpn[ppn] < 0:
            continue
        holder = np.int64(dev.logical[lpn[ppn]].ppn)
        program(dev, np.int64(ppn), lpn[ppn], version[ppn])
        dev.logical[lpn[ppn]].ppn = holder
        if holder == ppn:
            count_valid(dev, dev.block[block].plane)
        else:
            forget(dev, bundle, np.int64(ppn))


@entry
def erase_leaves(dev, block, first, count):
    """Count an erase of sub-blocks that the recovery does; return whether it is the last one of the block."""
    erase_cells(dev, block, (~NONE >> np.uint64(64 - count)) << np.uint64(first))
    dev.counters[0].erases += 1
    return dev.params[0].endures != 0 and wears_out_by(dev, block, first, count)


@entry
def adopt_bundles(dev, owner, slot, lpn, version, worn):
    """Let an empty device take over the pages that have been found and mapped.

    `owner` (blocks,) is the bundle of each block, or -1, `slot` its slot there; `lpn`, `version` (pages,)
    what pages hold, -1 for erased ones; `worn` uint8 (blocks,) the status of worn blocks, 0 of others.
    """
    params = dev.params[0]
    for block in range(np.int64(params.planes) * params.blocks):
        if owner[block] >= 0:
            leave_pool(dev, np.int64(block))
            set_block(dev, owner[block], slot[block], np.int64(block))
            _adopt_block(dev, owner[block], np.int64(block), lpn, version)
            if worn[block]:
                mark_worn(dev, np.int64(block))
        elif worn[block]:
            adopt_worn(dev, np.int64(block), worn[block])
    for bundle in range(dev.merging[0].bundles):
        review(dev, np.int64(bundle))
    if params.endures:
        settle_losses(dev)
