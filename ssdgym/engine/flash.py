"""Contents of pages, erase counts, physical addresses, durations of commands."""

from typing import Any, NamedTuple

import numpy as np

from ssdgym.engine.core.bits import NONE, ONE, full_mask, has, quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import SOFTWARE


@inlined
def sub_block_of(params, ppn):
    """Return the number, counted over the whole device, of a physical page's sub-block."""
    return quotient(ppn, params.pages_per_sub_block)


@inlined
def block_of(params, sub):
    """Return the block of a sub-block."""
    if params.sub_blocks == 1:
        return sub
    return quotient(sub, params.sub_blocks)


@inlined
def plane_of(params, ppn):
    """Return the plane of a physical page."""
    return quotient(ppn, np.int64(params.blocks) * params.pages_per_block)


@inlined
def die_of(params, ppn):
    """Return the die of a physical page."""
    return remainder(plane_of(params, ppn), params.dies)


@inlined
def beside(params, mask):
    """Return the mask of the sub-blocks outside `mask` that are next to one of its sub-blocks."""
    return ((mask << ONE) | (mask >> ONE)) & ~mask & full_mask(params.sub_blocks)


@inlined
def neighbours_of(params, mask):
    """Return the sub-blocks, a mask, that are only emptied when `mask` is erased (software isolation)."""
    if params.isolation == SOFTWARE:
        return beside(params, mask)
    return NONE


@inlined
def invalid_in(dev, block, mask):
    """Count the invalid pages in the sub-blocks of `mask`."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    invalid = 0
    for s in range(params.sub_blocks):
        if has(mask, s):
            invalid += dev.sub_block[base + s].invalid
    return invalid


@inlined
def valid_in(dev, block, mask):
    """Count the valid pages in the sub-blocks of `mask`."""
    params = dev.params[0]
    base = np.int64(block) * params.sub_blocks
    valid = 0
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[base + s]
            valid += sub_block.written - sub_block.invalid
    return valid


# Only the following functions write `physical`, `sub_block` and `disturbed`.
#
# In the page family, the pages of a sub-block are programmed in order: page k is written iff k is below
# `written`. `erase_cells`, the count of lost pages and the moves of a GC round rely on this order.


@inlined
def is_valid(dev, ppn):
    """Return whether a logical page is mapped to a physical page (sub-page family: a sector to a slot)."""
    lpn = np.int64(dev.physical[ppn].lpn)
    return lpn >= 0 and dev.logical[lpn].ppn == ppn


@inlined
def check_page(dev, lpn, ppn):
    """Read a page; count it as lost unless it holds the newest version of the logical page."""
    dev.counters[0].flash_reads += 1
    page = dev.physical[ppn]
    if page.lpn != lpn or page.version != dev.logical[lpn].version:
        dev.counters[0].lost_pages += 1


@inlined
def program_page(dev, ppn, lpn, version):
    """Store in a physical page which version of which logical page is programmed to it."""
    page = dev.physical[ppn]
    page.lpn = lpn
    page.version = version


@inlined
def count_written(dev, sub, pages):
    """Count `pages` more pages of a sub-block as written; return the sub-block's number of written pages."""
    record = dev.sub_block[sub]
    record.written += pages
    return record.written


@inlined
def invalidate_pages(dev, sub, pages):
    """Count `pages` more pages of a sub-block as invalid."""
    dev.sub_block[sub].invalid += pages


@inlined
def erase_cells(dev, block, mask):
    """Erase the sub-blocks of `mask`; return how many of their pages were written, and how many invalid."""
    params = dev.params[0]
    written, invalid = 0, 0
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[block * params.sub_blocks + s]
            written += sub_block.written
            invalid += sub_block.invalid
            sub_block.written = sub_block.invalid = 0
            dev.counters[0].erase_square_rise += 2 * np.int64(sub_block.erases) + 1
            sub_block.erases += 1
            dev.counters[0].erased_sub_blocks += 1
    return written, invalid


