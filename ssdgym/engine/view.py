"""The view that rules have of a device: its fields have equal names and dtypes in every family.

Arrays that a family does not use have length 1 or 0.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof

from ssdgym.engine.core.family import COMMON, ERASE_SETS, NO_MEMORY, State
from ssdgym.engine.core.handle import MEMORY_FIELDS, Memory
from ssdgym.engine.core.kernel import inlined


class PolicyView(NamedTuple):
    """The arrays of a device that a rule reads, and the rule's own memory."""

    params: Any  # (1,) PARAMS
    control: Any  # (1,) CONTROL
    counters: Any  # (1,) COUNTERS
    plane: Any
    round_pairs: Any  # MAX_PAIRS items per plane: the erase set of the round that the plane leads
    die: Any
    block: Any
    sub_block: Any
    endurance: Any  # by sub-block; only oracles read it, and only if the device's cells wear out
    stream: Any  # index: plane * MAX_STREAMS + stream
    open_sub_block: Any  # open sub-block of each stream, indexed as `stream`; -1 if none is open
    bucket: Any  # index: plane * (pages per block + 1) + invalid pages
    logical: Any
    physical: Any
    page_memory: Any  # memory of the rule: a record per logical page, bytes to the engine
    block_memory: Any  # memory of the rule: a record per block
    stream_memory: Any  # memory of the rule: a record per plane and stream; index: plane * streams + stream
    memory: Any  # memory of the rule: one record
    table: Any  # memory of the rule: a table; the rule declares its length for the device


#: Roles of rules: the victim rule; the placement and trackers; the rule for idle dies; the rules for
#: allocation and levelling. Each role has its own view, with memory that no other role reads.
ROLES = ("victim", "place", "idle", "wear")
VICTIM, PLACEMENT, IDLE_RULE, WEAR_RULES = range(4)
#: numba's type of the view, for compiling rules.
_KEPT = COMMON | ERASE_SETS | NO_MEMORY
VIEW_TYPE = typeof(PolicyView(*(np.zeros(1, _KEPT[name].dtype) for name in PolicyView._fields)))


@inlined
def view_of(state, i, role):
    """Return the view of device `i` of a batch for rules of a role (VICTIM, PLACEMENT, ...); copy nothing."""
    start = state.params[i, 0].memory_at[role]
    return PolicyView(
        state.params[i],
        state.control[i],
        state.counters[i],
        state.plane[i],
        state.round_pairs[i],
        state.die[i],
        state.block[i],
        state.sub_block[i],
        state.endurance[i],
        state.stream[i],
        state.open_sub_block[i],
        state.bucket[i],
        state.logical[i],
        state.physical[i],
        state.page_memory[i, start[0] :],
        state.block_memory[i, start[1] :],
        state.stream_memory[i, start[2] :],
        state.memory[i, start[3] :],
        state.table[i, start[4] :],
    )


def memory_start(state: State, i: int, array: str, role: str) -> int:
    """Return the byte at which the memory of a role begins in an array of memory of device `i`."""
    return int(state.params["memory_at"][i, 0, ROLES.index(role), [*MEMORY_FIELDS].index(array)])


def view_arrays(state: State, i: int, memory: Memory | None = None, role: str = "victim") -> PolicyView:
    """Return the view of device `i` for a rule that runs as plain Python.

    Args:
        state: the batch.
        i: number of the device in the batch.
        memory: records that the rule keeps; `None`: no records.
        role: role of the rule, one of ROLES.

    Returns:
        Record arrays that share memory with the device, read-only except the rule's own records.
    """
    memory = memory or Memory()
    lengths = _lengths(state.params[i, 0])
    arrays = {}
    for name in PolicyView._fields:
        array = getattr(state, name)[i]
        part = MEMORY_FIELDS.get(name)
        record = None if part is None else getattr(memory, part)
        if record is not None:
            array = array[memory_start(state, i, name, role) :]
            length = lengths.get(name, len(array) // record.itemsize)
            array = array[: length * record.itemsize].view(record)
        arrays[name] = array[: lengths.get(name)].view(np.recarray)
        arrays[name].flags.writeable = record is not None
    return PolicyView(**arrays)


def _lengths(params: np.void) -> dict[str, int]:
    """Return the number of items that a device uses in each array of its batch."""
    blocks = int(params["planes"]) * int(params["blocks"])
    return {
        "plane": int(params["planes"]),
        "block": blocks,
        "sub_block": blocks * int(params["sub_blocks"]),
        "endurance": blocks * int(params["sub_blocks"]) if params["endures"] else 1,
        "logical": int(params["logical_pages"]),
        "physical": blocks * int(params["pages_per_block"]),
        "page_memory": int(params["logical_pages"]),
        "block_memory": blocks,
        "stream_memory": int(params["planes"]) * int(params["streams"]),
        "memory": 1,
    }
