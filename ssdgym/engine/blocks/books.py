"""The ways in which a change of a block reaches the tables that are kept about blocks."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined, prefetch
from ssdgym.engine.core.records import SUB_BLOCK
from ssdgym.engine.flash.addresses import block_of, sub_block_of
from ssdgym.engine.speedupgc.groups import ANYTHING, INVALIDATED, PROGRAMMED, reclassify, withdraw
from ssdgym.engine.speedupgc.trees import mark_dirty

__all__ = [
    "ANYTHING",
    "INVALIDATED",
    "PROGRAMMED",
    "block_changed",
    "block_listed",
    "block_withdrawn",
    "prefetch_block",
    "prefetch_holder",
]

#: Sub-blocks in a line of memory.
_PER_LINE = 64 // SUB_BLOCK.itemsize


@inlined
def block_changed(dev, block, change, s):
    """Bring the tables up to date after a change of a block: of a page in its sub-block `s`, or ANYTHING."""
    reclassify(dev, block, change, s)


@inlined
def block_listed(dev, block):
    """Bring the tables up to date after a block's place in the index, or its invalid pages, have changed."""
    mark_dirty(dev, block)


@inlined
def block_withdrawn(dev, block):
    """Bring the tables up to date after a block has become a victim."""
    withdraw(dev, block)


@inlined
def prefetch_block(dev, block):
    """Ask for the memory of what is kept about a block."""
    params = dev.params[0]
    prefetch(dev.block, block)
    if params.tree_leaves > 0 or params.groups > 0:
        prefetch(dev.best, block)
    sub = block * params.sub_blocks
    end = sub + params.sub_blocks
    while sub < end:
        prefetch(dev.sub_block, sub)
        sub += _PER_LINE


@inlined
def prefetch_holder(dev, lpn):
    """Ask for the memory of what is kept about the block that holds a logical page."""
    params = dev.params[0]
    ppn = np.int64(dev.logical[lpn].ppn)
    if ppn >= 0:
        prefetch_block(dev, block_of(params, sub_block_of(params, ppn)))
