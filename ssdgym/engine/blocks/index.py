"""The index of a plane's blocks (age list, and buckets by number of invalid pages), and the pool."""

import numpy as np

from ssdgym.engine.core.bits import list_kernels
from ssdgym.engine.core.kernel import helper, inlined, kernel, prefetch
from ssdgym.engine.core.records import INDEXED, MAX_STREAMS, POOLED, SUB_BLOCK
from ssdgym.engine.flash import block_of, sub_block_of

#: Records of sub-blocks in a cache line.
_PER_LINE = 64 // SUB_BLOCK.itemsize


@inlined
def _prefetch_records(dev, block):
    subs = np.int64(dev.params[0].sub_blocks)
    prefetch(dev.block, block)
    for sub in range(block * subs, (block + 1) * subs, _PER_LINE):
        prefetch(dev.sub_block, sub)


@inlined
def prefetch_holder(dev, lpn):
    """Prefetch the records of the block that a logical page is mapped to, and of its sub-blocks."""
    ppn = np.int64(dev.logical[lpn].ppn)
    if ppn >= 0:
        _prefetch_records(dev, block_of(dev.params[0], sub_block_of(dev.params[0], ppn)))


@helper
def prefetch_block(view, block):
    """Prefetch the records of a block and of its sub-blocks, and the rule's own record of the block."""
    _prefetch_records(view, block)
    prefetch(view.block_memory, block)


_append_to_ages, _remove_from_ages = list_kernels("age_head", "age_tail", "next_age", "previous_age")
_append_to_pool, _remove_from_pool = list_kernels("pool_head", "pool_tail", "next_pool", "previous_pool")
_append_to_bucket, _remove_from_bucket = list_kernels("head", "tail", "next_bucket", "previous_bucket")
_append_to_quiet, _remove_from_quiet = list_kernels(
    "quiet_head", "quiet_tail", "next_quiet", "previous_quiet"
)


@inlined
def _bucket_number(params, plane, invalid):
    return plane * (params.pages_per_block + 1) + invalid


@inlined
def _bucket_of(dev, block):
    record = dev.block[block]
    return dev.bucket[_bucket_number(dev.params[0], record.plane, record.invalid)]


@inlined
def _is_quiet(dev, block):
    """Return whether a block enters the second list of its bucket, sorted by the last invalidation."""
    return dev.params[0].sub_blocks == 1 and dev.block[block].invalid > 0


@inlined
def _enter_quiet(dev, bucket, block):
    """Insert a block into its bucket's second list, behind all blocks with an equal or earlier clock."""
    since = dev.block[block].invalidated_at
    behind, before = np.int64(-1), np.int64(bucket.quiet_tail)
    while before >= 0 and dev.block[before].invalidated_at > since:
        behind = before
        before = np.int64(dev.block[before].previous_quiet)
    if behind < 0:
        _append_to_quiet(dev.block, bucket, block)
        return
    record = dev.block[block]
    record.previous_quiet = before
    record.next_quiet = behind
    dev.block[behind].previous_quiet = block
    if before >= 0:
        dev.block[before].next_quiet = block
    else:
        bucket.quiet_head = block


@inlined
def _leave_bucket(dev, block):
    bucket = _bucket_of(dev, block)
    _remove_from_bucket(dev.block, bucket, block)
    if _is_quiet(dev, block):
        _remove_from_quiet(dev.block, bucket, block)


@inlined
def _enter_bucket(dev, block):
    record = dev.block[block]
    bucket = _bucket_of(dev, block)
    _append_to_bucket(dev.block, bucket, block)
    if _is_quiet(dev, block):
        _enter_quiet(dev, bucket, block)
    plane = dev.plane[record.plane]
    if record.invalid > plane.max_invalid:
        plane.max_invalid = record.invalid


@inlined
def raise_invalid(dev, block):
    """Count one more invalid page of an indexed block, and move the block to the tail of the next bucket."""
    _leave_bucket(dev, block)
    dev.block[block].invalid += 1
    _enter_bucket(dev, block)


@inlined
def enter_index(dev, block):
    """Append a block to the age list, and to the bucket of its number of invalid pages."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status |= INDEXED
    _append_to_ages(dev.block, plane, block)
    plane.indexed_blocks += 1
    _enter_bucket(dev, block)


@inlined
def leave_index(dev, block):
    """Remove a block from the age list and from its bucket."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status &= ~INDEXED
    _remove_from_ages(dev.block, plane, block)
    plane.indexed_blocks -= 1
    _leave_bucket(dev, block)


@helper
def _first_below(view, plane, invalid):
    """Return the head of the highest bucket from `least_invalid` to `invalid` that has a block; or -1."""
    params = view.params[0]
    while invalid >= params.least_invalid:
        head = view.bucket[_bucket_number(params, plane, invalid)].head
        if head >= 0:
            return head
        invalid -= 1
    return -1


@helper
def most_invalid_block(view, plane):
    """Return the first of a plane's eligible blocks with most invalid pages; -1 if no block is eligible."""
    return _first_below(view, plane, view.plane[plane].max_invalid)


@helper
def next_by_invalid(view, plane, block):
    """Return the eligible block that follows `block` in the order of falling invalid pages; -1 for none.

    Among blocks with equally many invalid pages, the block that has had this number longest comes first.
    """
    record = view.block[block]
    return record.next_bucket if record.next_bucket >= 0 else _first_below(view, plane, record.invalid - 1)


@helper
def longest_quiet(view, plane, invalid):
    """Return the block with `invalid` invalid pages whose last invalidation is longest ago; -1 for none.

    `view.block[block].next_quiet` is the next one. Needs one sub-block per block, and `invalid` above 0.
    """
    return np.int64(view.bucket[_bucket_number(view.params[0], plane, invalid)].quiet_head)


@inlined
def lower_max_invalid(dev, plane_number):
    """Lower `max_invalid` of a plane to the number of its highest bucket with a block."""
    plane = dev.plane[plane_number]
    first = _bucket_number(dev.params[0], plane_number, 0)
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
    """Remove a block from its plane's pool."""
    record = dev.block[block]
    plane = dev.plane[record.plane]
    record.status &= ~POOLED
    _remove_from_pool(dev.block, plane, block)
    plane.pool_count -= 1
    plane.pool_pages -= unwritten_pages_of(dev, block)


@kernel
def format_plane(dev, number):
    """Make the pool and the index of a plane empty; no stream of the plane has an open block."""
    params, plane = dev.params[0], dev.plane[number]
    plane.pool_head = plane.pool_tail = plane.age_head = plane.age_tail = -1
    plane.round_leader = -1
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        dev.block[block].plane = number
    for bucket in range(number * (params.pages_per_block + 1), (number + 1) * (params.pages_per_block + 1)):
        dev.bucket[bucket].head = dev.bucket[bucket].tail = dev.bucket[bucket].quiet_head = -1
        dev.bucket[bucket].quiet_tail = -1
    for slot in range(number * MAX_STREAMS, (number + 1) * MAX_STREAMS):
        dev.open_sub_block[slot] = -1


@inlined
def add_block(dev, number, block):
    """Append an erased block to the pool of a new plane, and count its pages as free."""
    dev.plane[number].free_pages += dev.params[0].pages_per_block
    join_pool(dev, block)
