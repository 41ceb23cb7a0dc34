"""The lists of closed blocks of groups, made anew: when MiDAS begins on a device, or changes its groups."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Status of a block that rules may collect, as the engine keeps it.
_INDEXED = 2


def own_part(view: Any) -> Any:
    """Return a view whose arrays have no more records than the device: in a batch they may be longer."""
    params = view.params[0]
    planes, blocks = int(params.planes), int(params.planes) * int(params.blocks)
    return view._replace(
        plane=view.plane[:planes],
        block=view.block[:blocks],
        page_memory=view.page_memory[: int(params.logical_pages)],
        block_memory=view.block_memory[:blocks],
        stream_memory=view.stream_memory[: planes * len(view.memory[0].limit)],
    )


def begin(view: Any, tail: int) -> None:
    """Begin with the blocks as they are: closed ones are in G1, which is the first group of the tail.

    Args:
        view: of the placement; its memory is written.
        tail: groups of a tail besides its first one.
    """
    memory, blocks, planes = view.memory[0], view.block, _planes_of(view)
    memory.last, memory.top = 1, 1 + tail
    is_open = (blocks.status & 1) != 0
    closed = (blocks.status & _INDEXED) != 0
    streams = len(memory.limit)
    view.block_memory.group = np.where(is_open, np.minimum(blocks.stream, memory.top), 1)
    view.stream_memory.target = 2  # of rounds that are under way
    view.block_memory.listed = closed
    order = np.lexsort((np.arange(len(blocks)), blocks.closed_at))
    order = order[closed[order]]
    view.block_memory.serial[order] = np.arange(1, len(order) + 1)
    memory.serial = len(order)
    view.stream_memory.open = 0
    for block in np.flatnonzero(is_open & (blocks.stream < streams)):
        view.stream_memory[planes[block] * streams + blocks.stream[block]].open = 1
    _link(view)


def change(view: Any, sizes: tuple[int, ...]) -> None:
    """Put a configuration in force.

    What was in the last group, or in the tail, is in the last one again. Groups that are no more go into it,
    and the oldest blocks of those that are over their size, without a page being moved.

    Args:
        view: of the placement; its memory is written.
        sizes: listed blocks of a plane for the hot group and G1 .. G(n-1).
    """
    memory, records, planes = view.memory[0], view.block_memory, _planes_of(view)
    last = len(sizes)
    group = records.group
    group[group >= min(int(memory.last), last)] = last
    memory.last = memory.top = last
    memory.limit[:last] = sizes
    for plane in range(int(view.params[0].planes)):
        for number, size in enumerate(sizes):
            own = np.flatnonzero((records.listed != 0) & (group == number) & (planes == plane))
            by_age = own[np.argsort(records.serial[own])]
            group[by_age[: max(len(by_age) - size, 0)]] = last
    _link(view)


def fold(view: Any, first: int, tail: int) -> None:
    """Make one group of a group and all behind it, with a tail.

    Args:
        view: of the placement; its memory is written.
        first: number of the group; of G1, no configuration is left.
        tail: groups of a tail besides its first one.
    """
    memory, records = view.memory[0], view.block_memory
    records.group[(records.listed != 0) & (records.group > first)] = first
    memory.last, memory.top = first, first + tail
    if first == 1:
        memory.configured = 0
    _link(view)


def _planes_of(view: Any) -> np.ndarray:
    return np.arange(len(view.block)) // int(view.params[0].blocks)


def _link(view: Any) -> None:
    """Make the lists of all groups: the blocks that are listed, oldest first."""
    records, groups = view.block_memory, view.stream_memory
    streams = len(view.memory[0].limit)
    listed = np.flatnonzero(records.listed)
    key = _planes_of(view)[listed] * streams + records.group[listed]
    order = listed[np.lexsort((records.serial[listed], key))]
    key = np.sort(key)
    starts = np.append(True, key[1:] != key[:-1])[: len(key)]
    ends = np.append(starts[1:], True)[: len(key)]
    records.previous[order] = np.where(starts, -1, np.roll(order, 1))
    records.next[order] = np.where(ends, -1, np.roll(order, -1))
    groups.oldest, groups.newest, groups.sealed = -1, -1, 0
    groups.oldest[key[starts]] = order[starts]
    groups.newest[key[ends]] = order[ends]
    groups.sealed = np.bincount(key, minlength=len(groups))
    # Pages of the last group fill the blocks first that are left open in streams without a group.
    top = int(view.memory[0].top)
    left = groups.open.reshape(-1, streams)[:, top + 1 :] != 0
    first = np.pad(left, ((0, 0), (0, 1)), constant_values=True).argmax(axis=1)
    groups.way[::streams] = np.where(first < left.shape[1], top + 1 + first, top)
