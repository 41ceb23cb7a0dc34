"""Records of what an observation is made of: features are functions of them, called by address."""

from __future__ import annotations

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.records import MAX_PAIRS

#: A candidate of an ERASE decision. Of several blocks, what is in them is counted together.
CANDIDATE = np.dtype(
    [
        ("block", "i4", (MAX_PAIRS,)),  # of each pair of the erase set
        ("mask", "u8", (MAX_PAIRS,)),  # sub-blocks of it
        ("pairs", "i8"),
        ("sub_blocks", "i8"),  # how many would be erased
        ("written", "i8"),  # pages
        ("valid", "i8"),  # pages, which have to be moved
        ("invalid", "i8"),  # pages, which are won
        ("beside", "i8"),  # pages to move from neighbours that are not erased
        ("spent", "i8"),  # sub-blocks whose pages are all invalid
        ("erases", "i8"),  # of its sub-blocks, since the device was made
        ("relocated", "i8"),  # blocks of a stream for relocated pages alone
        ("invalidated_at", "i8"),  # clock of the last invalidation in its blocks
        ("closed_at", "i8"),  # clock when the last of its blocks was closed
        ("proposers", "u8"),  # bit j: pick of proposer j
        # Of a sample of the valid pages, if a feature asks for it: how many, and how often the host has
        # written them; the same of the pages that share aligned groups of four logical pages with them.
        ("sampled", "i8"),
        ("updates", "i8"),
        ("neighbours", "i8"),
        ("neighbour_updates", "i8"),
    ],
    align=True,
)
#: A decision as a whole.
DECISION = np.dtype(
    [
        ("kind", "i8"),
        ("plane", "i8"),
        ("candidates", "i8"),  # that may be chosen
        ("mean_erases", "f8"),  # of a sub-block of them, averaged over the candidates
        ("host_pages", "i8"),  # programmed since the last decision
        ("elapsed_ns", "i8"),  # since the last decision
    ],
    align=True,
)
#: A write stream of the plane that a page is placed in.
STREAM_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("streams", "i8"),  # of the plane
        ("slot", "i8"),  # number through the whole device, of the records `view.stream`
        ("own", "i8"),  # number through the whole device, of a rule's records of streams
        ("room", "i8"),  # free pages of its open block; 0 where none is open
        ("open", "i8"),  # blocks, 0 or 1
        ("blocks", "i8"),  # the open one included
        ("valid", "i8"),  # pages
        ("written", "i8"),  # pages
    ],
    align=True,
)
#: A page that is placed.
PAGE_SEEN = np.dtype(
    [
        ("plane", "i8"),
        ("lpn", "i8"),
        ("relocated", "i8"),  # by garbage collection, and not written by the host
        ("held", "i8"),  # page that holds its data up to now, or -1
        ("block", "i8"),  # the block of that, or -1
        ("stream", "i8"),  # that this block is of, or -1
    ],
    align=True,
)
#: An idle die, and the plane that it would collect.
DIE_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("plane", "i8"),  # one of the die's if there is nothing to collect
        ("collects", "i8"),  # whether there is something
        ("running", "i8"),  # whether a round is under way
        (
            "moves",
            "i8",
        ),  # pages left to move; of none, those of the block with most invalid pages
        ("invalid", "i8"),  # pages that the erase wins, likewise
    ],
    align=True,
)
#: How far an idle die may go.
ANSWER_SEEN = np.dtype(
    [
        ("number", "i8"),
        ("commands", "i8"),  # of the round that is under way or would start
        ("moves", "i8"),  # of them
        ("erases", "i8"),  # whether the erase is among them
        ("nominal_ns", "i8"),
    ],
    align=True,
)
#: Where a device was when its last decision was taken.
TAKEN = np.dtype([("clock", "i8"), ("now", "i8")])
#: A feature that is asked for: its code, and the bounds that its values have to keep.
FEATURE = np.dtype([("address", "i8"), ("of_device", "i8"), ("low", "f8"), ("high", "f8")])
#: The first value outside its bounds: which column it is for (counted from 1, context behind candidates).
OUTSIDE = np.dtype([("column", "i8"), ("value", "f8")])

_VIEW = types.int64
CANDIDATE_TYPE = typeof(np.zeros(1, CANDIDATE)).dtype
DECISION_TYPE = typeof(np.zeros(1, DECISION)).dtype
STREAM_TYPE = typeof(np.zeros(1, STREAM_SEEN)).dtype
PAGE_TYPE = typeof(np.zeros(1, PAGE_SEEN)).dtype
DIE_TYPE = typeof(np.zeros(1, DIE_SEEN)).dtype
ANSWER_TYPE = typeof(np.zeros(1, ANSWER_SEEN)).dtype
#: What each kind of feature is called with; the first argument is the handle of what a rule sees.
FEATURE_SHAPES = {
    "candidate": types.float64(_VIEW, CANDIDATE_TYPE, DECISION_TYPE),
    "stream": types.float64(_VIEW, STREAM_TYPE, PAGE_TYPE),
    "page": types.float64(_VIEW, PAGE_TYPE),
    "answer": types.float64(_VIEW, ANSWER_TYPE, DIE_TYPE),
    "die": types.float64(_VIEW, DIE_TYPE),
    "decision": types.float64(_VIEW, DECISION_TYPE),
    "device": types.float64(_VIEW),
}
