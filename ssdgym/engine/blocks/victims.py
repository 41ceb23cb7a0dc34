"""Blocks that are collected: they leave the books, are emptied and erased, and join them again or retire."""

import numpy as np

from ssdgym.engine.blocks.index import (
    enter_index,
    join_pool,
    leave_index,
    leave_pool,
    lower_max_invalid,
)
from ssdgym.engine.blocks.manager import stream_of
from ssdgym.engine.cells import count_retired, wears_out
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import POOLED, RETIRED, WORN
from ssdgym.engine.decisions import COLLECTED, ERASED, RECYCLED, block_event
from ssdgym.engine.flash import erase_cells, invalidate_pages


@inlined
def vacate(dev, block, sub, pages):
    """Count pages of a victim's sub-block that have been relocated."""
    invalidate_pages(dev, sub, pages)
    record = dev.block[block]
    record.invalid += pages
    stream_of(dev, record).valid -= pages


@kernel
def withdraw_block(dev, block, valid):
    """Take a block that has become a victim, with `valid` pages to move, out of index and pool."""
    stream = stream_of(dev, dev.block[block])
    stream.victims += 1
    stream.victim_valid_pages += valid
    leave_index(dev, block)
    if dev.block[block].status & POOLED:
        leave_pool(dev, block)
    lower_max_invalid(dev, np.int64(dev.block[block].plane))
    block_event(dev, COLLECTED, np.int64(dev.block[block].plane), block)


@inlined
def lose_pages(dev, plane, pages):
    """Lower the limit of valid pages of a plane for good."""
    dev.plane[plane].gone_pages += pages


@kernel
def retire(dev, block):
    """Let an erased block never be written again."""
    record, pages = dev.block[block], np.int64(dev.params[0].pages_per_block)
    record.status |= RETIRED
    dev.plane[record.plane].free_pages -= pages
    lose_pages(dev, record.plane, pages)
    count_retired(dev)


@kernel
def erase(dev, block, mask):
    """Erase the sub-blocks of `mask`; the block joins the pool, and the index if written pages are left.

    One that is worn out is retired instead, or left where it is until the rest of it is erased, too.
    """
    record = dev.block[block]
    block_event(dev, ERASED, np.int64(record.plane), block)
    written, invalid = erase_cells(dev, block, mask)
    record.invalid -= invalid
    record.written -= written
    record.relocated_run = 0
    dev.plane[record.plane].free_pages += written
    dev.counters[0].erases += 1
    if dev.params[0].endures and wears_out(dev, block, mask):
        record.status |= WORN
    if record.status & WORN:
        if record.written > 0:
            return
        retire(dev, block)
    else:
        join_pool(dev, block)
    if record.written > 0:
        enter_index(dev, block)
    else:
        stream = stream_of(dev, record)
        stream.blocks -= 1
        stream.closed_sum -= record.closed_at
    block_event(dev, RECYCLED, np.int64(record.plane), block)
