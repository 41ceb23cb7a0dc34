"""Arrays of the block family, their records, and the codes that these hold."""

import numpy as np

from ssdgym.engine.core.family import COMMON, NOT_KEPT, Array, Arrays
from ssdgym.engine.core.records import CASE, LIST, MAX_LEVELS, MAX_PLANS, PLAN, fields

#: The FTLs of the family.
NFTL, SUPERBLOCK = range(2)
#: Slots of a bundle of NFTL: the data block, the update block, and the block that a Merge copies to.
DATA, UPDATE, TARGET = range(3)
#: Most slots of a bundle.
MAX_SLOTS = 16
#: Length of arrays by partial block: partial blocks are numbered from 1 on as a heap; 0 is not used.
NODES = 2 << MAX_LEVELS

#: Phases of a job.
UNPLANNED, SCAN, MOVE, FIRST_ERASE, NEXT_BLOCK, OUT, CUT, BACK, END = range(9)

#: Constants of a device of this family, besides PARAMS.
MERGING = np.dtype(
    [
        ("kind", "u1"),
        ("by_pages", "u1"),  # logical pages, instead of bundles, are striped over the planes
        ("search_timed", "u1"),  # the search for a page in the update block takes time
        ("care", "u1"),  # plans also restore sub-blocks that they would destroy by disturbance
        ("spread", "u1"),  # each host page makes some commands of a job due
        ("levels", "i4"),
        ("logical_blocks", "i4"),  # logical blocks of a bundle
        ("physical_blocks", "i4"),  # most blocks of a bundle outside a job
        ("slots", "i4"),  # slots of a bundle
        ("span", "i8"),  # logical pages of a bundle
        ("bundles", "i8"),
        ("buckets", "i4"),  # buckets of a plane: one for each number of invalid pages of a bundle
        ("kept_free", "i4"),  # free blocks of a plane at which merges begin
        ("least_free", "i4"),  # blocks of a plane that the host leaves free
        ("most_m_merges", "i4"),  # most M-Merges of a bundle between two Merges
        ("tolerance", "i4"),  # erases of neighbours that data survives; -1 = any number
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
        ("emptied", "u4"),  # mask of the slots whose blocks are emptied and finally erased
        ("left", "u4"),  # mask of the slots in whose blocks partial blocks are still to be erased
        ("slot", "i4"),  # slot of the block that is worked on
        ("node", "i4"),  # partial block that is worked on
        ("page", "i4"),  # next page, or place, to examine
        ("amount", "i4"),  # of the command begun last: pages scanned, or level of an erase
        ("cause", "u1"),
        ("phase", "u1"),
        ("urgent", "u1"),  # the job is finished before any page of the host
    ],
    align=True,
)
#: Scratch: a partial block of the block for which a plan is made.
NODE = np.dtype(
    [("cost_ns", "i8"), ("valid", "i4"), ("invalid", "i4"), ("back", "i4"), ("halved", "u1")], align=True
)
#: Scratch: the plan for a block.
DRAFT = np.dtype(
    [
        ("plan", "u8", (2,)),
        ("cover", "u8"),  # smallest partial blocks that the plan erases
        ("restored", "u8"),  # smallest partial blocks that are erased only because of disturbance
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
        ("full_jobs", "i8"),  # jobs on a bundle without a page for the host
        ("pool_jobs", "i8"),  # jobs for a free block
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
        "disturbed": Array(np.uint8, ("sub_blocks",)),  # erases of neighbours since the sub-block's own erase
        "frontier": Array(np.int32, ("blocks",)),  # no page of a block below this number is erased
        "bundle": Array(BUNDLE, ("bundles",)),
        "member": Array(np.int32, ("members",)),  # blocks of each bundle by slot, -1 = none
        "bundle_bucket": Array(LIST, ("bundle_buckets",)),  # bundles by invalid pages, of each plane
        "job": Array(JOB, ("planes",)),
        # Partial blocks that a job erases in the block of each slot: bit k % 64 of word k // 64.
        "job_plan": Array(np.uint64, ("planes", MAX_SLOTS, 2)),
        # The last decision: its candidates and its job, and scratch to compute them.
        "figure": Array(PLAN, (MAX_PLANS,)),
        "case": Array(CASE, (1,)),
        "node": Array(NODE, (NODES,)),
        "draft": Array(DRAFT, (1,)),
    },
)
BlockState = ARRAYS.state
BlockDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
