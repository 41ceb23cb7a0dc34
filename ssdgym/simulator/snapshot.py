"""Copies of a device: to go back to, to compare, to keep on disk."""

from __future__ import annotations

import functools
import zlib
from typing import Any

import numpy as np

from ssdgym.engine.core.family import State
from ssdgym.errors import SsdgymError
from ssdgym.simulator.families import family_of_state

#: The text of a dtype, which takes numpy longer for records than their sum.
_name = functools.cache(str)


class Snapshot(tuple[Any, Any]):
    """A device and its input as they were: a batch of one, and an array of REQUEST.

    Its arrays can be looked at. One that has been changed or damaged, also in a file, is refused: the engine
    follows what stands in them without looking.

    Attributes:
        checksum: of all arrays but the latencies, from when it was made.
    """

    checksum: int

    def __new__(cls, state: State, requests: np.ndarray, checksum: int | None = None) -> Snapshot:
        """Make a snapshot of arrays, with the checksum it was first made with if there is one."""
        made = super().__new__(cls, (state, requests))
        made.checksum = made._sum() if checksum is None else checksum
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the checksum in copies and pickles."""
        return Snapshot, (*self, self.checksum)

    @property
    def whole(self) -> bool:
        """Whether the arrays are as they were."""
        return self.checksum == self._sum()

    def _sum(self) -> int:
        state, requests = self
        checksum = 0
        # Nothing is looked up by a latency, and there may be a million of them.
        for array in (*state._replace(latency=requests), requests):
            described = f"{_name(array.dtype)}{array.shape}".encode()
            checksum = zlib.crc32(content(np.ascontiguousarray(array)), zlib.crc32(described, checksum))
        return checksum


def copy_device(state: State, i: int) -> State:
    """Return an independent copy of device `i`, as a batch of one."""
    return type(state)(*(array[i : i + 1].copy() for array in state))


def read_only(state: State) -> State:
    """Return views of a batch that cannot be written to."""
    views = type(state)(*(array.view() for array in state))
    for view in views:
        view.flags.writeable = False
    return views


def restore_device(state: State, i: int, saved: State) -> None:
    """Make a device the saved one, in place; where its arrays are longer, the rest is zero.

    Args:
        state: the batch.
        i: the device of it.
        saved: a batch of one.
    """
    for array, source in zip(state, saved, strict=True):
        if array.shape[1:] == source.shape[1:]:
            # As bytes: numpy copies records with padding field by field.
            array[i].view(np.uint8)[...] = source[0].view(np.uint8)
        else:
            array[i] = 0
            array[i][tuple(slice(length) for length in source.shape[1:])] = source[0]


def same_device(a: State, i: int, b: State, j: int) -> bool:
    """Return whether device `i` of one batch and device `j` of another are equal in every value."""
    return all(
        x.shape[1:] == y.shape[1:] and content(x[i]) == content(y[j]) for x, y in zip(a, b, strict=True)
    )


def content(array: np.ndarray) -> bytes:
    """Return the values of an array as bytes, field after field if it holds records.

    The padding between the fields of a record is left out: numpy does not copy it, so it means nothing.
    """
    if array.dtype.names is None:
        return array.tobytes()
    return b"".join(array[name].tobytes() for name in array.dtype.names)


def fits(saved: State, state: State) -> bool:
    """Return whether the saved device, but for its seed, is made as this one is."""
    fixed = family_of_state(state).fixed
    return all(a.shape == b.shape for a, b in zip(saved, state, strict=True)) and all(
        np.array_equal(getattr(saved, array)[name], getattr(state, array)[name])
        for array in fixed
        for name in getattr(state, array).dtype.names
        if name != "seed"
    )


def check_snapshot(snapshot: Any, state: State, name: str) -> None:
    """Raise if a device cannot go back to a snapshot.

    Args:
        snapshot: a `Snapshot`, or what a caller has taken for one.
        state: the device, a batch of one.
        name: of the device, for the error.

    Raises:
        SsdgymError: it is none, has been changed since it was made, or is of another device.
    """
    if not isinstance(snapshot, Snapshot) or not snapshot.whole:
        raise SsdgymError(
            f"device {name}: the snapshot is damaged or has been changed; restore one that is as snapshot() "
            "returned it."
        )
    if not fits(snapshot[0], state):
        raise SsdgymError(
            f"device {name}: the snapshot is of another device, or of one that records another number of "
            "latencies; restore it to a Simulator made as that one was."
        )
