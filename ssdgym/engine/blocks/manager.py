"""Flash: programming, invalidating and erasing pages. Wear and reads are counted here, not by policies."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.lists import enter_index, join_pool, leave_index, leave_pool, raise_invalid
from ssdgym.engine.core.bits import has, quotient, remainder
from ssdgym.engine.core.kernel import inlined, prefetch
from ssdgym.engine.core.records import HARDWARE, INDEXED, MAX_STREAMS, OPEN, SUB_BLOCK
from ssdgym.engine.decisions import CLOSED, ERASED, OPENED, block_event
from ssdgym.engine.flash.sub_blocks import beside
from ssdgym.engine.speedupgc.groups import ANYTHING, INVALIDATED, reclassify

#: Sub-blocks in a line of memory.
_PER_LINE = 64 // SUB_BLOCK.itemsize


@inlined
def sub_block_of(params, ppn):
    """Sub-block of a physical page, numbered through the whole device."""
    return quotient(ppn, params.pages_per_sub_block)


@inlined
def block_of(params, sub):
    """Block of a sub-block."""
    if params.sub_blocks == 1:
        return sub
    return quotient(sub, params.sub_blocks)


@inlined
def plane_of(params, ppn):
    """Plane of a physical page."""
    return quotient(ppn, np.int64(params.blocks) * params.pages_per_block)


@inlined
def die_of(params, ppn):
    """Die of a physical page."""
    return remainder(plane_of(params, ppn), params.dies)


@inlined
def check_page(dev, lpn, ppn):
    """One read of flash: does the page hold the newest version of the logical page?"""
    dev.counters[0].flash_reads += 1
    page = dev.physical[ppn]
    if page.lpn != lpn or page.version != dev.logical[lpn].version:
        dev.counters[0].lost_pages += 1


@inlined
def count_invalid(dev, ppn, change):
    """A page has become invalid, which is what changed in its block unless ANYTHING has; returns the
    block.
    """
    params = dev.params[0]
    sub = sub_block_of(params, ppn)
    dev.sub_block[sub].invalid += 1
    block = block_of(params, sub)
    record = dev.block[block]
    if record.status & INDEXED:
        raise_invalid(dev, block)
        reclassify(dev, block, change, sub - block * params.sub_blocks)
    else:
        record.invalid += 1
    return block


@inlined
def prefetch_block(dev, block):
    """What is kept about a block will be needed soon."""
    params = dev.params[0]
    prefetch(dev.block, block)
    prefetch(dev.best, block)
    base = block * params.sub_blocks
    for s in range(0, params.sub_blocks, _PER_LINE):
        prefetch(dev.sub_block, base + s)


@inlined
def prefetch_holder(dev, lpn):
    """A logical page will be written soon: what is kept about the block that holds it will be needed."""
    params = dev.params[0]
    ppn = np.int64(dev.logical[lpn].ppn)
    if ppn >= 0:
        prefetch_block(dev, block_of(params, sub_block_of(params, ppn)))


@inlined
def invalidate(dev, clock, ppn):
    """The page has been overwritten or trimmed."""
    record = dev.block[count_invalid(dev, ppn, INVALIDATED)]
    record.invalidated_at = clock
    dev.plane[record.plane].valid -= 1


@inlined
def _first_writable(dev, block, first):
    """Lowest sub-block of ``block`` with unwritten pages from its ``first`` on, as a global number; -1
    if none.
    """
    params = dev.params[0]
    base = block * params.sub_blocks
    for sub in range(base + first, base + params.sub_blocks):
        if dev.sub_block[sub].written < params.pages_per_sub_block:
            return sub
    return -1


@inlined
def _begin_sub_block(dev, block, sub):
    """Write to this sub-block of an open block from now on; what it holds counts again when it is full."""
    if sub >= 0:
        dev.block[block].written -= dev.sub_block[sub].written
    return sub


@inlined
def _open(dev, plane, stream):
    """Open the head of the plane's pool for a stream: its first writable sub-block, or -1 when out of
    space.
    """
    block = np.int64(dev.plane[plane].pool_head)
    if block < 0:
        return -1
    leave_pool(dev, block)
    record = dev.block[block]
    if record.status & INDEXED:
        leave_index(dev, block)
    record.status |= OPEN
    record.stream = stream
    block_event(dev, OPENED, plane, block)
    return _begin_sub_block(dev, block, _first_writable(dev, block, 0))


@inlined
def _advance_sub_block(dev, clock, sub):
    """A sub-block is full: the next one of its block to write to, or -1 after closing the block."""
    params = dev.params[0]
    block = block_of(params, sub)
    record = dev.block[block]
    record.written += params.pages_per_sub_block
    following = _first_writable(dev, block, sub - block * params.sub_blocks + 1)
    if following < 0:
        record.status &= ~OPEN
        record.closed_at = clock
        enter_index(dev, block)
        block_event(dev, CLOSED, np.int64(record.plane), block)
    return _begin_sub_block(dev, block, following)


@inlined
def writable_sub_block(dev, plane, stream):
    """The open sub-block of (plane, stream), opened if there is none; -1 when the plane has no free block
    left.
    """
    slot = plane * MAX_STREAMS + stream
    sub = np.int64(dev.open_sub_block[slot])
    if sub < 0:
        sub = _open(dev, plane, stream)
        dev.open_sub_block[slot] = sub
    return sub


@inlined
def row_of(dev, plane, stream):
    """Number within its block of the page that (plane, stream) programs next, -1 when out of space."""
    params = dev.params[0]
    sub = np.int64(dev.open_sub_block[plane * MAX_STREAMS + stream])
    if sub < 0:
        block = np.int64(dev.plane[plane].pool_head)
        if block < 0:
            return np.int64(-1)
        sub = np.int64(_first_writable(dev, block, 0))
    ppn = sub * params.pages_per_sub_block + dev.sub_block[sub].written
    return remainder(ppn, params.pages_per_block)


@inlined
def note_relocated(dev, block, pages):
    """So many relocated pages have been programmed in a block, one behind the other: those with another one
    before or behind them are clustered.
    """
    record = dev.block[block]
    before = np.int64(record.relocated_run)
    dev.counters[0].relocated_runs += before == 0
    if before + pages > 1:
        dev.counters[0].clustered_pages += pages + (before == 1)
    record.relocated_run = min(2, before + pages)


@inlined
def note_program(dev, block, relocated):
    """A page has been programmed in a block: one of the host ends a run of relocated ones."""
    if relocated:
        note_relocated(dev, block, 1)
    else:
        dev.block[block].relocated_run = 0


@inlined
def count_programs(dev, clock, plane, stream, sub, programs):
    """Account for ``programs`` pages just written to the open sub-block of (plane, stream)."""
    params = dev.params[0]
    sub_block = dev.sub_block[sub]
    sub_block.written += programs
    dev.plane[plane].free_pages -= programs
    if sub_block.written == params.pages_per_sub_block:
        dev.open_sub_block[plane * MAX_STREAMS + stream] = _advance_sub_block(dev, clock, sub)


@inlined
def program(dev, plane, stream, lpn, version, relocated):
    """Program the next page of (plane, stream): its number, or -1 when the plane has no free block left."""
    params = dev.params[0]
    control = dev.control[0]
    sub = writable_sub_block(dev, plane, stream)
    if sub < 0:
        return -1
    ppn = sub * params.pages_per_sub_block + dev.sub_block[sub].written
    page = dev.physical[ppn]
    page.lpn = lpn
    page.version = version
    note_program(dev, block_of(params, sub), relocated)
    count_programs(dev, control.clock, plane, stream, sub, 1)
    return ppn


@inlined
def _disturb(dev, block, mask):
    """Spoil every written page of the sub-blocks of ``mask``."""
    params = dev.params[0]
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub = block * params.sub_blocks + s
            first = sub * params.pages_per_sub_block
            for ppn in range(first, first + dev.sub_block[sub].written):
                dev.physical[ppn].version = -1


@inlined
def erase(dev, block, mask):
    """Erase the sub-blocks of ``mask``; the block joins the pool, and the index if written pages are left."""
    params = dev.params[0]
    if params.disturbs and params.isolation != HARDWARE:
        _disturb(dev, block, beside(params, mask))
    record = dev.block[block]
    block_event(dev, ERASED, np.int64(record.plane), block)
    freed = 0
    for s in range(params.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[block * params.sub_blocks + s]
            freed += sub_block.written
            record.invalid -= sub_block.invalid
            sub_block.written = 0
            sub_block.invalid = 0
            sub_block.erases += 1
            dev.counters[0].erased_sub_blocks += 1
    record.written -= freed
    record.relocated_run = 0
    dev.plane[record.plane].free_pages += freed
    dev.counters[0].erases += 1
    join_pool(dev, block)
    if record.written > 0:
        enter_index(dev, block)
    reclassify(dev, block, ANYTHING, 0)
