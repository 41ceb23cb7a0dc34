"""Arrays that are allocated once: writing to fresh memory takes longer than most of what is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

#: The gradient of relu, written into an array that is there: (gradient, output, 0, grad_input=array).
relu_gradient = torch.ops.aten.threshold_backward.grad_input


class Arrays:
    """Arrays of as many rows as are asked for, in the same memory whatever their number."""

    def __init__(self) -> None:
        self._rows = 0
        self._parts: dict[int, list[Tensor]] = {}

    def of(self, rows: int, widths: Sequence[int]) -> list[Tensor]:
        """Return float32 arrays (rows, width) with anything in them.

        Args:
            rows: of each.
            widths: one for each array; the same in every call.
        """
        if rows > self._rows:
            self._rows, self._parts = rows, {rows: [torch.empty(rows, width) for width in widths]}
        if rows not in self._parts:
            self._parts[rows] = [array[:rows] for array in self._parts[self._rows]]
        return self._parts[rows]


def views(shapes: Sequence[Sequence[int]]) -> tuple[Tensor, list[Tensor]]:
    """Return a vector of zeros, and arrays that it consists of.

    Args:
        shapes: of the arrays.
    """
    sizes = [math.prod(shape) for shape in shapes]
    vector = torch.zeros(sum(sizes))
    parts = [part.view(tuple(shape)) for part, shape in zip(vector.split(sizes), shapes, strict=True)]
    return vector, parts
