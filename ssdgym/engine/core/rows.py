"""Copies of single devices of a batch, each as one row of bytes: saved and restored in one compiled call."""

from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np
from numba import types

from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import entry, entry_for
from ssdgym.engine.core.pointer import move_bytes

#: Alignment of the arrays in a row, bytes.
_APART = 64


@entry
def _copy(table, i, row, restores):
    for k in range(table.shape[0]):
        device, count = table[k, 0] + i * table[k, 1], table[k, 1]
        if restores:
            move_bytes(device, row + table[k, 2], count)
        else:
            move_bytes(row + table[k, 2], device, count)


class Rows:
    """Save devices of a batch as rows of bytes, and restore them. The batch's arrays must exist meanwhile.

    Args:
        state: the batch.
        leave_out: names of arrays that are not copied. In a state made from a row they have length 0.
    """

    def __init__(self, state: State, leave_out: Collection[str] = ()) -> None:
        self._state_type = type(state)
        self._kinds: list[tuple[Any, tuple[int, ...], int]] = []
        table, self._bytes = [], 0
        for name, array in zip(state._fields, state, strict=True):
            shape = (1, 0) if name in leave_out else (1, *array.shape[1:])
            self._kinds.append((array.dtype, shape, self._bytes))
            if name not in leave_out:
                table.append((array.ctypes.data, array.strides[0], self._bytes))
                self._bytes += -(-array.strides[0] // _APART) * _APART
        self._table = np.array(table, np.int64)
        kinds = types.Array(types.int64, 2, "C"), types.int64, types.int64, types.boolean
        self._copy = partial(entry_for(_copy, *kinds), self._table)

    def save(self, i: int) -> np.ndarray:
        """Return a copy of device `i` as a row of bytes."""
        row = np.empty(self._bytes, np.uint8)
        self._copy(i, row.ctypes.data, False)
        return row

    def restore(self, i: int, row: np.ndarray) -> None:
        """Overwrite device `i` with the device in a row."""
        self._copy(i, row.ctypes.data, True)

    def state_of(self, row: np.ndarray) -> State:
        """Return the device in a row as a batch of one device, which shares the memory of the row."""
        return self._state_type(
            *(np.ndarray(shape, dtype, row, offset) for dtype, shape, offset in self._kinds)
        )

    def row_of(self, saved: State) -> np.ndarray:
        """Return a row with the device of `saved`, a batch of one; zeros fill up arrays that are shorter."""
        row = np.zeros(self._bytes, np.uint8)
        for array, source in zip(self.state_of(row), saved, strict=True):
            part = array[tuple(slice(length) for length in source.shape)]
            if part.shape == array.shape:
                # Copy them as bytes: numpy copies records with padding field by field.
                array.view(np.uint8)[...] = source.view(np.uint8)
            else:
                part[...] = source
        return row
