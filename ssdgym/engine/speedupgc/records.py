"""Records of best erase sets and block groups, and the parts of a device their bookkeeping works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ssdgym.engine.core.kernel import inlined

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


class SetView(NamedTuple):
    """The part of a device that the bookkeeping of best sets works on."""

    params: Any
    plane: Any
    block: Any
    sub_block: Any
    best: Any
    tree: Any


class GroupView(NamedTuple):
    """The part of a device that the bookkeeping of block groups works on.

    It is called for every page, so every field counts.
    """

    params: Any
    block: Any
    sub_block: Any
    best: Any
    group_size: Any
    heap: Any
    group_bits: Any


@inlined
def set_view(dev):
    """Return the part of a device that the books of best sets need; nothing is copied."""
    return SetView(
        dev.params,
        dev.plane,
        dev.block,
        dev.sub_block,
        dev.best,
        dev.tree,
    )


@inlined
def group_view(dev):
    """Return the part of a device that the books of block groups need; nothing is copied."""
    return GroupView(dev.params, dev.block, dev.sub_block, dev.best, dev.group_size, dev.heap, dev.group_bits)
