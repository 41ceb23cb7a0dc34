"""What an audit of a device can find: a number for each fault."""

from __future__ import annotations

NO_FAULT = 0
SUB_BLOCK_COUNTS, BLOCK_COUNTS, FREE_PAGES, POOL_PAGES, VALID_PAGES = 1, 2, 3, 4, 5
BLOCK_STATUS, AGE_LIST, BUCKETS, POOL, OPEN_SUB_BLOCKS, OPEN_BLOCKS = 6, 7, 8, 9, 10, 11
BEST_SETS, TREES, GROUPS, WRITABLE_BLOCKS, HEAPS = 12, 13, 14, 15, 16
STREAMS = 17
PAGE_COUNTS, REGION_PAGES, REGION_BLOCKS, SPLIT_GROUPS, BUFFER_LIST = 18, 19, 20, 21, 22
BUNDLE_BLOCKS, BUNDLE_PAGES, BUNDLE_LISTS = 23, 24, 25
HELD_PAGES = 26

#: What is wrong, by the number of the fault.
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
    "the blocks or pages of a stream are miscounted",
    "the valid slots or the programs of a flash page are miscounted",
    "a page of a region holds more than the last subpage, or more than its passes",
    "the blocks of a region are miscounted or have a wrong role",
    "the sectors of a group are on several pages of the main area",
    "the list of the write buffer is broken, or holds what was not promised",
    "the blocks of a bundle are miscounted, or a block is in two bundles or in none and not in the pool",
    "a page is in a block of another bundle, or in a data block at another place",
    "the bundles that could be merged are miscounted or listed wrongly",
    "the pages that the write buffer holds are miscounted or listed wrongly",
)
