"""FTL families: each has its own arrays, and the engine is compiled once for each.

A batch of devices is a NamedTuple of arrays with the device as their first axis; a snapshot is a copy of
these arrays, a restore is an in-place copy, equality is array equality. Devices of different geometry may
share one batch: geometry is data, and the arrays are as long as the largest device needs.
"""

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ssdgym.engine.core import records
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.pointer import rows_of, store_at

#: A batch of devices: a NamedTuple of arrays of shape (devices, ...), of the class of its family.
State: TypeAlias = Any
#: Length of each named axis of a batch's arrays, as the batch's largest device needs it.
Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Array:
    """dtype and shape of an array that every device of a family has.

    Attributes:
        dtype: dtype of the array's items.
        shape: shape of one device's part. A string is the name of a length in `Sizes`.
    """

    dtype: Any
    shape: tuple[str | int, ...]


#: Arrays of every family.
COMMON = {
    "params": Array(records.PARAMS, (1,)),
    "control": Array(records.CONTROL, (1,)),
    "counters": Array(records.COUNTERS, (1,)),
    "logical": Array(records.LOGICAL, ("logical_pages",)),  # the map; ppn -1 = unmapped
    "in_flight": Array(np.int32, ("logical_pages",)),  # versions promised to the host and not yet programmed
    "physical": Array(records.PHYSICAL, ("pages",)),  # logical page and version programmed to each page
    "sub_block": Array(records.SUB_BLOCK, ("sub_blocks",)),
    "block": Array(records.BLOCK, ("blocks",)),
    "plane": Array(records.PLANE, ("planes",)),
    "die": Array(records.DIE, ("dies",)),
    "channel": Array(records.CHANNEL, ("channels",)),
    "transaction": Array(records.TRANSACTION, ("window",)),
    "slot": Array(records.SLOT, ("window",)),
    "event": Array(np.int64, ("events",)),  # a tree of minima over the resources' events; see time/events.py
    "ready": Array(np.int32, ("dies",)),  # ring buffer: queue of the dies to dispatch
    "latency": Array(records.LATENCY, ("latencies",)),  # by serial number of the request
    "histogram": Array(np.int64, (2, "bins")),  # latencies of reads and writes, log-binned
    "gc_histogram": Array(np.int64, (2, "bins")),  # times that reads and writes waited for GC, log-binned
    "tail": Array(np.int64, (2, "tail")),  # of each op, a min-heap of the longest latencies; item 0: size
    "endurance": Array(records.ENDURANCE, ("endurances",)),  # by sub-block; length 1 without wear
    "life": Array(records.LIFE, (1,)),
}
#: Arrays of the families that choose erase sets as victims and have open blocks by stream.
ERASE_SETS = {
    "round_pairs": Array(records.ERASE_PAIR, ("round_pairs",)),  # MAX_PAIRS per plane: set of the led round
    # Each has MAX_STREAMS items per plane: the open sub-block of each stream, or -1; counters of each stream.
    "open_sub_block": Array(np.int32, ("open_sub_blocks",)),
    "stream": Array(records.STREAM, ("open_sub_blocks",)),
    "bucket": Array(records.BUCKET, ("buckets",)),  # pages per block + 1 items per plane: by invalid pages
}


#: Unused memory, for families with ERASE_SETS whose rules have no memory: the view of rules has these fields.
NO_MEMORY = {
    name: Array(np.uint8, (1,))
    for name in ("page_memory", "block_memory", "stream_memory", "memory", "table")
}
#: The arrays of ERASE_SETS and NO_MEMORY with length 0, for families that have neither: only the view's type
#: needs them, and no code may read them.
NOT_KEPT = {name: Array(array.dtype, (0,)) for name, array in (ERASE_SETS | NO_MEMORY).items()}


class Arrays:
    """The arrays of a family, and the two NamedTuple classes made of them.

    Attributes:
        state: class of a batch. Its arrays have the device as first axis.
        device: class of one device of a batch: the same fields without that axis, and `decider`, a
            `decisions.Decider`, which says who takes the device's decisions.
        bind_device: kernel (state, i, decider, address) that stores device `i` of a batch at an address:
            views of the batch's arrays, and the decider.
    """

    def __init__(self, name: str, module: str, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays
        self.state = namedtuple(f"{name}State", arrays, module=module)  # type: ignore[misc]
        self.device = namedtuple(f"{name}Device", (*arrays, "decider"), module=module)  # type: ignore[misc]
        rows = rows_of(self.device)

        @inlined
        def bind_device(state, i, decider, address):
            store_at(rows(state, i, decider), address)

        self.bind_device = bind_device

    def allocate(self, devices: int, sizes: Sizes) -> State:
        """Allocate zeroed arrays for `devices` devices; `family_format` turns them into empty devices."""
        return self.state(
            **{
                name: np.zeros((devices, *(sizes[n] if isinstance(n, str) else n for n in a.shape)), a.dtype)
                for name, a in self._arrays.items()
            }
        )

    def sample(self) -> State:
        """Allocate the smallest batch, from which numba's types are taken."""
        names = {n for a in self._arrays.values() for n in a.shape if isinstance(n, str)}
        return self.allocate(1, dict.fromkeys(names, 1))


@dataclass(frozen=True)
class Family:
    """An FTL family: its name and its arrays.

    [`add_family`][ssdgym.engine.entries.add_family] makes a family, and adds its versions of operations.

    Attributes:
        name: value of `ftl.mapping` in the configuration of a device.
        arrays: arrays of a batch of the family's devices.
    """

    name: str
    arrays: Arrays

    def __post_init__(self) -> None:
        """Register the family by the class of its batches, for `family_of`."""
        _FAMILIES[self.arrays.state] = self


_FAMILIES: dict[type, Family] = {}


def family_of(state: State) -> Family:
    """Return the family of a batch."""
    return _FAMILIES[type(state)]