# The block family: the pages of a block are programmed in any order, and partial blocks can be erased.
#
# The smallest partial blocks are the sub-blocks. Partial blocks are numbered as a heap: 1 is the block, `k`
# has the halves `2 k` and `2 k + 1`. A page is erased iff its `lpn` is -1.

#: Disturbances of a sub-block are counted up to this number, which is above any tolerance.
_MOST_DISTURBED = 255


@inlined
def level_of(node):
    """Return the level of partial block `node`: how many times a block is halved to get the partial block."""
    level = np.int64(0)
    while node >> (level + 1):
        level += 1
    return level


@inlined
def leaves_of(levels, node):
    """Return a partial block's first sub-block, numbered in the block, and how many sub-blocks it has."""
    level = level_of(node)
    count = np.int64(1) << (levels - level)
    return (node - (np.int64(1) << level)) * count, count


@kernel
def _disturb(dev, sub, tolerance):
    """Count an erase next to a sub-block; return how many valid pages of the sub-block the erase destroys."""
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


@kernel
def erase_part(dev, block, first, count, tolerance):
    """Erase `count` sub-blocks of a block, beginning with number `first`; disturb the sub-blocks beside them.

    Data survives `tolerance` disturbances, or any number if `tolerance` is -1. Returns three numbers: of
    erased pages that were written, of erased pages that were invalid, of valid pages destroyed beside them.
    """
    params = dev.params[0]
    base, pages = block * np.int64(params.sub_blocks), np.int64(params.pages_per_sub_block)
    written, invalid, spoiled = np.int64(0), np.int64(0), np.int64(0)
    for sub in range(base + first, base + first + count):
        record = dev.sub_block[sub]
        written += record.written
        invalid += record.invalid
        for ppn in range(sub * pages, (sub + 1) * pages):
            dev.physical[ppn].lpn = -1
        record.written = record.invalid = 0
        dev.counters[0].erase_square_rise += 2 * np.int64(record.erases) + 1
        record.erases += 1
        dev.disturbed[sub] = 0
    dev.counters[0].erases += 1
    dev.counters[0].erased_sub_blocks += count
    if first > 0:
        spoiled += _disturb(dev, base + first - 1, tolerance)
    if first + count < params.sub_blocks:
        spoiled += _disturb(dev, base + first + count, tolerance)
    return written, invalid, spoiled


#: Duration of a phase that a command does not have. A phase of 0 ns, in contrast, has an event.
NO_PHASE = -1


class Phases(NamedTuple):
    """Durations of the phases of a command, ns."""

    array_ns: Any  # on the die, before the transfer; NO_PHASE: the command begins with its transfer
    transfer_ns: Any  # on the channel; NO_PHASE: the command ends after its first phase
    after_ns: Any  # on the die, after the transfer


@inlined
def read_phases(params):
    """Return the phases of a page read."""
    return Phases(np.int64(params.read_ns), np.int64(params.transfer_ns), np.int64(0))


@inlined
def write_phases(params, pages):
    """Return the phases of a command that writes one page in each of `pages` planes."""
    return Phases(np.int64(NO_PHASE), np.int64(params.transfer_ns * pages), np.int64(params.program_ns))


@inlined
def move_phases(params, pages):
    """Return the phases of a command that relocates one page in each of `pages` planes."""
    if params.copyback:
        return Phases(np.int64(params.read_ns + params.program_ns), np.int64(NO_PHASE), np.int64(0))
    return Phases(
        np.int64(params.read_ns), np.int64(2 * pages * params.transfer_ns), np.int64(params.program_ns)
    )


@inlined
def erase_phases(params):
    """Return the phases of an erase."""
    return Phases(np.int64(params.erase_ns), np.int64(NO_PHASE), np.int64(0))


@inlined
def duration_of(phases):
    """Return the nominal time of a command: ns, without waits for its channel."""
    return max(phases.array_ns, 0) + max(phases.transfer_ns, 0) + phases.after_ns
