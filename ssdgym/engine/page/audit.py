"""The audit: does every logical page have its newest data, and do all counts and lists add up?"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import entry, inlined, kernel
from ssdgym.engine.core.records import HOT_TO_VICTIMS, HOTNESS_GROUPS, INDEXED, MAX_STREAMS, OPEN, POOLED
from ssdgym.engine.page.gc_round import is_victim
from ssdgym.engine.page.state import device_of
from ssdgym.engine.speedupgc.audit import check_groups, check_trees


@entry
def count_lost(state, i):
    """Mapped logical pages whose physical page does not hold their newest version."""
    dev = device_of(state, i)
    geometry = dev.geometry[0]
    lost = 0
    for lpn in range(geometry.logical_pages):
        logical = dev.logical[lpn]
        if logical.ppn < 0:
            continue
        page = dev.physical[logical.ppn]
        unit = dev.sub_block[logical.ppn // geometry.pages_per_sub_block]
        written = logical.ppn % geometry.pages_per_sub_block < unit.written
        if page.lpn != lpn or page.version != logical.version or not written:
            lost += 1
    return lost


#: What :func:`first_fault` can find, by its number.
FAULTS = (
    "none",
    "a sub-block's invalid pages are miscounted",
    "a block's pages are miscounted",
    "a plane's free pages are miscounted",
    "a plane's pool pages are miscounted",
    "a plane's valid pages are miscounted",
    "a block's status contradicts its pages",
    "an age list is broken",
    "a bucket is broken",
    "a pool is broken",
    "an open sub-block is full or its block is not marked open",
    "more blocks are open than streams exist",
    "a best set is not the best",
    "a tree of best sets is broken",
    "block groups are too large, out of order or miscounted",
    "the writable blocks of a group are miscounted",
    "the heaps of a group are broken",
)


@kernel
def _count_valid(dev, geometry, unit):
    base = unit * geometry.pages_per_sub_block
    valid = 0
    for page in range(dev.sub_block[unit].written):
        if dev.logical[dev.physical[base + page].lpn].ppn == base + page:
            valid += 1
    return valid


@kernel
def _open_pages(dev, geometry, block):
    """Pages written to the open sub-block of a block: they are not in its own count yet."""
    plane = np.int64(dev.block[block].plane)
    for slot in range(plane * MAX_STREAMS, (plane + 1) * MAX_STREAMS):
        unit = np.int64(dev.open_unit[slot])
        if unit >= 0 and unit // np.int64(geometry.sub_blocks) == block:
            return np.int64(dev.sub_block[unit].written)
    return 0


@kernel
def _check_block(dev, geometry, block):
    record = dev.block[block]
    victim = is_victim(dev.plane, dev.job, record.plane, block)
    written = 0
    invalid = 0
    partial = 0
    for s in range(geometry.sub_blocks):
        unit = block * geometry.sub_blocks + s
        sub_block = dev.sub_block[unit]
        if sub_block.written - _count_valid(dev, geometry, unit) != sub_block.invalid:
            return 1
        invalid += sub_block.invalid
        written += sub_block.written
        partial += 0 < sub_block.written < geometry.pages_per_sub_block
    if invalid != record.invalid or record.written != written - _open_pages(dev, geometry, block):
        return 2
    is_open = (record.status & OPEN) != 0
    indexed = (record.status & INDEXED) != 0
    pooled = (record.status & POOLED) != 0
    scattered = geometry.placement in (HOT_TO_VICTIMS, HOTNESS_GROUPS)
    if partial > (1 if is_open else 0) and not scattered:
        return 6
    if indexed != (not is_open and not victim and written > 0):
        return 6
    if pooled != (not is_open and not victim and written < geometry.pages_per_block):
        return 6
    return 0


@kernel
def _check_open(dev, geometry, plane):
    count = 0
    for stream in range(MAX_STREAMS):
        unit = dev.open_unit[plane * MAX_STREAMS + stream]
        if unit < 0:
            continue
        if stream >= geometry.streams:
            return 11
        count += 1
        marked = dev.block[unit // geometry.sub_blocks].status & OPEN
        if not marked or dev.sub_block[unit].written == geometry.pages_per_sub_block:
            return 10
    opened = 0
    for block in range(plane * geometry.blocks, (plane + 1) * geometry.blocks):
        if dev.block[block].status & OPEN:
            opened += 1
    return 0 if opened == count else 11


@kernel
def _check_lists(dev, geometry, number):
    """The age list and the buckets hold exactly the indexed blocks, the pool exactly the pooled ones."""
    plane = dev.plane[number]
    length = 0
    before = -1
    block = np.int64(plane.age_head)
    while block >= 0 and length <= geometry.blocks:
        if not dev.block[block].status & INDEXED or dev.block[block].previous_age != before:
            return 7
        before = block
        block = np.int64(dev.block[block].next_age)
        length += 1
    if length != plane.indexed_blocks or before != plane.age_tail:
        return 7
    for invalid in range(geometry.pages_per_block + 1):
        bucket = dev.bucket[number * (geometry.pages_per_block + 1) + invalid]
        before = -1
        block = np.int64(bucket.head)
        while block >= 0:
            record = dev.block[block]
            if record.invalid != invalid or record.previous_bucket != before or invalid > plane.fullest:
                return 8
            before = block
            block = np.int64(record.next_bucket)
            length -= 1
        if bucket.head >= 0 and bucket.tail != before:
            return 8
    if length != 0:
        return 8
    return _check_pool(dev, geometry, plane)


@inlined
def _check_pool(dev, geometry, plane):
    before = -1
    length = 0
    block = np.int64(plane.pool_head)
    while block >= 0 and length <= geometry.blocks:
        if not dev.block[block].status & POOLED or dev.block[block].previous_pool != before:
            return 9
        before = block
        block = np.int64(dev.block[block].next_pool)
        length += 1
    return 0 if length == plane.pool_count and before == plane.pool_tail else 9


@kernel
def _check_counts(dev, geometry, number):
    plane = dev.plane[number]
    free = 0
    pool = 0
    valid = 0
    pooled = 0
    for block in range(number * geometry.blocks, (number + 1) * geometry.blocks):
        written = 0
        for unit in range(block * geometry.sub_blocks, (block + 1) * geometry.sub_blocks):
            written += dev.sub_block[unit].written
            valid += dev.sub_block[unit].written - dev.sub_block[unit].invalid
        free += geometry.pages_per_block - written
        if dev.block[block].status & POOLED:
            pool += geometry.pages_per_block - written
            pooled += 1
    if free != plane.free_pages:
        return 3
    if pool != plane.pool_pages:
        return 4
    if valid != plane.valid:
        return 5
    return 0 if pooled == plane.pool_count else 9


@entry
def first_fault(state, i):
    """Number of the first invariant (of ``FAULTS``) that device ``i`` breaks, 0 if it breaks none. Slow."""
    dev = device_of(state, i)
    geometry = dev.geometry[0]
    for plane in range(geometry.planes):
        for block in range(plane * geometry.blocks, (plane + 1) * geometry.blocks):
            fault = _check_block(dev, geometry, block)
            if fault:
                return fault
        fault = _check_counts(dev, geometry, plane)
        if fault == 0:
            fault = _check_open(dev, geometry, plane)
        if fault == 0:
            fault = _check_lists(dev, geometry, plane)
        if fault == 0 and (geometry.tree_leaves > 0 or geometry.groups > 0):
            fault = check_trees(dev, geometry, plane)
        if fault == 0 and geometry.groups > 0:
            fault = check_groups(dev, geometry, plane)
        if fault:
            return fault
    return 0
