"""Records of best erase sets and block groups."""

from __future__ import annotations

import numpy as np

#: The best erase set of a block, and the block's place among the groups.
BEST = np.dtype(
    [
        ("mask", "u8"),  # 0 = none
        ("gain", "i4"),  # invalid pages of the set
        ("moves", "i4"),  # valid pages to move before it is erased
        ("rank_gain", "i4"),  # the block's rank, as in HEAP
        ("rank_moves", "i4"),
        ("rank_tie", "i4"),
        ("next_dirty", "i4"),
        ("low", "i4"),  # place in its group's heap of smallest ranks
        ("high", "i4"),  # place in its group's heap of largest ranks
        ("group", "u1"),  # counted from 0
        ("first", "u1"),  # with groups: lowest sub-block with unwritten pages
        ("dirty", "u1"),  # the plane's trees do not know it as it is
        ("writable", "u1"),  # 0 no, WRITABLE, or WRITABLE_BEST: its best set has unwritten pages
    ],
    align=True,
)
#: An entry of a group's heap: a block with the rank gain / (moves * copy cost + erase cost) it is sorted by.
HEAP = np.dtype(
    [
        ("gain", "i4"),
        ("moves", "i4"),
        ("tie", "i4"),  # of equal ranks the one with the smaller tie is larger, then the lower block
        ("block", "i4"),
    ]
)
#: Values of `writable`.
WRITABLE, WRITABLE_BEST = 1, 2
