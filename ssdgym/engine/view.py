"""What rules see of a device, of whatever family it is: the same arrays, under the same names.

A family whose decisions are taken by such rules has all of these arrays; those of tables that it does not
keep are of length 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof

from ssdgym.engine.core.family import State
from ssdgym.engine.core.handle import MEMORY_FIELDS, Memory
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.records import (
    BLOCK,
    BUCKET,
    CONTROL,
    COUNTERS,
    DIE,
    ERASE_PAIR,
    LOGICAL,
    PARAMS,
    PHYSICAL,
    PLANE,
    STREAM,
    SUB_BLOCK,
)
from ssdgym.engine.speedupgc.best_sets import BEST, HEAP

#: Arrays that a family does not have: empty ones of the same items, which lie in memory as those of others.
_NO_PAIRS, _NO_STREAMS, _NO_BUCKETS = np.zeros(0, ERASE_PAIR), np.zeros(0, STREAM), np.zeros(0, BUCKET)
_NO_BEST, _NO_NUMBERS, _NO_HEAP = np.zeros(0, BEST), np.zeros(0, np.int32), np.zeros(0, HEAP)
_NO_HOTNESS, _NO_BYTES = np.zeros(0, np.uint64), np.zeros(0, np.uint8)


class PolicyView(NamedTuple):
    """The part of a device that a rule sees; the memory is its own."""

    params: Any  # (1,) PARAMS
    control: Any  # (1,) CONTROL
    counters: Any  # (1,) COUNTERS
    plane: Any
    round_pairs: Any  # MAX_PAIRS per plane: the round that it leads
    die: Any
    block: Any
    sub_block: Any
    stream: Any  # number plane * MAX_STREAMS + stream
    bucket: Any
    logical: Any
    physical: Any
    best: Any
    tree: Any
    group_size: Any
    heap: Any
    hotness: Any
    page_memory: Any  # a record per logical page, as the rule declares it; bytes to the engine
    block_memory: Any  # a record per block
    stream_memory: Any  # a record per plane and stream: number plane * streams + stream
    memory: Any  # one record


@inlined
def whole_view(state, i, page, block, stream, device):
    """Return the view of a rule whose memory begins at these bytes; nothing is copied."""
    return PolicyView(
        state.params[i],
        state.control[i],
        state.counters[i],
        state.plane[i],
        state.round_pairs[i],
        state.die[i],
        state.block[i],
        state.sub_block[i],
        state.stream[i],
        state.bucket[i],
        state.logical[i],
        state.physical[i],
        state.best[i],
        state.tree[i],
        state.group_size[i],
        state.heap[i],
        state.hotness[i],
        state.page_memory[i, page:],
        state.block_memory[i, block:],
        state.stream_memory[i, stream:],
        state.memory[i, device:],
    )


@inlined
def view_of_blocks(state, i):
    """Return the view of a device whose rules see none; what only other families have is empty."""
    return PolicyView(
        state.params[i],
        state.control[i],
        state.counters[i],
        state.plane[i],
        _NO_PAIRS,
        state.die[i],
        state.block[i],
        state.sub_block[i],
        _NO_STREAMS,
        _NO_BUCKETS,
        state.logical[i],
        state.physical[i],
        _NO_BEST,
        _NO_NUMBERS,
        _NO_NUMBERS,
        _NO_HEAP,
        _NO_HOTNESS,
        _NO_BYTES,
        _NO_BYTES,
        _NO_BYTES,
        _NO_BYTES,
    )


def view_arrays(state: State, i: int, memory: Memory | None = None, role: str = "victim") -> PolicyView:
    """Return what a plain-Python rule sees of device `i`, whose records have attributes.

    Args:
        state: the batch.
        i: number of the device in it.
        memory: records the rule keeps.
        role: whose memory it is, `victim`, `place` or `idle`.

    Returns:
        Record arrays that share memory with the device, read-only but for the rule's own records.
    """
    memory = memory or Memory()
    lengths = _lengths(state.params[i, 0])
    arrays = {}
    for name in PolicyView._fields:
        array = getattr(state, name)[i]
        part = MEMORY_FIELDS.get(name)
        record = None if part is None else getattr(memory, part)
        if record is not None:
            array = array[int(state.params[f"{role}_{part}"][i, 0]) :]
            array = array[: lengths[name] * record.itemsize].view(record)
        arrays[name] = array[: lengths.get(name)].view(np.recarray)
        arrays[name].flags.writeable = record is not None
    return PolicyView(**arrays)


def _lengths(params: np.void) -> dict[str, int]:
    """Return the items of a device in the arrays that it shares with larger ones of its batch."""
    blocks = int(params["planes"]) * int(params["blocks"])
    return {
        "plane": int(params["planes"]),
        "block": blocks,
        "sub_block": blocks * int(params["sub_blocks"]),
        "logical": int(params["logical_pages"]),
        "physical": blocks * int(params["pages_per_block"]),
        "page_memory": int(params["logical_pages"]),
        "block_memory": blocks,
        "stream_memory": int(params["planes"]) * int(params["streams"]),
        "memory": 1,
    }


_ITEMS = PolicyView(
    params=PARAMS,
    control=CONTROL,
    counters=COUNTERS,
    plane=PLANE,
    round_pairs=ERASE_PAIR,
    die=DIE,
    block=BLOCK,
    sub_block=SUB_BLOCK,
    stream=STREAM,
    bucket=BUCKET,
    logical=LOGICAL,
    physical=PHYSICAL,
    best=BEST,
    tree=np.int32,
    group_size=np.int32,
    heap=HEAP,
    hotness=np.uint64,
    page_memory=np.uint8,
    block_memory=np.uint8,
    stream_memory=np.uint8,
    memory=np.uint8,
)
#: numba's type of the view, for compiling rules.
VIEW_TYPE = typeof(PolicyView(*(np.zeros(1, items) for items in _ITEMS)))
