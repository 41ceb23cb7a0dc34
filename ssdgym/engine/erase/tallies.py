"""What is counted of the candidates of an ERASE decision, for features to be made of."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import has
from ssdgym.engine.core.kernel import count_bits, inlined, prefetch
from ssdgym.engine.decisions import ERASE
from ssdgym.engine.flash.addresses import sub_block_of
from ssdgym.engine.flash.sub_blocks import neighbours_of, valid_in

#: Logical pages of an aligned group, a power of two: their entries of the map lie beside each other.
GROUP = 4


@inlined
def _count_pair(dev, block, mask, tally):
    """Add a pair's sub-blocks, pages and erases to the tally."""
    params = dev.params[0]
    base = block * params.sub_blocks
    tally.sub_blocks += np.int64(count_bits(mask))
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[base + s]
            tally.written += sub_block.written
            tally.invalid += sub_block.invalid
            tally.erases += sub_block.erases
            tally.spent += sub_block.invalid == params.pages_per_sub_block
    tally.beside += valid_in(dev, block, neighbours_of(params, mask))
    record = dev.block[block]
    tally.relocated += params.streams > 1 and record.stream == params.gc_stream
    tally.invalidated_at = max(tally.invalidated_at, record.invalidated_at)
    tally.closed_at = max(tally.closed_at, record.closed_at)


@inlined
def _clear(tally):
    tally.sub_blocks = 0
    tally.written = 0
    tally.invalid = 0
    tally.beside = 0
    tally.spent = 0
    tally.erases = 0
    tally.relocated = 0
    tally.invalidated_at = 0
    tally.closed_at = 0
    tally.proposers = np.uint64(0)
    tally.sampled = 0
    tally.updates = 0
    tally.neighbours = 0
    tally.neighbour_updates = 0


@inlined
def fetch_sampled(dev, erase_set, pairs, stride):
    """Fetch the map's entries for the pages that `count_candidate` will look at, without waiting for them."""
    pages = np.int64(dev.params[0].pages_per_block)
    for k in range(pairs):
        first = erase_set[k].block * pages
        for ppn in range(first, first + pages, stride):
            prefetch(dev.logical, max(np.int64(dev.physical[ppn].lpn), 0))


@inlined
def _count_updates(dev, block, mask, stride, tally):
    """Add how often the host has written valid pages of a pair, and the others of their groups."""
    params = dev.params[0]
    first = block * params.pages_per_block
    for ppn in range(first, first + params.pages_per_block, stride):
        lpn = max(np.int64(dev.physical[ppn].lpn), 0)
        if dev.logical[lpn].ppn != ppn:
            continue
        if params.sub_blocks > 1 and not has(mask, sub_block_of(params, ppn) - block * params.sub_blocks):
            continue
        own = np.int64(dev.logical[lpn].version)
        tally.sampled += 1
        tally.updates += own
        start = lpn & ~np.int64(GROUP - 1)
        if start + GROUP <= params.logical_pages:
            total = -own
            for other in range(start, start + GROUP):
                total += dev.logical[other].version
            tally.neighbours += GROUP - 1
            tally.neighbour_updates += total


@inlined
def count_candidate(dev, erase_set, pairs, stride, tally):
    """Count what a candidate has.

    Args:
        dev: the device.
        erase_set: (MAX_PAIRS,) ERASE_PAIR.
        pairs: how many of them are used.
        stride: of how many pages of a block one is looked at, to count its updates; 0 for none.
        tally: the CANDIDATE to write to.
    """
    _clear(tally)
    tally.pairs = pairs
    for k in range(pairs):
        block, mask = np.int64(erase_set[k].block), erase_set[k].mask
        tally.block[k] = block
        tally.mask[k] = mask
        _count_pair(dev, block, mask, tally)
        if stride > 0:
            _count_updates(dev, block, mask, stride, tally)
    tally.valid = tally.written - tally.invalid


@inlined
def sum_up(dev, plane, mask, tallies, taken, decision):
    """Write what a decision is about as a whole.

    Args:
        dev: the device.
        plane: that collects.
        mask: (K,) int8, which candidates may be chosen.
        tallies: (K,) CANDIDATE.
        taken: the TAKEN of the device's last decision.
        decision: the DECISION to write to.
    """
    control = dev.control[0]
    erases, count = 0.0, 0
    for k in range(mask.shape[0]):
        if mask[k]:
            erases += tallies[k].erases / np.float64(tallies[k].sub_blocks)
            count += 1
    decision.kind = ERASE
    decision.plane = plane
    decision.candidates = count
    decision.mean_erases = erases / max(count, 1)
    decision.host_pages = control.clock - taken.clock
    decision.elapsed_ns = control.now - taken.now
