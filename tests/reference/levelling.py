"""Wear levelling in the reference: which free block is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .blocks import Blocks


def erases(device: Blocks, block: int) -> int:
    """Of all sub-blocks of the block."""
    return sum(device.erases[sub] for sub in device.sub_blocks_of_block(block))


def by_order(device: Blocks, plane: int) -> int:
    return device.pools[plane][0]


def least_worn(device: Blocks, plane: int) -> int:
    return min(device.pools[plane], key=lambda block: erases(device, block))


def most_worn(device: Blocks, plane: int) -> int:
    return max(device.pools[plane], key=lambda block: erases(device, block))


#: By the name of the rule that does the same in the engine.
ALLOCATIONS: dict[str | None, Callable[[Blocks, int], int]] = {
    None: by_order,
    "first_freed": by_order,
    "least_worn": least_worn,
    "most_worn": most_worn,
}
