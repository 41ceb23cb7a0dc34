"""Blocks whose pages are programmed in any order, and of which partial blocks are erased.

The smallest partial blocks are the sub-blocks. Partial blocks are numbered as a heap: 1 is the block, `k` has
the halves `2 k` and `2 k + 1`. A page is erased iff it holds no logical page (-1).
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.flash.cells import program_page

#: More disturbances than any tolerance.
_MOST_DISTURBED = 255


@inlined
def level_of(node):
    """Return the level of a partial block: how often a block is halved to get it."""
    level = np.int64(0)
    while node >> (level + 1):
        level += 1
    return level


@inlined
def leaves_of(levels, node):
    """Return the first sub-block, within the block, of a partial block, and their number."""
    level = level_of(node)
    count = np.int64(1) << (levels - level)
    return (node - (np.int64(1) << level)) * count, count


@inlined
def program_anywhere(dev, ppn, lpn, version):
    """Program an erased page with a version of a logical page."""
    program_page(dev, ppn, lpn, version)
    dev.sub_block[ppn // np.int64(dev.params[0].pages_per_sub_block)].written += 1


@inlined
def lose(dev, ppn):
    """Count a programmed page that no logical page is mapped to any more."""
    dev.sub_block[ppn // np.int64(dev.params[0].pages_per_sub_block)].invalid += 1


@kernel
def _disturb(dev, sub, tolerance):
    """Count an erase next to a sub-block; return its valid pages if that destroys what it holds."""
    params = dev.params[0]
    if dev.disturbed[sub] < _MOST_DISTURBED:
        dev.disturbed[sub] += 1
    if tolerance < 0 or dev.disturbed[sub] <= tolerance:
        return np.int64(0)
    first = sub * np.int64(params.pages_per_sub_block)
    for ppn in range(first, first + params.pages_per_sub_block):
        if dev.physical[ppn].lpn >= 0:
            dev.physical[ppn].version = -1
    return np.int64(dev.sub_block[sub].written - dev.sub_block[sub].invalid)


@inlined
def _wipe(dev, sub):
    """Erase the pages of a sub-block."""
    params = dev.params[0]
    first = sub * np.int64(params.pages_per_sub_block)
    for ppn in range(first, first + params.pages_per_sub_block):
        dev.physical[ppn].lpn = -1
    record = dev.sub_block[sub]
    record.written = 0
    record.invalid = 0
    dev.counters[0].erase_square_rise += 2 * np.int64(record.erases) + 1
    record.erases += 1
    dev.disturbed[sub] = 0


@kernel
def erase_part(dev, block, first, count, tolerance):
    """Erase sub-blocks of a block, one beside the other, and disturb those next to them.

    Args:
        dev: the device.
        block: that is erased in part, or as a whole.
        first: the first of the sub-blocks, within the block.
        count: of them.
        tolerance: disturbances that data survives; -1 for any number.

    Returns:
        The pages that were programmed, those of them that were invalid, and valid pages destroyed beside.
    """
    params = dev.params[0]
    base = block * np.int64(params.sub_blocks)
    written, invalid, spoiled = np.int64(0), np.int64(0), np.int64(0)
    for s in range(first, first + count):
        written += dev.sub_block[base + s].written
        invalid += dev.sub_block[base + s].invalid
        _wipe(dev, base + s)
    dev.counters[0].erases += 1
    dev.counters[0].erased_sub_blocks += count
    if first > 0:
        spoiled += _disturb(dev, base + first - 1, tolerance)
    if first + count < params.sub_blocks:
        spoiled += _disturb(dev, base + first + count, tolerance)
    return written, invalid, spoiled
