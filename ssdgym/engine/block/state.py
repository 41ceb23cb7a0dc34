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
#: Partial blocks of a block, numbered from 1 on as a heap; 0 is not used.
NODES = 2 << MAX_LEVELS

#: Phases of a job.
UNPLANNED, SCAN, MOVE, FIRST_ERASE, NEXT_BLOCK, OUT, CUT, BACK, END = range(9)

#: A device's constants beside those of all families.
MERGING = np.dtype(
    [
        ("kind", "u1"),
        ("by_pages", "u1"),  # pages, and not bundles, are dealt out to planes one by one
        ("search_timed", "u1"),  # looking for a page in the update block takes time
        ("care", "u1"),  # plans restore what they would destroy by disturbance
        ("spread", "u1"),  # each host page advances jobs by a step
        ("levels", "i4"),
        ("logical_blocks", "i4"),  # of a bundle
        ("physical_blocks", "i4"),  # most blocks of a bundle outside a job
        ("slots", "i4"),  # of a bundle
        ("span", "i8"),  # logical pages of a bundle
        ("bundles", "i8"),
        ("buckets", "i4"),  # of a plane: one for each number of invalid pages of a bundle
        ("kept_free", "i4"),  # free blocks of a plane at which merges begin
        ("least_free", "i4"),  # blocks of a plane that the host leaves free
        ("most_m_merges", "i4"),  # of a bundle between two Merges
        ("tolerance", "i4"),  # erases of neighbours that data survives; -1 = all
        ("strains", "u1"),  # an erase also wears the parts beside it
        ("spare_ns", "i8"),  # of a page's spare area on the channel
        ("erase_ns", "i8", (MAX_LEVELS + 1,)),  # by level of the partial block; 0 is the block
    ],
    align=True,
)
#: What is mapped together.
BUNDLE = np.dtype(
    [
        ("invalid", "i4"),  # pages of its blocks
        ("next", "i4"),  # in its bucket
        ("previous", "i4"),
        ("since_merge", "i4"),  # M-Merges
        ("held", "u1"),  # blocks
        ("eligible", "u1"),  # it is in a bucket
    ],
    align=True,
)
#: The job of a plane.
JOB = np.dtype(
    [
        ("bundle", "i4"),  # or -1: no job
        ("owed", "i8"),  # commands due by the pages of the host
        ("step", "i8"),  # commands that a page of the host pays for
        ("answer", "i4"),  # the candidate
        ("emptied", "u4"),  # slots of the blocks that are emptied, to be erased at last
        ("left", "u4"),  # slots of the blocks in which partial blocks are still to be erased
        ("slot", "i4"),  # the block at hand
        ("node", "i4"),  # its partial block at hand
        ("page", "i4"),  # next page, or place, to look at
        ("amount", "i4"),  # of the command begun last: pages scanned, or level of an erase
        ("cause", "u1"),
        ("phase", "u1"),
        ("urgent", "u1"),  # it goes on to its end before any page of the host
    ],
    align=True,
)
#: Scratch: a partial block of the block that is planned for.
NODE = np.dtype(
    [("cost_ns", "i8"), ("valid", "i4"), ("invalid", "i4"), ("back", "i4"), ("halved", "u1")], align=True
)
#: Scratch: the plan for a block.
DRAFT = np.dtype(
    [
        ("plan", "u8", (2,)),
        ("cover", "u8"),  # its smallest partial blocks that are erased
        ("restored", "u8"),  # those because of disturbance
        ("cost_ns", "i8"),
        ("erase_ns", "i8"),
        *fields("i4", "copies out_copies erases at_tolerance"),
    ],
    align=True,
)
#: What the family counts beside the counters of all; each is a metric.
TALLY = np.dtype(
    [
        ("merges", "i8"),
        ("m_merges", "i8"),
        ("full_jobs", "i8"),  # of a bundle without a page for the host
        ("pool_jobs", "i8"),  # for a free block
        ("spare_reads", "i8"),  # by jobs
        ("search_reads", "i8"),  # by reads of the host
        *fields("i8", "partial_erases out_copies spoiled_pages restored_leaves gc_spare_ns gc_read_ns"),
        *fields("i8", "gc_write_ns gc_erase_ns"),
    ],
    align=True,
)

#: `lpn` of a page of `physical` is -1 where it is erased.
ARRAYS = Arrays(
    "Block",
    __name__,
    {
        **COMMON,
        **NOT_KEPT,
        "merging": Array(MERGING, (1,)),
        "tally": Array(TALLY, (1,)),
        # A sub-block is a smallest partial block; its `written` counts programmed pages, wherever they are.
        "disturbed": Array(np.uint8, ("sub_blocks",)),  # erases of neighbours since its own
        "frontier": Array(np.int32, ("blocks",)),  # no page of the block below it is erased
        "bundle": Array(BUNDLE, ("bundles",)),
        "member": Array(np.int32, ("members",)),  # blocks of each bundle by slot, -1 = none
        "bundle_bucket": Array(LIST, ("bundle_buckets",)),  # bundles by invalid pages, of each plane
        "job": Array(JOB, ("planes",)),
        # Partial blocks that a job erases in the block of each slot: bit k % 64 of word k // 64.
        "job_plan": Array(np.uint64, ("planes", MAX_SLOTS, 2)),
        # Of the last decision: its candidates, what is merged, and what they are computed with.
        "figure": Array(PLAN, (MAX_PLANS,)),
        "case": Array(CASE, (1,)),
        "node": Array(NODE, (NODES,)),
        "draft": Array(DRAFT, (1,)),
    },
)
BlockState = ARRAYS.state
BlockDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
