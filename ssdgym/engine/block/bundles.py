"""Bundles: their logical pages, their blocks, and which bundle of a plane is merged first.

A *place* is the number of a logical page within its bundle.
"""

import numpy as np

from ssdgym.engine.block.state import SUPERBLOCK, UPDATE
from ssdgym.engine.blocks.index import leave_pool
from ssdgym.engine.blocks.wear import mark_worn
from ssdgym.engine.cells import strain, wears_out
from ssdgym.engine.core.bits import NONE, list_kernels, quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.flash import count_written, erase_part, invalidate_pages, leaves_of, program_page

_append_to_bucket, _remove_from_bucket = list_kernels("head", "tail", "next", "previous")


@inlined
def locate(dev, lpn):
    """Return the bundle of a logical page, and the place of the page in the bundle."""
    merging = dev.merging[0]
    if merging.by_pages:
        planes = np.int64(dev.params[0].planes)
        row = quotient(lpn, planes)
        bundle = quotient(row, merging.span)
        return bundle * planes + remainder(lpn, planes), row - bundle * merging.span
    bundle = quotient(lpn, merging.span)
    return bundle, lpn - bundle * merging.span


@inlined
def page_at(dev, bundle, place):
    """Return the logical page at a place of a bundle."""
    merging = dev.merging[0]
    if merging.by_pages:
        planes = np.int64(dev.params[0].planes)
        return (quotient(bundle, planes) * merging.span + place) * planes + remainder(bundle, planes)
    return bundle * merging.span + place


@inlined
def plane_of_bundle(dev, bundle):
    """Return the plane that holds a bundle."""
    return np.int64(remainder(bundle, np.int64(dev.params[0].planes)))


@inlined
def block_at(dev, bundle, slot):
    """Return the block in a slot of a bundle, -1 for none."""
    return np.int64(dev.member[bundle * dev.merging[0].slots + slot])


@inlined
def set_block(dev, bundle, slot, block):
    """Put a block into a slot of a bundle; -1 empties the slot."""
    place = bundle * dev.merging[0].slots + slot
    dev.bundle[bundle].held += np.int64(block >= 0) - np.int64(dev.member[place] >= 0)
    dev.member[place] = block


@inlined
def free_slot(dev, bundle):
    """Return the lowest slot of a bundle without a block."""
    slot = np.int64(0)
    while block_at(dev, bundle, slot) >= 0:
        slot += 1
    return slot


@inlined
def take_block(dev, plane):
    """Remove the block at the head of a plane's pool and return it; -1 if the pool is empty."""
    block = np.int64(dev.plane[plane].pool_head)
    if block >= 0:
        leave_pool(dev, block)
        dev.frontier[block] = 0
    return block


@inlined
def is_erased(dev, ppn):
    """Return whether a page is erased."""
    return dev.physical[ppn].lpn < 0


@inlined
def erased_pages(dev, block):
    """Count the erased pages of a block."""
    return np.int64(dev.params[0].pages_per_block - dev.block[block].written)


@inlined
def valid_pages(dev, block):
    """Count the valid pages of a block."""
    return np.int64(dev.block[block].written - dev.block[block].invalid)


@kernel
def first_erased(dev, block):
    """Return the lowest erased page of a block that has an erased page."""
    base = block * np.int64(dev.params[0].pages_per_block)
    page = base + np.int64(dev.frontier[block])
    while not is_erased(dev, page):
        page += 1
    dev.frontier[block] = page - base
    return page


@inlined
def first_room(dev, bundle, slots):
    """Return the block with an erased page in the lowest slot of the mask `slots`, -1 for none."""
    for slot in range(dev.merging[0].slots):
        block = block_at(dev, bundle, slot)
        if slots >> slot & 1 and block >= 0 and erased_pages(dev, block) > 0:
            return block
    return np.int64(-1)


@inlined
def _bucket_of(dev, bundle):
    plane = plane_of_bundle(dev, bundle)
    return dev.bundle_bucket[plane * dev.merging[0].buckets + dev.bundle[bundle].invalid]


@inlined
def _enter(dev, bundle):
    plane = dev.plane[plane_of_bundle(dev, bundle)]
    _append_to_bucket(dev.bundle, _bucket_of(dev, bundle), bundle)
    plane.max_invalid = max(plane.max_invalid, dev.bundle[bundle].invalid)


@inlined
def count_invalid(dev, bundle, pages):
    """Add `pages`, which may be negative, to the number of invalid pages of a bundle."""
    record = dev.bundle[bundle]
    if record.eligible:
        _remove_from_bucket(dev.bundle, _bucket_of(dev, bundle), bundle)
        record.invalid += pages
        _enter(dev, bundle)
    else:
        record.invalid += pages


