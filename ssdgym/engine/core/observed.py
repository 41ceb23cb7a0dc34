"""Records that features read; features are functions of these records, called by address."""

from typing import Any

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.kernel import function_at
from ssdgym.engine.core.records import MAX_PAIRS, fields

#: A candidate of an ERASE decision. Of several blocks, what is in them is counted together.
CANDIDATE = np.dtype(
    [
        ("block", "i4", (MAX_PAIRS,)),  # block of each pair of the erase set
        ("mask", "u8", (MAX_PAIRS,)),  # sub-blocks of that block: bit s = sub-block s
        ("pairs", "i8"),
        ("sub_blocks", "i8"),  # number of sub-blocks that would be erased
        ("written", "i8"),  # pages
        ("valid", "i8"),  # valid pages, which have to be relocated first
        ("invalid", "i8"),  # invalid pages, which the erase reclaims
        ("beside", "i8"),  # pages to relocate from neighbours that are not erased
        ("spent", "i8"),  # sub-blocks whose pages are all invalid
        ("erases", "i8"),  # erases of its sub-blocks since the device was made
        ("relocated", "i8"),  # blocks of a stream that only takes relocated pages
        ("invalidated_at", "i8"),  # clock of the last invalidation in its blocks
        ("closed_at", "i8"),  # clock when the last of its blocks was closed
        ("proposers", "u8"),  # bit j: proposer j picked it
        # Of a sample of the valid pages, if a feature needs it: how many, and how often the host has
        # written them; the same of the pages that share aligned groups of four logical pages with them.
        *fields("i8", "sampled updates neighbours neighbour_updates"),
    ],
    align=True,
)
#: A decision as a whole.
DECISION = np.dtype(
    [
        ("kind", "i8"),
        ("plane", "i8"),
        ("candidates", "i8"),  # candidates that may be chosen
        ("mean_erases", "f8"),  # erases per sub-block, averaged over the candidates
        ("host_pages", "i8"),  # host pages programmed since the last decision
        ("elapsed_ns", "i8"),  # time since the last decision
    ],
    align=True,
)
#: A write stream of the plane that a page is placed in.
STREAM_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("streams", "i8"),  # streams of the plane
        ("slot", "i8"),  # index in `view.stream`, counted over the device
        ("own", "i8"),  # index in the rule's records of streams
        ("room", "i8"),  # free pages of its open block; 0 where none is open
        ("open", "i8"),  # open blocks, 0 or 1
        ("blocks", "i8"),  # blocks, the open one included
        ("valid", "i8"),  # pages
        ("written", "i8"),  # pages
        # Where a sub-block of the pool stands in place of a stream, `room` counts its own free pages, and the
        # other fields are of its block, as if that was open.
        ("target", "i8"),  # number of the target, or 0 for a stream
        ("near", "f8"),  # its invalid pages / most invalid pages of a block of the plane
        ("chosen", "i8"),  # whether it is in the best erase set of its block
    ],
    align=True,
)
#: A page that is placed.
PAGE_SEEN = np.dtype(
    [
        ("plane", "i8"),
        ("lpn", "i8"),
        ("relocated", "i8"),  # whether GC relocates it, or the host writes it
        ("held", "i8"),  # physical page that holds its data until now, or -1
        ("block", "i8"),  # block of that physical page, or -1
        ("stream", "i8"),  # stream of that block, or -1
    ],
    align=True,
)
#: An idle die, and the plane that it would collect.
DIE_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("plane", "i8"),  # plane that GC would collect; any plane of the die if none
        ("collects", "i8"),  # whether there is something to collect
        ("running", "i8"),  # whether a round is under way
        ("moves", "i8"),  # pages left to move, or, before a round, in the block with most invalid pages
        ("invalid", "i8"),  # invalid pages, which the erase reclaims
    ],
    align=True,
)
#: How far an idle die may go.
ANSWER_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("commands", "i8"),  # commands of the round that is under way or would start
        ("moves", "i8"),  # moves among these commands
        ("erases", "i8"),  # whether the erase is among these commands
        ("nominal_ns", "i8"),
    ],
    align=True,
)
#: What a region decides: sectors of a group that leave the write buffer as less than a page, or a
#: subpage of a block that is collected.
SECTOR_SEEN = np.dtype(
    [
        ("plane", "i8"),  # plane that would take the next sector, or that collects
        ("lpn", "i8"),  # logical page of the subpage, or of the first sector
        ("collected", "i8"),  # whether it is a subpage of a collected block
        ("slots", "i8"),  # sectors of a group
        ("sectors", "i8"),  # sectors that the decision is about: those that leave the buffer, or 1
        ("others", "i8"),  # other mapped sectors of their group
        ("in_region", "i8"),  # other sectors that are in a region
        ("updated", "i8"),  # sectors that were in a region when they were written
        ("writes", "i8"),  # host writes of these sectors, summed
        ("pages", "i8"),  # physical pages to read before the whole group can be programmed
        ("evicting", "i8"),  # whether the group already moves to the main area
        ("slot", "i8"),  # slot that holds the data of `lpn` until now, or -1
        ("age_h", "i8"),  # hours since its page was programmed
        ("kept", "i8"),  # subpages that stay in this collection ...
        ("most_kept", "i8"),  # ... and how many may
        ("left", "i8"),  # valid subpages of the block, those that are moving out included
        ("waiting", "i8"),  # groups in the write buffer ...
        ("places", "i8"),  # ... and how many it holds
        ("block_pages", "i8"),  # of flash
        ("region_pages", "i8"),  # region pages of the plane
        ("region_valid", "i8"),  # region pages with a valid subpage
        ("passes", "i8"),  # passes that the blocks of the region still allow without an erase ...
        ("most_passes", "i8"),  # ... and would if all were erased
    ],
    align=True,
)
#: One of the two ways there are: to the main area, with the rest of the group, or to the region.
WAY_SEEN = np.dtype(
    [
        ("number", "i8"),  # 1 for the region, 0 for the main area
        ("nominal_ns", "i8"),
        ("reads", "i8"),  # reads of physical pages
        ("programmed", "i8"),  # programmed slots
        ("wasted", "i8"),  # programmed slots that hold no data
        ("room", "i8"),  # pages left in the open block of the area, 0 if none is open
        ("in_the_way", "i8"),  # pages left that hold a valid subpage, which has to be advanced first
        ("valid", "i8"),  # pages of the area with a valid subpage ...
        ("pages", "i8"),  # ... of so many
    ],
    align=True,
)
#: The bundle whose blocks are merged.
BUNDLE_SEEN = np.dtype(
    [
        ("plane", "i8"),
        ("number", "i8"),
        ("cause", "i8"),  # FULL or POOL of `ssdgym.engine.core.records`
        ("candidates", "i8"),  # candidates, those that are not allowed included
        ("levels", "i8"),  # levels below the whole block at which parts can be erased
        ("block_pages", "i8"),
        ("blocks", "i8"),
        ("valid", "i8"),  # valid pages of its blocks
        ("invalid", "i8"),
        ("since_merge", "i8"),  # M-Merges since its last Merge ...
        ("limit", "i8"),  # ... and the most of them
        ("free_blocks", "i8"),  # free blocks of the plane
        ("kept_blocks", "i8"),  # free blocks that the host may not take
        ("waiting", "i8"),  # other bundles of the plane that could be merged
        ("merge_ns", "i8"),  # time of a Merge
        ("merge_copies", "i8"),
        ("block_erase_ns", "i8"),
        ("mean_erases", "f8"),  # erases per smallest part of its blocks
        ("spread", "f8"),  # standard deviation of these erases
    ],
    align=True,
)
#: A way to merge them.
PLAN_SEEN = np.dtype(
    [
        ("number", "i8"),  # 0: Merge; 1 + l: M-Merge at level l; 2 + levels: the plan of least cost
        ("depth", "i8"),  # level l, or -1
        ("allowed", "i8"),  # whether it can be carried out; it may equal another candidate
        ("cost_ns", "i8"),
        ("erase_ns", "i8"),
        ("copies", "i8"),  # pages
        ("out_copies", "i8"),  # copied pages that make room for an erase in place
        ("erases", "i8"),
        ("restored", "i8"),  # smallest parts erased only because of disturbance
        ("at_tolerance", "i8"),  # smallest parts that lose data if a neighbour is erased once more
    ],
    align=True,
)
#: Where a device was when its last decision was taken.
TAKEN = np.dtype([("clock", "i8"), ("now", "i8")])
#: A feature that is selected: its code, and the bounds that its values have to keep.
FEATURE = np.dtype([("address", "i8"), ("of_device", "i8"), ("low", "f8"), ("high", "f8")])
#: The first value outside its bounds: which column it is for (counted from 1, context behind candidates).
OUTSIDE = np.dtype([("column", "i8"), ("value", "f8")])


def _of(about: np.dtype, *more: np.dtype) -> Any:
    """Return numba's signature of a feature of these records; its first argument is a rule's view."""
    return types.float64(types.int64, *(typeof(np.zeros(1, items)).dtype for items in (about, *more)))


#: What each kind of feature is called with.
FEATURE_SHAPES = {
    "candidate": _of(CANDIDATE, DECISION),
    "stream": _of(STREAM_SEEN, PAGE_SEEN),
    "page": _of(PAGE_SEEN),
    "answer": _of(ANSWER_SEEN, DIE_SEEN),
    "die": _of(DIE_SEEN),
    "way": _of(WAY_SEEN, SECTOR_SEEN),
    "sector": _of(SECTOR_SEEN),
    "plan": _of(PLAN_SEEN, BUNDLE_SEEN),
    "bundle": _of(BUNDLE_SEEN),
    "decision": _of(DECISION),
    "device": types.float64(types.int64),
}

#: What calls a feature by its address, for the kinds that more than one place computes.
candidate_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["candidate"]))
decision_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["decision"]))
device_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["device"]))
stream_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["stream"]))
page_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["page"]))
die_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["die"]))
