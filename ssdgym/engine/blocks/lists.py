"""The index of a plane: its blocks by age and by number of invalid pages, and its pool of writable blocks.

All lists are intrusive and doubly linked through the block records, so every operation is O(1).
"""

from __future__ import annotations

from ssdgym.engine.core.kernel import helper, inlined
from ssdgym.engine.core.records import INDEXED, POOLED
from ssdgym.engine.speedupgc.best_sets import mark_dirty


@inlined
def _bucket_number(params, plane, invalid):
    return plane * (params.pages_per_block + 1) + invalid


@inlined
def _append_to_bucket(dev, block):
    params = dev.params[0]
    record = dev.block[block]
    bucket = dev.bucket[_bucket_number(params, record.plane, record.invalid)]
    tail = bucket.tail
    record.previous_bucket = tail
    record.next_bucket = -1
    if tail >= 0:
        dev.block[tail].next_bucket = block
    else:
        bucket.head = block
    bucket.tail = block
    plane = dev.plane[record.plane]
    if record.invalid > plane.max_invalid:
        plane.max_invalid = record.invalid


@inlined
def _unlink_from_bucket(dev, block):
    params = dev.params[0]
    record = dev.block[block]
    before = record.previous_bucket
    after = record.next_bucket
    if before >= 0:
        dev.block[before].next_bucket = after
    else:
        dev.bucket[_bucket_number(params, record.plane, record.invalid)].head = after
    if after >= 0:
        dev.block[after].previous_bucket = before
    else:
        dev.bucket[_bucket_number(params, record.plane, record.invalid)].tail = before


@inlined
def raise_invalid(dev, block):
    """One more page of an indexed block is invalid: to the tail of the next bucket."""
    _unlink_from_bucket(dev, block)
    dev.block[block].invalid += 1
    _append_to_bucket(dev, block)
    mark_dirty(dev, block)


@inlined
def enter_index(dev, block):
    """Append a block to the age list and to its bucket."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status |= INDEXED
    record.previous_age = plane.age_tail
    record.next_age = -1
    if plane.age_tail >= 0:
        dev.block[plane.age_tail].next_age = block
    else:
        plane.age_head = block
    plane.age_tail = block
    plane.indexed_blocks += 1
    _append_to_bucket(dev, block)
    mark_dirty(dev, block)


@inlined
def leave_index(dev, block):
    """Take a block out of the age list and out of its bucket."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status &= ~INDEXED
    if record.previous_age >= 0:
        dev.block[record.previous_age].next_age = record.next_age
    else:
        plane.age_head = record.next_age
    if record.next_age >= 0:
        dev.block[record.next_age].previous_age = record.previous_age
    else:
        plane.age_tail = record.previous_age
    plane.indexed_blocks -= 1
    _unlink_from_bucket(dev, block)
    mark_dirty(dev, block)


@helper
def most_invalid_block(dev, plane_number):
    """The first block of the bucket with most invalid pages, at least one; -1 if there is none."""
    params = dev.params[0]
    plane = dev.plane[plane_number]
    invalid = plane.max_invalid
    while invalid > 0:
        head = dev.bucket[_bucket_number(params, plane_number, invalid)].head
        if head >= 0:
            return head
        invalid -= 1
    return -1


@helper
def next_by_invalid(dev, plane_number, block):
    """The block behind one in the order of invalid pages, at least one: its bucket to the end, then the next
    lower ones; -1 if there is none.
    """
    params = dev.params[0]
    record = dev.block[block]
    if record.next_bucket >= 0:
        return record.next_bucket
    invalid = record.invalid - 1
    while invalid > 0:
        head = dev.bucket[_bucket_number(params, plane_number, invalid)].head
        if head >= 0:
            return head
        invalid -= 1
    return -1


@inlined
def lower_max_invalid(dev, plane_number):
    """Bring the mark down to the fullest bucket that holds a block."""
    params = dev.params[0]
    plane = dev.plane[plane_number]
    while (
        plane.max_invalid > 0 and dev.bucket[_bucket_number(params, plane_number, plane.max_invalid)].head < 0
    ):
        plane.max_invalid -= 1


@inlined
def unwritten_pages_of(dev, block):
    """Unwritten pages of a block that is not open."""
    params = dev.params[0]
    return params.pages_per_block - dev.block[block].written


@inlined
def join_pool(dev, block):
    """Append a block with unwritten pages to its plane's pool."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status |= POOLED
    record.previous_pool = plane.pool_tail
    record.next_pool = -1
    if plane.pool_tail >= 0:
        dev.block[plane.pool_tail].next_pool = block
    else:
        plane.pool_head = block
    plane.pool_tail = block
    plane.pool_count += 1
    plane.pool_pages += unwritten_pages_of(dev, block)


@inlined
def leave_pool(dev, block):
    """Take a block out of its plane's pool."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status &= ~POOLED
    if record.previous_pool >= 0:
        dev.block[record.previous_pool].next_pool = record.next_pool
    else:
        plane.pool_head = record.next_pool
    if record.next_pool >= 0:
        dev.block[record.next_pool].previous_pool = record.previous_pool
    else:
        plane.pool_tail = record.previous_pool
    plane.pool_count -= 1
    plane.pool_pages -= unwritten_pages_of(dev, block)
