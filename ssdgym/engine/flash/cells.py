"""What flash holds: the only writer of pages, of the pages counted in a sub-block, and of wear.

Pages are programmed in order within a sub-block: the pages below its `written` hold data or are invalid. This
is the program order of the page family; `erase_cells`, the audit and the moves of a GC round rely on it.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import has
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.records import HARDWARE
from ssdgym.engine.flash.sub_blocks import beside


@inlined
def check_page(dev, lpn, ppn):
    """Read a page: does it hold the newest version of the logical page, or is that lost."""
    dev.counters[0].flash_reads += 1
    page = dev.physical[ppn]
    if page.lpn != lpn or page.version != dev.logical[lpn].version:
        dev.counters[0].lost_pages += 1


@inlined
def program_page(dev, ppn, lpn, version):
    """Program a page with a version of a logical page."""
    page = dev.physical[ppn]
    page.lpn = lpn
    page.version = version


@inlined
def count_written(dev, sub, pages):
    """Count pages that have been programmed in a sub-block; returns how many are written now."""
    record = dev.sub_block[sub]
    record.written += pages
    return record.written


@inlined
def invalidate_pages(dev, sub, pages):
    """Count pages of a sub-block that no logical page is mapped to any more."""
    dev.sub_block[sub].invalid += pages


@inlined
def _spoil(dev, block, mask):
    """Lose what every written page of the sub-blocks of `mask` holds."""
    params = dev.params[0]
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub = block * params.sub_blocks + s
            first = sub * params.pages_per_sub_block
            for ppn in range(first, first + dev.sub_block[sub].written):
                dev.physical[ppn].version = -1


@inlined
def erase_cells(dev, block, mask):
    """Erase the sub-blocks of `mask`; returns how many of their pages were written, and how many invalid."""
    params = dev.params[0]
    if params.disturbs and params.isolation != HARDWARE:
        _spoil(dev, block, beside(params, mask))
    written, invalid = 0, 0
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[block * params.sub_blocks + s]
            written += sub_block.written
            invalid += sub_block.invalid
            sub_block.written = 0
            sub_block.invalid = 0
            dev.counters[0].erase_square_rise += 2 * np.int64(sub_block.erases) + 1
            sub_block.erases += 1
            dev.counters[0].erased_sub_blocks += 1
    return written, invalid
