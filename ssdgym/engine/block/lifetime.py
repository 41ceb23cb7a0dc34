"""Wear in the block family: worn blocks are retired, and bundles are given up. See `docs/lifetime.md`."""

import numpy as np

from ssdgym.engine.block.bundles import is_given_up, review, victim_of
from ssdgym.engine.blocks.index import join_pool
from ssdgym.engine.blocks.manager import retire
from ssdgym.engine.blocks.wear import is_worn
from ssdgym.engine.cells import settle_for
from ssdgym.engine.core.bits import quotient
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import RETIRED


@inlined
def release(dev, block):
    """Append an erased block to the pool or, if it is worn, retire it."""
    if is_worn(dev, block):
        retire(dev, block)
    else:
        join_pool(dev, block)


@inlined
def is_short(dev, plane):
    """Return whether cells wear out, and a plane has a victim and fewer than `least_free` free blocks."""
    if not dev.params[0].endures or dev.plane[plane].pool_count >= dev.merging[0].least_free:
        return False
    return victim_of(dev, plane) >= 0


@kernel
def _held(dev, plane):
    """Return how many bundles a plane can hold and still merge.

    If the device may shrink, this number also leaves the plane its original share of spare blocks.
    """
    params, merging = dev.params[0], dev.merging[0]
    blocks = np.int64(params.blocks)
    left = blocks - dev.plane[plane].gone_pages // np.int64(params.pages_per_block)
    held = max(left - merging.kept_free - 1, 0) // np.int64(merging.logical_blocks)
    if not params.shrinks:
        return held
    own = merging.bundles // np.int64(params.planes)
    return min(held, -(-own * left // blocks))


@kernel
def _supported(dev):
    """Return how many logical pages the device can have so that all its planes can still merge."""
    planes, merging = np.int64(dev.params[0].planes), dev.merging[0]
    bundles = np.int64(merging.bundles)
    for plane in range(planes):
        # Of the bundles below `bundles`, every `planes`-th one is in this plane.
        bundles = min(bundles, np.int64(_held(dev, plane)) * planes + plane)
    if merging.by_pages:
        bundles = quotient(bundles, planes) * planes
    return bundles * merging.span


@inlined
def settle(dev, block):
    """If a block has been retired, give up logical pages and bundles, or end the life of the device."""
    if dev.block[block].status & RETIRED:
        settle_for(dev, np.int64(_supported(dev)))
        for bundle in range(dev.merging[0].bundles):
            if is_given_up(dev, np.int64(bundle)):
                review(dev, np.int64(bundle))
