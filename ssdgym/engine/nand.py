"""Flash: programming, invalidating and erasing pages. Wear and reads are counted here, not by policies."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.arithmetic import quotient, remainder
from ssdgym.engine.index import enter_index, join_pool, leave_index, raise_invalid, take_from_pool
from ssdgym.engine.kernel import inlined
from ssdgym.engine.layout import INDEXED, MAX_STREAMS, OPEN


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
def count_invalid(dev, geometry, ppn):
    """A page of this block has become invalid; returns the block."""
    unit = unit_of(geometry, ppn)
    dev.sub_block[unit].invalid += 1
    block = block_of(geometry, unit)
    record = dev.block[block]
    if record.status & INDEXED:
        raise_invalid(dev, geometry, block)
    else:
        record.invalid += 1
    return block


@inlined
def invalidate(dev, geometry, clock, ppn):
    """The page has been overwritten or trimmed."""
    record = dev.block[count_invalid(dev, geometry, ppn)]
    record.invalidated_at = clock
    dev.plane[record.plane].valid -= 1


@inlined
def _first_free_unit(dev, geometry, block, first):
    """Lowest free sub-block of ``block`` from its ``first`` one on, as a global number; -1 if none."""
    base = block * geometry.sub_blocks
    for unit in range(base + first, base + geometry.sub_blocks):
        if dev.sub_block[unit].written == 0:
            return unit
    return -1


@inlined
def _open(dev, geometry, plane, stream):
    """Open the head of the plane's pool for a stream: its first free sub-block, or -1 when out of space."""
    block = take_from_pool(dev, geometry, plane)
    if block < 0:
        return -1
    record = dev.block[block]
    if record.status & INDEXED:
        leave_index(dev, geometry, block)
    record.status |= OPEN
    record.stream = stream
    return _first_free_unit(dev, geometry, block, 0)


@inlined
def _advance_unit(dev, geometry, clock, unit):
    """A sub-block is full: the next one of its block to write to, or -1 after closing the block."""
    block = block_of(geometry, unit)
    record = dev.block[block]
    record.written += geometry.pages_per_sub_block
    following = _first_free_unit(dev, geometry, block, unit - block * geometry.sub_blocks + 1)
    if following < 0:
        record.status &= ~OPEN
        record.closed_at = clock
        enter_index(dev, geometry, block)
    return following


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
def count_programs(dev, geometry, clock, plane, stream, unit, programs):
    """Account for ``programs`` pages just written to the open sub-block of (plane, stream)."""
    sub_block = dev.sub_block[unit]
    sub_block.written += programs
    dev.plane[plane].free_pages -= programs
    if sub_block.written == geometry.pages_per_sub_block:
        dev.open_unit[plane * MAX_STREAMS + stream] = _advance_unit(dev, geometry, clock, unit)


@inlined
def program(dev, geometry, clock, plane, stream, lpn, version):
    """Program the next page of (plane, stream): its number, or -1 when the plane has no free block left."""
    unit = writable_unit(dev, geometry, plane, stream)
    if unit < 0:
        return -1
    ppn = unit * geometry.pages_per_sub_block + dev.sub_block[unit].written
    page = dev.physical[ppn]
    page.lpn = lpn
    page.version = version
    count_programs(dev, geometry, clock, plane, stream, unit, 1)
    return ppn


@inlined
def erase(dev, geometry, run, block, mask):
    """Erase the sub-blocks of ``mask``; the block joins the pool, and the index if written pages are left."""
    record = dev.block[block]
    freed = 0
    for s in range(geometry.sub_blocks):
        if (mask >> np.uint64(s)) & np.uint64(1):
            sub_block = dev.sub_block[block * geometry.sub_blocks + s]
            freed += sub_block.written
            record.invalid -= sub_block.invalid
            sub_block.written = 0
            sub_block.invalid = 0
            sub_block.erases += 1
            run.erased_sub_blocks += 1
    record.written -= freed
    dev.plane[record.plane].free_pages += freed
    run.erases += 1
    join_pool(dev, geometry, block)
    if record.written > 0:
        enter_index(dev, geometry, block)
