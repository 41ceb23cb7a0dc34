"""What a call of the engine comes back with: why it has stopped, or, below 0, why it refuses or gives up."""

OK, INPUT_ENDED, HORIZON = 0, 1, 2
#: From here on: this number plus the kind of the decision that is due outside.
FIRST_DECISION = 3
ERASE_DECISION, PLACE_DECISION, RELOCATE_DECISION, MERGE_DECISION, IDLE_DECISION = 3, 4, 5, 7, 8
#: The function that the placement has for periods is due; kinds of decisions are fewer.
PERIOD_DUE = 100
OUT_OF_SPACE, NO_VICTIM, NO_DECISION = -1, -2, -3
#: Against an erase set: one of its blocks, a mask, what it gains, how its pairs go together, where their
#: pages would have to go.
ILLEGAL_BLOCK, ILLEGAL_MASK, NOTHING_TO_GAIN, ILLEGAL_PAIRS, NO_ROOM_TO_MOVE = -4, -5, -6, -7, -8
#: Nothing can happen any more although something is outstanding: a fault of the engine.
STUCK = -9
#: The next event or arrival is later than the event tree can count.
OUT_OF_TIME = -10
#: Against the answer to any other decision.
ILLEGAL_ANSWER = -11
#: A subpage would have been programmed over a valid one, or out of order: a fault of the engine.
OUT_OF_ORDER = -12

#: For the loops alone: look again, for something has changed; and, there is nothing to be done.
AGAIN, NO_WORK = 201, 202

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
