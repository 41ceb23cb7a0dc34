"""The index of a plane: its blocks by age and by number of invalid pages, and its pool of writable blocks."""

from __future__ import annotations

from ssdgym.engine.blocks.books import block_listed
from ssdgym.engine.core.kernel import helper, inlined
from ssdgym.engine.core.lists import list_verbs
from ssdgym.engine.core.records import INDEXED, POOLED

_append_to_ages, _remove_from_ages = list_verbs("age_head", "age_tail", "next_age", "previous_age")
_append_to_pool, _remove_from_pool = list_verbs("pool_head", "pool_tail", "next_pool", "previous_pool")
_append_to_bucket, _remove_from_bucket = list_verbs("head", "tail", "next_bucket", "previous_bucket")


@inlined
def _bucket_number(params, plane, invalid):
    return plane * (params.pages_per_block + 1) + invalid


@inlined
def _bucket_of(dev, block):
    record = dev.block[block]
    return dev.bucket[_bucket_number(dev.params[0], record.plane, record.invalid)]


@inlined
def _enter_bucket(dev, block):
    record = dev.block[block]
    _append_to_bucket(dev.block, _bucket_of(dev, block), block)
    plane = dev.plane[record.plane]
    if record.invalid > plane.max_invalid:
        plane.max_invalid = record.invalid


@inlined
def raise_invalid(dev, block):
    """Move an indexed block, of which one more page is invalid, to the tail of the next bucket."""
    _remove_from_bucket(dev.block, _bucket_of(dev, block), block)
    dev.block[block].invalid += 1
    _enter_bucket(dev, block)
    block_listed(dev, block)


@inlined
def enter_index(dev, block):
    """Append a block to the age list and to its bucket."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status |= INDEXED
    _append_to_ages(dev.block, plane, block)
    plane.indexed_blocks += 1
    _enter_bucket(dev, block)
    block_listed(dev, block)


@inlined
def leave_index(dev, block):
    """Take a block out of the age list and out of its bucket."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status &= ~INDEXED
    _remove_from_ages(dev.block, plane, block)
    plane.indexed_blocks -= 1
    _remove_from_bucket(dev.block, _bucket_of(dev, block), block)
    block_listed(dev, block)


@helper
def most_invalid_block(view, plane):
    """Return the first block of the bucket with most invalid pages, enough to win some; -1 for none."""
    params = view.params[0]
    invalid = view.plane[plane].max_invalid
    while invalid >= params.least_invalid:
        head = view.bucket[_bucket_number(params, plane, invalid)].head
        if head >= 0:
            return head
        invalid -= 1
    return -1


@helper
def next_by_invalid(view, plane, block):
    """Return the block behind one in the order of invalid pages, enough to win some; -1 if there is none.

    That is its bucket to the end, then the next lower ones.
    """
    params = view.params[0]
    record = view.block[block]
    if record.next_bucket >= 0:
        return record.next_bucket
    invalid = record.invalid - 1
    while invalid >= params.least_invalid:
        head = view.bucket[_bucket_number(params, plane, invalid)].head
        if head >= 0:
            return head
        invalid -= 1
    return -1


@inlined
def lower_max_invalid(dev, plane_number):
    """Bring the mark down to the highest bucket that holds a block."""
    params = dev.params[0]
    plane = dev.plane[plane_number]
    first = _bucket_number(params, plane_number, 0)
    while plane.max_invalid > 0 and dev.bucket[first + plane.max_invalid].head < 0:
        plane.max_invalid -= 1


@inlined
def unwritten_pages_of(dev, block):
    """Return the unwritten pages of a block that is not open."""
    return dev.params[0].pages_per_block - dev.block[block].written


@inlined
def join_pool(dev, block):
    """Append a block with unwritten pages to its plane's pool."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status |= POOLED
    _append_to_pool(dev.block, plane, block)
    plane.pool_count += 1
    plane.pool_pages += unwritten_pages_of(dev, block)


@inlined
def leave_pool(dev, block):
    """Take a block out of its plane's pool."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status &= ~POOLED
    _remove_from_pool(dev.block, plane, block)
    plane.pool_count -= 1
    plane.pool_pages -= unwritten_pages_of(dev, block)
