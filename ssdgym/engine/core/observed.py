"""Records that features read: a feature is a function of these records, called by its address."""

from typing import Any

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.kernel import function_at
from ssdgym.engine.core.records import MAX_PAIRS, fields

#: A candidate of an ERASE decision. The numbers of pages and sub-blocks are sums over its blocks.
CANDIDATE = np.dtype(
    [
        ("block", "i4", (MAX_PAIRS,)),  # block of each pair of the erase set
        ("mask", "u8", (MAX_PAIRS,)),  # sub-blocks of each pair that are erased: bit s = sub-block s
        ("pairs", "i8"),  # number of pairs of the erase set
        ("sub_blocks", "i8"),  # number of sub-blocks that would be erased
        ("written", "i8"),  # written pages of the sub-blocks that would be erased
        ("valid", "i8"),  # valid pages, which have to be relocated first
        ("invalid", "i8"),  # invalid pages, which the erase reclaims
        ("beside", "i8"),  # valid pages of neighbouring sub-blocks, which are relocated but not erased
        ("spent", "i8"),  # sub-blocks whose pages are all invalid
        ("erases", "i8"),  # erases so far of the sub-blocks that would be erased
        ("relocated", "i8"),  # blocks that belong to stream `gc_stream`; 0 on a device with one stream
        ("invalidated_at", "i8"),  # clock of the last invalidation in the candidate's blocks
        ("closed_at", "i8"),  # clock when the last of the candidate's blocks was closed
        ("proposers", "u8"),  # bit j: proposer j has picked this candidate
        # 0 unless a feature needs a sample of the valid pages. Number of sampled pages, and writes of these
        # pages; number of the other logical pages in their aligned groups of four, and writes of those pages.
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
        ("mean_erases", "f8"),  # mean erases per sub-block: of candidates (ERASE), of the plane (LEVEL), or 0
        ("host_pages", "i8"),  # host pages programmed since the device's last decision
        ("elapsed_ns", "i8"),  # time since the device's last decision
    ],
    align=True,
)
#: A write stream of the plane that a page is placed in.
STREAM_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("streams", "i8"),  # streams of the plane
        ("slot", "i8"),  # index in `view.stream`, counted over the device
        ("own", "i8"),  # index in a rule's `view.stream_memory`
        ("room", "i8"),  # free pages of the stream's open block; 0 if none is open
        ("open", "i8"),  # open blocks of the stream, 0 or 1
        ("blocks", "i8"),  # blocks of the stream, including the open block
        ("valid", "i8"),  # valid pages of the stream
        ("written", "i8"),  # pages of the stream's blocks, without the free pages of the open block
        # If the target is a sub-block of the pool, `room` counts the free pages of the sub-block, and the
        # other fields describe its block as if it were the open block of a stream with this one block.
        ("target", "i8"),  # the target that names the sub-block, or 0 for a stream
        ("near", "f8"),  # invalid pages of the target's block / most invalid pages of a block of the plane
        ("chosen", "i8"),  # whether the target is in the best erase set of its block
    ],
    align=True,
)
#: A page that is placed.
PAGE_SEEN = np.dtype(
    [
        ("plane", "i8"),
        ("lpn", "i8"),
        ("relocated", "i8"),  # 1 if GC relocates the page, 0 if the host writes it
        ("held", "i8"),  # physical page that holds the present data of the page, or -1
        ("block", "i8"),  # block of the physical page `held`, or -1
        ("stream", "i8"),  # stream of the block of `held`, or -1
    ],
    align=True,
)
#: An idle die, and the plane that it would collect.
DIE_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("plane", "i8"),  # plane that GC would collect; if there is none, the die's first plane
        ("collects", "i8"),  # whether the die has a plane to collect
        ("running", "i8"),  # whether a round runs in the plane
        ("moves", "i8"),  # pages left to move; if no round runs, valid pages of the most invalid block
        ("invalid", "i8"),  # invalid pages that the erase reclaims
    ],
    align=True,
)
#: An answer to an IDLE decision: how many commands of GC an idle die may run.
ANSWER_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("commands", "i8"),  # commands that the die would run, at most to the end of the round
        ("moves", "i8"),  # moves among the commands of this answer
        ("erases", "i8"),  # 1 if the erase is among the commands of this answer
        ("nominal_ns", "i8"),  # time of the commands without waits
    ],
    align=True,
)
#: Data that a REGION decision is about: sectors of a group that leave the write buffer as less than a page,
#: or a valid subpage of a block that is collected.
SECTOR_SEEN = np.dtype(
    [
        ("plane", "i8"),  # plane whose region is collected, or whose region the next sector would go to
        ("lpn", "i8"),  # logical page of the subpage, or of the first sector
        ("collected", "i8"),  # 1: a subpage of a collected block; 0: sectors from the write buffer
        ("slots", "i8"),  # sectors of a group
        ("sectors", "i8"),  # sectors that the decision is about: those that leave the buffer, or 1
        ("others", "i8"),  # other mapped sectors of their group
        ("in_region", "i8"),  # other mapped sectors of their group that are in a region
        ("updated", "i8"),  # sectors in a region: now (from the buffer), when last written (collected)
        ("writes", "i8"),  # writes and trims of the sectors that the decision is about, summed
        ("pages", "i8"),  # physical pages to read before the whole group can be programmed
        ("evicting", "i8"),  # whether an eviction of the group to the main area is under way
        ("slot", "i8"),  # slot that holds the present data of `lpn`, or -1
        ("age_h", "i8"),  # hours since the page of `slot` was programmed
        ("kept", "i8"),  # subpages that this collection has kept in the region
        ("most_kept", "i8"),  # most subpages that this collection may keep in the region
        ("left", "i8"),  # valid subpages of the collected block, including those of evictions under way
        ("waiting", "i8"),  # groups in the write buffer
        ("places", "i8"),  # most groups that the write buffer can hold
        ("block_pages", "i8"),  # flash pages of a block
        ("region_pages", "i8"),  # region pages of the plane
        ("region_valid", "i8"),  # region pages with a valid subpage
        ("passes", "i8"),  # passes left over the region's blocks before their erases, summed
        ("most_passes", "i8"),  # `passes` if all blocks of the region were erased
    ],
    align=True,
)
#: An answer to a REGION decision: program the data to the region, or its whole group to the main area.
WAY_SEEN = np.dtype(
    [
        ("number", "i8"),  # 1 for the region, 0 for the main area
        ("nominal_ns", "i8"),
        ("reads", "i8"),  # reads of physical pages
        ("programmed", "i8"),  # programmed slots
        ("wasted", "i8"),  # programmed slots that hold no data
        ("room", "i8"),  # pages left in the open block of region or main area, 0 if none is open
        ("in_the_way", "i8"),  # region: pages counted in `room` that hold a valid subpage; main area: 0
        ("valid", "i8"),  # pages of the region, or of the plane's main area, with a valid subpage
        ("pages", "i8"),  # most pages of the region or main area that can have a valid subpage
    ],
    align=True,
)
#: The bundle whose blocks are merged.
BUNDLE_SEEN = np.dtype(
    [
        ("plane", "i8"),
        ("number", "i8"),
        ("cause", "i8"),  # FULL or POOL of `ssdgym.engine.core.records`
        ("candidates", "i8"),  # candidates, including those that are not allowed
        ("levels", "i8"),  # levels below the whole block at which parts can be erased
        ("block_pages", "i8"),
        ("blocks", "i8"),
        ("valid", "i8"),  # valid pages of the bundle's blocks
        ("invalid", "i8"),  # invalid pages of these blocks
        ("since_merge", "i8"),  # M-Merges of the bundle since its last Merge
        ("limit", "i8"),  # most M-Merges of a bundle between two Merges
        ("free_blocks", "i8"),  # free blocks of the plane
        ("kept_blocks", "i8"),  # free blocks of the plane at which merges begin
        ("waiting", "i8"),  # other bundles of the plane that could be merged
        ("merge_ns", "i8"),  # time of a Merge
        ("merge_copies", "i8"),
        ("block_erase_ns", "i8"),
        ("mean_erases", "f8"),  # erases per smallest part of the bundle's blocks
        ("spread", "f8"),  # standard deviation of the erases of these smallest parts
    ],
    align=True,
)
#: A candidate of a MERGE decision.
PLAN_SEEN = np.dtype(
    [
        ("number", "i8"),  # 0: Merge; 1 + l: M-Merge at level l; 2 + levels: the plan of least cost
        ("depth", "i8"),  # level l of an M-Merge, or -1
        ("allowed", "i8"),  # whether the candidate can be carried out; it may equal another candidate
        ("cost_ns", "i8"),  # time of the copies and erases
        ("erase_ns", "i8"),  # time of the erases
        ("copies", "i8"),  # copied pages
        ("out_copies", "i8"),  # pages copied out of partial blocks before their erase in place
        ("erases", "i8"),  # erase commands
        ("restored", "i8"),  # sub-blocks erased only because disturbance would destroy their data
        ("at_tolerance", "i8"),  # sub-blocks that lose data if a neighbour is erased once more
    ],
    align=True,
)
#: Clock and time of a device when its last decision was taken.
TAKEN = np.dtype([("clock", "i8"), ("now", "i8")])
#: A selected feature: the address of its code, whether it is of kind `device`, and the bounds of its values.
FEATURE = np.dtype([("address", "i8"), ("of_device", "i8"), ("low", "f8"), ("high", "f8")])
#: The first value out of its bounds, and the number of its feature from 1 up (0: no such value). Features of
#: candidates are counted before features of the context.
OUTSIDE = np.dtype([("column", "i8"), ("value", "f8")])


def _of(about: np.dtype, *more: np.dtype) -> Any:
    """Return numba's signature of a feature: (view's address, record `about`, other records) -> float64."""
    return types.float64(types.int64, *(typeof(np.zeros(1, items)).dtype for items in (about, *more)))


#: Signature of each kind of feature.
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

#: Intrinsics that make a feature's address a callable, for kinds of features that engine modules call.
candidate_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["candidate"]))
decision_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["decision"]))
device_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["device"]))
stream_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["stream"]))
page_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["page"]))
die_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["die"]))
