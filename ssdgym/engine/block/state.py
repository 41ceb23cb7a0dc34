"""Arrays of the block family, their records, and codes in fields of the records.

A *bundle* is a group of logical blocks that are mapped together; its *slots* are places for its blocks. A
*job* is the merge of a bundle. A *partial block* is a run of sub-blocks that can be erased: block, half,
quarter, ...
"""

import numpy as np

from ssdgym.engine.core.family import COMMON, NOT_KEPT, Array, Arrays
from ssdgym.engine.core.records import CASE, LIST, MAX_LEVELS, MAX_PLANS, PLAN, fields

#: The FTLs of the family.
NFTL, SUPERBLOCK = range(2)
#: Slots of a bundle of NFTL: the data block, the update block, and the block that a Merge copies to.
DATA, UPDATE, TARGET = range(3)
#: Most slots of a bundle.
MAX_SLOTS = 16
#: Length of arrays indexed by partial block. Partial blocks are numbered as a heap, from 1 up.
NODES = 2 << MAX_LEVELS

#: Phases of a job. MOVE is of a Merge; FIRST_ERASE to BACK are of an M-Merge, from NEXT_BLOCK for each block.
UNPLANNED, SCAN, MOVE, FIRST_ERASE, NEXT_BLOCK, OUT, CUT, BACK, END = range(9)

#: Constants of a device of this family, besides PARAMS.
MERGING = np.dtype(
    [
        ("kind", "u1"),
        ("by_pages", "u1"),  # logical pages are striped over the planes; if 0, bundles are
        ("search_timed", "u1"),  # the search for a page in the update block takes time
        ("care", "u1"),  # plans also erase sub-blocks that would otherwise lose data by disturbance
        ("spread", "u1"),  # a job runs between host pages, each of which makes some of its commands due
        ("levels", "i4"),  # level of the smallest partial blocks
        ("logical_blocks", "i4"),  # logical blocks of a bundle
        ("physical_blocks", "i4"),  # most blocks of a bundle outside a job
        ("slots", "i4"),  # slots of a bundle
        ("span", "i8"),  # logical pages of a bundle
        ("bundles", "i8"),
        ("buckets", "i4"),  # buckets of a plane: one for each number of invalid pages of a bundle
        ("kept_free", "i4"),  # free blocks of a plane at which merges begin
        ("least_free", "i4"),  # the host takes a block only while more than this number are free in the plane
        ("most_m_merges", "i4"),  # most M-Merges of a bundle between two Merges
        ("tolerance", "i4"),  # disturbances that a sub-block's data survives; -1 = any number
        ("strains", "u1"),  # an erase also wears the sub-blocks beside the erased part
        ("spare_ns", "i8"),  # time of a page's spare area on the channel
        ("erase_ns", "i8", (MAX_LEVELS + 1,)),  # by level of the erased partial block; 0 is the whole block
    ],
    align=True,
)
#: A bundle: logical blocks that are mapped together.
BUNDLE = np.dtype(
    [
        ("invalid", "i4"),  # invalid pages of its blocks
        ("next", "i4"),  # next bundle in the bucket
        ("previous", "i4"),
        ("since_merge", "i4"),  # M-Merges since the last Merge
        ("held", "u1"),  # number of its blocks
        ("eligible", "u1"),  # whether it is in a bucket
    ],
    align=True,
)
#: The job of a plane.
JOB = np.dtype(
    [
        ("bundle", "i4"),  # bundle of the job; -1 = no job
        ("owed", "i8"),  # commands that host pages have made due
        ("step", "i8"),  # commands that each host page makes due
        ("answer", "i4"),  # the chosen candidate
        ("emptied", "u4"),  # mask of the slots whose blocks are emptied, then erased as a whole
        ("left", "u4"),  # mask of the slots in whose blocks partial blocks are still to be erased
        ("slot", "i4"),  # slot of the block that is worked on
        ("node", "i4"),  # partial block that is worked on
        ("page", "i4"),  # next page, or place, to examine
        ("amount", "i4"),  # of the last command: number of scanned pages, or level of the erase
        ("cause", "u1"),
        ("phase", "u1"),
        ("urgent", "u1"),  # the job is finished before any page of the host
    ],
    align=True,
)
#: Scratch: a partial block of the block for which a plan is made. `back`: valid pages of the update block
#: that belong there; `halved`: the plan erases parts of its halves.
NODE = np.dtype(
    [("cost_ns", "i8"), ("valid", "i4"), ("invalid", "i4"), ("back", "i4"), ("halved", "u1")], align=True
)
#: Scratch: the plan for a block.
DRAFT = np.dtype(
    [
        ("plan", "u8", (2,)),  # partial blocks that are erased in place, as in `job_plan`
        ("cover", "u8"),  # mask of the sub-blocks that the plan erases
        ("restored", "u8"),  # mask of sub-blocks erased only because they would lose data by disturbance
        ("cost_ns", "i8"),
        ("erase_ns", "i8"),
        *fields("i4", "copies out_copies erases at_tolerance"),
    ],
    align=True,
)
#: Counters of this family besides COUNTERS; each is a metric.
TALLY = np.dtype(
    [
        ("merges", "i8"),
        ("m_merges", "i8"),
        ("full_jobs", "i8"),  # jobs with cause FULL: the bundle has no page left for the host
        ("pool_jobs", "i8"),  # jobs with cause POOL: a free block is needed
        ("spare_reads", "i8"),  # spare areas that jobs read
        ("search_reads", "i8"),  # spare areas that reads of the host search
        *fields("i8", "partial_erases out_copies spoiled_pages restored_leaves gc_spare_ns gc_read_ns"),
        *fields("i8", "gc_write_ns gc_erase_ns"),
    ],
    align=True,
)

#: Arrays of the family. In `physical`, an erased page has `lpn` -1.
ARRAYS = Arrays(
    "Block",
    __name__,
    {
        **COMMON,
        **NOT_KEPT,
        "merging": Array(MERGING, (1,)),
        "tally": Array(TALLY, (1,)),
        # A sub-block is a smallest partial block; its `written` counts programmed pages, in any order.
        "disturbed": Array(np.uint8, ("sub_blocks",)),  # erases next to the sub-block since its own erase
        "frontier": Array(np.int32, ("blocks",)),  # no page of a block below this number is erased
        "bundle": Array(BUNDLE, ("bundles",)),
        "member": Array(np.int32, ("members",)),  # blocks of each bundle by slot, -1 = none
        "bundle_bucket": Array(LIST, ("bundle_buckets",)),  # bundles by invalid pages, of each plane
        "job": Array(JOB, ("planes",)),
        # Partial blocks that a job erases in the block of each slot: bit k % 64 of word k // 64.
        "job_plan": Array(np.uint64, ("planes", MAX_SLOTS, 2)),
        # The candidates of the last decision, the decision's job, and scratch to compute both.
        "figure": Array(PLAN, (MAX_PLANS,)),
        "case": Array(CASE, (1,)),
        "node": Array(NODE, (NODES,)),
        "draft": Array(DRAFT, (1,)),
    },
)
BlockState = ARRAYS.state
BlockDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
