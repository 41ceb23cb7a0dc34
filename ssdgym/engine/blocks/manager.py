"""Flash: programming, invalidating and erasing pages. Wear and reads are counted here, not by policies."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.lists import enter_index, join_pool, leave_index, leave_pool, raise_invalid
from ssdgym.engine.core.bits import has, quotient, remainder
from ssdgym.engine.core.kernel import inlined, prefetch
from ssdgym.engine.core.records import HARDWARE, INDEXED, MAX_STREAMS, OPEN, SUB_BLOCK
from ssdgym.engine.flash.sub_blocks import beside
from ssdgym.engine.speedupgc.groups import ANYTHING, INVALIDATED, reclassify

#: Sub-blocks in a line of memory.
_PER_LINE = 64 // SUB_BLOCK.itemsize


@inlined
def unit_of(geometry, ppn):
    """Sub-block of a physical page, numbered through the whole device."""
    return quotient(ppn, geometry.pages_per_sub_block)


@inlined
def block_of(geometry, unit):
    """Block of a sub-block."""
    if geometry.sub_blocks == 1:
        return unit
    return quotient(unit, geometry.sub_blocks)


@inlined
def plane_of(geometry, ppn):
    """Plane of a physical page."""
    return quotient(ppn, np.int64(geometry.blocks) * geometry.pages_per_block)


@inlined
def die_of(geometry, ppn):
    """Die of a physical page."""
    return remainder(plane_of(geometry, ppn), geometry.dies)


@inlined
def check_page(dev, run, lpn, ppn):
    """One read of flash: does the page hold the newest version of the logical page?"""
    run.flash_reads += 1
    page = dev.physical[ppn]
    if page.lpn != lpn or page.version != dev.logical[lpn].version:
        run.lost_pages += 1


@inlined
def count_invalid(dev, geometry, ppn, change):
    """A page has become invalid, which is what changed in its block unless ANYTHING has; returns the
    block.
    """
    unit = unit_of(geometry, ppn)
    dev.sub_block[unit].invalid += 1
    block = block_of(geometry, unit)
    record = dev.block[block]
    if record.status & INDEXED:
        raise_invalid(dev, geometry, block)
        reclassify(dev, geometry, block, change, unit - block * geometry.sub_blocks)
    else:
        record.invalid += 1
    return block


@inlined
def prefetch_block(dev, geometry, block):
    """What is kept about a block will be needed soon."""
    prefetch(dev.block, block)
    prefetch(dev.best, block)
    base = block * geometry.sub_blocks
    for s in range(0, geometry.sub_blocks, _PER_LINE):
        prefetch(dev.sub_block, base + s)


@inlined
def prefetch_holder(dev, geometry, lpn):
    """A logical page will be written soon: what is kept about the block that holds it will be needed."""
    ppn = np.int64(dev.logical[lpn].ppn)
    if ppn >= 0:
        prefetch_block(dev, geometry, block_of(geometry, unit_of(geometry, ppn)))


@inlined
def invalidate(dev, geometry, clock, ppn):
    """The page has been overwritten or trimmed."""
    record = dev.block[count_invalid(dev, geometry, ppn, INVALIDATED)]
    record.invalidated_at = clock
    dev.plane[record.plane].valid -= 1


@inlined
def _first_writable_unit(dev, geometry, block, first):
    """Lowest sub-block of ``block`` with unwritten pages from its ``first`` on, as a global number; -1
    if none.
    """
    base = block * geometry.sub_blocks
    for unit in range(base + first, base + geometry.sub_blocks):
        if dev.sub_block[unit].written < geometry.pages_per_sub_block:
            return unit
    return -1


@inlined
def _begin_unit(dev, block, unit):
    """Write to this sub-block of an open block from now on; what it holds counts again when it is full."""
    if unit >= 0:
        dev.block[block].written -= dev.sub_block[unit].written
    return unit


@inlined
def _open(dev, geometry, plane, stream):
    """Open the head of the plane's pool for a stream: its first writable sub-block, or -1 when out of
    space.
    """
    block = np.int64(dev.plane[plane].pool_head)
    if block < 0:
        return -1
    leave_pool(dev, geometry, block)
    record = dev.block[block]
    if record.status & INDEXED:
        leave_index(dev, geometry, block)
    record.status |= OPEN
    record.stream = stream
    return _begin_unit(dev, block, _first_writable_unit(dev, geometry, block, 0))


@inlined
def _advance_unit(dev, geometry, clock, unit):
    """A sub-block is full: the next one of its block to write to, or -1 after closing the block."""
    block = block_of(geometry, unit)
    record = dev.block[block]
    record.written += geometry.pages_per_sub_block
    following = _first_writable_unit(dev, geometry, block, unit - block * geometry.sub_blocks + 1)
    if following < 0:
        record.status &= ~OPEN
        record.closed_at = clock
        enter_index(dev, geometry, block)
    return _begin_unit(dev, block, following)


@inlined
def writable_unit(dev, geometry, plane, stream):
    """The open sub-block of (plane, stream), opened if there is none; -1 when the plane has no free block
    left.
    """
    slot = plane * MAX_STREAMS + stream
    unit = np.int64(dev.open_unit[slot])
    if unit < 0:
        unit = _open(dev, geometry, plane, stream)
        dev.open_unit[slot] = unit
    return unit


@inlined
def row_of(dev, geometry, plane, stream):
    """Number within its block of the page that (plane, stream) programs next, -1 when out of space."""
    unit = np.int64(dev.open_unit[plane * MAX_STREAMS + stream])
    if unit < 0:
        block = np.int64(dev.plane[plane].pool_head)
        if block < 0:
            return np.int64(-1)
        unit = np.int64(_first_writable_unit(dev, geometry, block, 0))
    ppn = unit * geometry.pages_per_sub_block + dev.sub_block[unit].written
    return remainder(ppn, geometry.pages_per_block)


@inlined
def note_relocated(dev, run, block, pages):
    """So many relocated pages have been programmed in a block, one behind the other: those with another one
    before or behind them are clustered.
    """
    record = dev.block[block]
    before = np.int64(record.relocated_run)
    run.relocated_runs += before == 0
    if before + pages > 1:
        run.clustered_pages += pages + (before == 1)
    record.relocated_run = min(2, before + pages)


@inlined
def note_program(dev, run, block, relocated):
    """A page has been programmed in a block: one of the host ends a run of relocated ones."""
    if relocated:
        note_relocated(dev, run, block, 1)
    else:
        dev.block[block].relocated_run = 0


@inlined
def count_programs(dev, geometry, clock, plane, stream, unit, programs):
    """Account for ``programs`` pages just written to the open sub-block of (plane, stream)."""
    sub_block = dev.sub_block[unit]
    sub_block.written += programs
    dev.plane[plane].free_pages -= programs
    if sub_block.written == geometry.pages_per_sub_block:
        dev.open_unit[plane * MAX_STREAMS + stream] = _advance_unit(dev, geometry, clock, unit)


@inlined
def program(dev, geometry, run, plane, stream, lpn, version, relocated):
    """Program the next page of (plane, stream): its number, or -1 when the plane has no free block left."""
    unit = writable_unit(dev, geometry, plane, stream)
    if unit < 0:
        return -1
    ppn = unit * geometry.pages_per_sub_block + dev.sub_block[unit].written
    page = dev.physical[ppn]
    page.lpn = lpn
    page.version = version
    note_program(dev, run, block_of(geometry, unit), relocated)
    count_programs(dev, geometry, run.clock, plane, stream, unit, 1)
    return ppn


@inlined
def _disturb(dev, geometry, block, mask):
    """Spoil every written page of the sub-blocks of ``mask``."""
    for s in range(geometry.sub_blocks):
        if has(mask, s):
            unit = block * geometry.sub_blocks + s
            first = unit * geometry.pages_per_sub_block
            for ppn in range(first, first + dev.sub_block[unit].written):
                dev.physical[ppn].version = -1


@inlined
def erase(dev, geometry, run, block, mask):
    """Erase the sub-blocks of ``mask``; the block joins the pool, and the index if written pages are left."""
    if geometry.disturbs and geometry.isolation != HARDWARE:
        _disturb(dev, geometry, block, beside(geometry, mask))
    record = dev.block[block]
    freed = 0
    for s in range(geometry.sub_blocks):
        if has(mask, s):
            sub_block = dev.sub_block[block * geometry.sub_blocks + s]
            freed += sub_block.written
            record.invalid -= sub_block.invalid
            sub_block.written = 0
            sub_block.invalid = 0
            sub_block.erases += 1
            run.erased_sub_blocks += 1
    record.written -= freed
    record.relocated_run = 0
    dev.plane[record.plane].free_pages += freed
    run.erases += 1
    join_pool(dev, geometry, block)
    if record.written > 0:
        enter_index(dev, geometry, block)
    reclassify(dev, geometry, block, ANYTHING, 0)
