"""Records of the decision MERGE: what each way to merge the blocks of a bundle costs, and what is merged."""

from __future__ import annotations

import numpy as np

#: Most levels below a whole block at which a part of it can be erased: a block has up to 64 smallest parts.
MAX_LEVELS = 6
#: Most candidates: Merge, M-Merge at each depth, and the plan of least cost.
MAX_PLANS = MAX_LEVELS + 3
#: Why blocks are merged: no page of the bundle is left for one of the host; or the host needs a block and the
#: plane has no more free ones than are kept.
FULL, POOL = range(2)

#: A candidate. Times are nanoseconds.
PLAN = np.dtype(
    [
        ("cost_ns", "i8"),  # of its copies and erases
        ("erase_ns", "i8"),
        ("copies", "i4"),  # relocated pages
        ("out_copies", "i4"),  # those that make room for an erase in place
        ("erases", "i4"),  # commands
        ("restored", "i4"),  # smallest parts of blocks that are erased only because of disturbance
        ("at_tolerance", "i4"),  # those that would lose data if a neighbour was erased once more
        ("parts", "u8"),  # a mark of the partial blocks that are erased in place: the same for the same ones
        ("allowed", "u1"),
    ],
    align=True,
)
#: What is merged, and why.
CASE = np.dtype(
    [
        ("plane", "i4"),
        ("bundle", "i4"),
        ("candidates", "i4"),
        ("since_merge", "i4"),  # M-Merges of the bundle since its last Merge ...
        ("limit", "i4"),  # ... and the most of them
        ("free_blocks", "i4"),  # of the plane
        ("kept_blocks", "i4"),  # free blocks that the host leaves
        ("waiting", "i4"),  # bundles of the plane that could be merged to win a free block
        ("valid", "i4"),  # pages of the bundle's blocks
        ("invalid", "i4"),
        ("block_pages", "i4"),
        ("levels", "i4"),
        ("cause", "u1"),  # FULL or POOL
    ],
    align=True,
)
