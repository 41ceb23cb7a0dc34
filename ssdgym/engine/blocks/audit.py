"""The audit of the index: the lists of a plane hold the blocks that their records name, in order."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.faults import AGE_LIST, BUCKETS, NO_FAULT, POOL
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import INDEXED, POOLED


@kernel
def check_lists(dev, number):
    """Check that the age list and the buckets hold the indexed blocks, and the pool the pooled ones."""
    params = dev.params[0]
    plane = dev.plane[number]
    length = 0
    before = -1
    block = np.int64(plane.age_head)
    while block >= 0 and length <= params.blocks:
        if not dev.block[block].status & INDEXED or dev.block[block].previous_age != before:
            return AGE_LIST
        before = block
        block = np.int64(dev.block[block].next_age)
        length += 1
    if length != plane.indexed_blocks or before != plane.age_tail:
        return AGE_LIST
    for invalid in range(params.pages_per_block + 1):
        bucket = dev.bucket[number * (params.pages_per_block + 1) + invalid]
        before = -1
        block = np.int64(bucket.head)
        while block >= 0:
            record = dev.block[block]
            if record.invalid != invalid or record.previous_bucket != before or invalid > plane.max_invalid:
                return BUCKETS
            before = block
            block = np.int64(record.next_bucket)
            length -= 1
        if bucket.head >= 0 and bucket.tail != before:
            return BUCKETS
    if length != 0:
        return BUCKETS
    return _check_pool(dev, plane)


@inlined
def _check_pool(dev, plane):
    params = dev.params[0]
    before = -1
    length = 0
    block = np.int64(plane.pool_head)
    while block >= 0 and length <= params.blocks:
        if not dev.block[block].status & POOLED or dev.block[block].previous_pool != before:
            return POOL
        before = block
        block = np.int64(dev.block[block].next_pool)
        length += 1
    return NO_FAULT if length == plane.pool_count and before == plane.pool_tail else POOL
