"""The audit: every logical page has its newest data, and all counts and lists add up."""

import numpy as np

from ssdgym.engine.blocks.index import check_lists
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import HOT_TO_VICTIMS, HOTNESS_GROUPS, INDEXED, MAX_STREAMS, OPEN, POOLED
from ssdgym.engine.core.status import (
    BLOCK_COUNTS,
    BLOCK_STATUS,
    FREE_PAGES,
    NO_FAULT,
    OPEN_BLOCKS,
    OPEN_SUB_BLOCKS,
    POOL,
    POOL_PAGES,
    STREAMS,
    SUB_BLOCK_COUNTS,
    VALID_PAGES,
)
from ssdgym.engine.page.buffer import check_buffer
from ssdgym.engine.rounds import is_victim
from ssdgym.engine.speedupgc.audit import check_groups, check_trees


@inlined
def is_written(dev, ppn):
    """Return whether a page has been written since its erase."""
    per_sub_block = np.int64(dev.params[0].pages_per_sub_block)
    return ppn % per_sub_block < dev.sub_block[ppn // per_sub_block].written


@kernel
def _count_valid(dev, sub):
    params = dev.params[0]
    base = sub * params.pages_per_sub_block
    valid = 0
    for page in range(dev.sub_block[sub].written):
        if dev.logical[dev.physical[base + page].lpn].ppn == base + page:
            valid += 1
    return valid


@kernel
def _open_pages(dev, block):
    """Count the pages written to the open sub-block of a block, which its own count leaves out."""
    params = dev.params[0]
    plane = np.int64(dev.block[block].plane)
    for slot in range(plane * MAX_STREAMS, (plane + 1) * MAX_STREAMS):
        sub = np.int64(dev.open_sub_block[slot])
        if sub >= 0 and sub // np.int64(params.sub_blocks) == block:
            return np.int64(dev.sub_block[sub].written)
    return 0


@kernel
def _check_block(dev, block):
    params = dev.params[0]
    record = dev.block[block]
    victim = is_victim(dev.plane, dev.round_pairs, record.plane, block)
    written = 0
    invalid = 0
    partial = 0
    for s in range(params.sub_blocks):
        sub = block * params.sub_blocks + s
        sub_block = dev.sub_block[sub]
        if sub_block.written - _count_valid(dev, sub) != sub_block.invalid:
            return SUB_BLOCK_COUNTS
        invalid += sub_block.invalid
        written += sub_block.written
        partial += 0 < sub_block.written < params.pages_per_sub_block
    if invalid != record.invalid or record.written != written - _open_pages(dev, block):
        return BLOCK_COUNTS
    is_open = (record.status & OPEN) != 0
    indexed = (record.status & INDEXED) != 0
    pooled = (record.status & POOLED) != 0
    scattered = params.placement in (HOT_TO_VICTIMS, HOTNESS_GROUPS)
    if partial > (1 if is_open else 0) and not scattered:
        return BLOCK_STATUS
    if indexed != (not is_open and not victim and written > 0):
        return BLOCK_STATUS
    if pooled != (not is_open and not victim and written < params.pages_per_block):
        return BLOCK_STATUS
    return NO_FAULT


@kernel
def _check_streams(dev, plane):
    """Check what each stream says of its blocks: those open, and those with written pages."""
    params = dev.params[0]
    for number in range(MAX_STREAMS):
        blocks = 0
        valid = 0
        closed_sum = 0
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            record = dev.block[block]
            if record.stream != number or (record.written == 0 and not record.status & OPEN):
                continue
            blocks += 1
            for sub in range(block * params.sub_blocks, (block + 1) * params.sub_blocks):
                valid += _count_valid(dev, sub)
            if not record.status & OPEN:
                closed_sum += record.closed_at
        stream = dev.stream[plane * MAX_STREAMS + number]
        if blocks != stream.blocks or valid != stream.valid or closed_sum != stream.closed_sum:
            return STREAMS
    return NO_FAULT


@kernel
def _check_open(dev, plane):
    params = dev.params[0]
    count = 0
    for stream in range(MAX_STREAMS):
        sub = dev.open_sub_block[plane * MAX_STREAMS + stream]
        if sub < 0:
            continue
        if stream >= params.streams:
            return OPEN_BLOCKS
        count += 1
        marked = dev.block[sub // params.sub_blocks].status & OPEN
        if not marked or dev.sub_block[sub].written == params.pages_per_sub_block:
            return OPEN_SUB_BLOCKS
    opened = 0
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        if dev.block[block].status & OPEN:
            opened += 1
    return NO_FAULT if opened == count else OPEN_BLOCKS


@kernel
def _check_counts(dev, number):
    params = dev.params[0]
    plane = dev.plane[number]
    free = 0
    pool = 0
    valid = 0
    pooled = 0
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        written = 0
        for sub in range(block * params.sub_blocks, (block + 1) * params.sub_blocks):
            written += dev.sub_block[sub].written
            valid += dev.sub_block[sub].written - dev.sub_block[sub].invalid
        free += params.pages_per_block - written
        if dev.block[block].status & POOLED:
            pool += params.pages_per_block - written
            pooled += 1
    if free != plane.free_pages:
        return FREE_PAGES
    if pool != plane.pool_pages:
        return POOL_PAGES
    if valid != plane.valid:
        return VALID_PAGES
    return NO_FAULT if pooled == plane.pool_count else POOL


@inlined
def first_fault_of(dev):
    """Return the number of the first invariant that the device breaks, NO_FAULT for none. Slow."""
    params = dev.params[0]
    for plane in range(params.planes):
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            fault = _check_block(dev, block)
            if fault != NO_FAULT:
                return fault
        fault = _check_counts(dev, plane)
        if fault == NO_FAULT:
            fault = _check_open(dev, plane)
        if fault == NO_FAULT:
            fault = _check_streams(dev, plane)
        if fault == NO_FAULT:
            fault = check_lists(dev, plane)
        if fault == NO_FAULT and (params.tree_leaves > 0 or params.groups > 0):
            fault = check_trees(dev, plane)
        if fault == NO_FAULT and params.groups > 0:
            fault = check_groups(dev, plane)
        if fault != NO_FAULT:
            return fault
    return check_buffer(dev)