@inlined
def is_given_up(dev, bundle):
    """Return whether the device, which has lost blocks, has given up the logical pages of a bundle."""
    return dev.params[0].shrinks != 0 and page_at(dev, bundle, np.int64(0)) >= dev.life[0].capacity


@inlined
def may_be_merged(dev, bundle):
    """Return whether merging a bundle could free a block."""
    if dev.job[plane_of_bundle(dev, bundle)].bundle == bundle:
        return False
    if is_given_up(dev, bundle):
        return dev.bundle[bundle].held > 0
    if dev.merging[0].kind == SUPERBLOCK:
        return dev.bundle[bundle].held > dev.merging[0].logical_blocks
    return block_at(dev, bundle, UPDATE) >= 0


@kernel
def review(dev, bundle):
    """Enter a bundle into the buckets, or remove it, so that it is there if and only if it may be merged."""
    record = dev.bundle[bundle]
    wanted = may_be_merged(dev, bundle)
    if wanted == (record.eligible != 0):
        return
    plane = dev.plane[plane_of_bundle(dev, bundle)]
    if wanted:
        record.eligible = 1
        plane.indexed_blocks += 1
        _enter(dev, bundle)
    else:
        _remove_from_bucket(dev.bundle, _bucket_of(dev, bundle), bundle)
        record.eligible = 0
        plane.indexed_blocks -= 1


@kernel
def victim_of(dev, plane):
    """Return the bundle that a plane merges for a free block: that with most invalid pages; -1 for none.

    Bundles that have been given up come before all others.
    """
    first = plane * np.int64(dev.merging[0].buckets)
    record = dev.plane[plane]
    if record.indexed_blocks == 0:
        return np.int64(-1)
    if dev.params[0].shrinks and dev.life[0].capacity < dev.params[0].logical_pages:
        for bundle in range(plane, dev.merging[0].bundles, np.int64(dev.params[0].planes)):
            if is_given_up(dev, np.int64(bundle)) and dev.bundle[bundle].eligible:
                return np.int64(bundle)
    while dev.bundle_bucket[first + record.max_invalid].head < 0:
        record.max_invalid -= 1
    return np.int64(dev.bundle_bucket[first + record.max_invalid].head)


@inlined
def forget(dev, bundle, ppn):
    """Count a page of a bundle as invalid."""
    invalidate_pages(dev, ppn // np.int64(dev.params[0].pages_per_sub_block), 1)
    dev.block[ppn // np.int64(dev.params[0].pages_per_block)].invalid += 1
    count_invalid(dev, bundle, 1)


@inlined
def forget_page(dev, lpn):
    """Unmap a logical page, and drop its versions under way."""
    logical = dev.logical[lpn]
    if logical.ppn >= 0:
        bundle, _ = locate(dev, lpn)
        forget(dev, bundle, np.int64(logical.ppn))
        dev.plane[plane_of_bundle(dev, bundle)].valid -= 1
        logical.ppn = -1
    logical.version += dev.in_flight[lpn] + 1
    dev.in_flight[lpn] = 0


@inlined
def program(dev, ppn, lpn, version):
    """Program an erased page, and map the logical page to it."""
    program_page(dev, ppn, lpn, version)
    count_written(dev, ppn // np.int64(dev.params[0].pages_per_sub_block), 1)
    record = dev.block[ppn // np.int64(dev.params[0].pages_per_block)]
    record.written += 1
    dev.plane[record.plane].free_pages -= 1
    dev.logical[lpn].ppn = ppn


@kernel
def wears_out_by(dev, block, first, count):
    """Return whether an erase of `count` sub-blocks of a block, from `first` up, has worn the block out."""
    ends = wears_out(dev, block, (~NONE >> np.uint64(64 - count)) << np.uint64(first))
    if dev.merging[0].strains:
        sub_blocks = np.int64(dev.params[0].sub_blocks)
        base = block * sub_blocks
        if first > 0:
            ends |= strain(dev, base + first - 1)
        if first + count < sub_blocks:
            ends |= strain(dev, base + first + count)
    return ends


@kernel
def erase(dev, bundle, block, node):
    """Erase a partial block of a bundle's block; mark the block as worn if it is worn out."""
    merging, params = dev.merging[0], dev.params[0]
    first, count = leaves_of(np.int64(merging.levels), node)
    written, invalid, spoiled = erase_part(dev, block, first, count, np.int64(merging.tolerance))
    record = dev.block[block]
    record.written -= written
    record.invalid -= invalid
    dev.plane[record.plane].free_pages += written
    count_invalid(dev, bundle, -invalid)
    dev.frontier[block] = min(np.int64(dev.frontier[block]), first * params.pages_per_sub_block)
    dev.tally[0].partial_erases += node > 1
    dev.tally[0].spoiled_pages += spoiled
    if params.endures and wears_out_by(dev, block, first, count):
        mark_worn(dev, block)
