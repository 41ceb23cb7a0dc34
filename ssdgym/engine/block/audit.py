"""The audit: logical pages have their newest data, blocks are in bundles or pools, and all counts add up."""

import numpy as np

from ssdgym.engine.block.bundles import block_at, is_erased, is_valid, locate, may_be_merged, plane_of_bundle
from ssdgym.engine.block.state import DATA, NFTL
from ssdgym.engine.blocks.index import check_pool
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import POOLED
from ssdgym.engine.core.status import (
    BLOCK_COUNTS,
    BLOCK_STATUS,
    BUNDLE_BLOCKS,
    BUNDLE_LISTS,
    BUNDLE_PAGES,
    FREE_PAGES,
    NO_FAULT,
    SUB_BLOCK_COUNTS,
    VALID_PAGES,
)


@kernel
def _check_leaf(dev, sub):
    """Check the counts of a sub-block; return the fault, its programmed and its invalid pages."""
    first = sub * np.int64(dev.params[0].pages_per_sub_block)
    written, invalid = np.int64(0), np.int64(0)
    for ppn in range(first, first + dev.params[0].pages_per_sub_block):
        written += not is_erased(dev, ppn)
        invalid += not is_erased(dev, ppn) and not is_valid(dev, ppn)
    record = dev.sub_block[sub]
    wrong = record.written != written or record.invalid != invalid
    return np.int64(SUB_BLOCK_COUNTS if wrong else NO_FAULT), written, invalid


@kernel
def _check_block(dev, block):
    """Check the counts of a block; return the fault and its programmed pages."""
    params, record = dev.params[0], dev.block[block]
    written, invalid = np.int64(0), np.int64(0)
    for sub in range(block * params.sub_blocks, (block + 1) * params.sub_blocks):
        fault, its_written, its_invalid = _check_leaf(dev, np.int64(sub))
        if fault != NO_FAULT:
            return fault, written
        written += its_written
        invalid += its_invalid
    if record.written != written or record.invalid != invalid:
        return np.int64(BLOCK_COUNTS), written
    first = block * np.int64(params.pages_per_block)
    for ppn in range(first, first + dev.frontier[block]):
        if is_erased(dev, ppn):
            return np.int64(BLOCK_COUNTS), written
    if record.status & POOLED and written > 0:
        return np.int64(BLOCK_STATUS), written
    return np.int64(NO_FAULT), written


@kernel
def _check_member(dev, bundle, slot, block):
    """Check that the valid pages of a block of a bundle are the bundle's, and at their places."""
    if dev.block[block].status & POOLED or dev.block[block].plane != plane_of_bundle(dev, bundle):
        return BUNDLE_BLOCKS
    size = np.int64(dev.params[0].pages_per_block)
    for page in range(size):
        ppn = block * size + page
        if is_valid(dev, ppn):
            owner, place = locate(dev, np.int64(dev.physical[ppn].lpn))
            at_place = place == page or slot != DATA or dev.merging[0].kind != NFTL
            if owner != bundle or not at_place:
                return BUNDLE_PAGES
    return NO_FAULT


@kernel
def _check_bundle(dev, bundle):
    """Check the blocks and the counts of a bundle."""
    record = dev.bundle[bundle]
    held, invalid = 0, 0
    for slot in range(dev.merging[0].slots):
        block = block_at(dev, bundle, np.int64(slot))
        if block >= 0:
            fault = _check_member(dev, bundle, np.int64(slot), block)
            if fault != NO_FAULT:
                return fault
            held += 1
            invalid += dev.block[block].invalid
    if record.held != held or record.invalid != invalid:
        return BUNDLE_BLOCKS
    orphan = dev.merging[0].kind == NFTL and block_at(dev, bundle, DATA) < 0 and held > 0
    if orphan and dev.job[plane_of_bundle(dev, bundle)].bundle != bundle:
        return BUNDLE_BLOCKS
    return NO_FAULT if (record.eligible != 0) == may_be_merged(dev, bundle) else BUNDLE_LISTS


@kernel
def _check_lists(dev, number):
    """Check that the lists of a plane hold the bundles that could be merged, by their invalid pages."""
    plane, buckets = dev.plane[number], np.int64(dev.merging[0].buckets)
    listed = 0
    for invalid in range(buckets):
        bundle = np.int64(dev.bundle_bucket[number * buckets + invalid].head)
        before = -1
        while bundle >= 0:
            record = dev.bundle[bundle]
            wrong = not record.eligible or record.invalid != invalid or invalid > plane.max_invalid
            if wrong or record.previous != before or plane_of_bundle(dev, bundle) != number:
                return BUNDLE_LISTS
            before = bundle
            bundle = np.int64(record.next)
            listed += 1
    return NO_FAULT if listed == plane.indexed_blocks else BUNDLE_LISTS


@kernel
def _check_plane(dev, number):
    params = dev.params[0]
    free, valid, members = np.int64(0), np.int64(0), np.int64(0)
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        fault, written = _check_block(dev, np.int64(block))
        if fault != NO_FAULT:
            return fault
        free += params.pages_per_block - written
        valid += written - dev.block[block].invalid
    if free != dev.plane[number].free_pages:
        return np.int64(FREE_PAGES)
    if valid != dev.plane[number].valid:
        return np.int64(VALID_PAGES)
    for bundle in range(number, dev.merging[0].bundles, params.planes):
        fault = np.int64(_check_bundle(dev, np.int64(bundle)))
        if fault != NO_FAULT:
            return fault
        members += dev.bundle[bundle].held
    fault = np.int64(check_pool(dev, number))
    if fault == NO_FAULT and dev.plane[number].pool_count + members != params.blocks:
        fault = np.int64(BUNDLE_BLOCKS)
    return fault if fault != NO_FAULT else np.int64(_check_lists(dev, number))


@inlined
def first_fault_of(dev):
    """Return the number of the first invariant that the device breaks, 0 for none."""
    for number in range(dev.params[0].planes):
        fault = np.int64(_check_plane(dev, np.int64(number)))
        if fault != NO_FAULT:
            return fault
    return np.int64(NO_FAULT)
