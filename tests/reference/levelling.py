"""Wear levelling in the reference: which free block is opened, which block is emptied."""

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


class Levelling:
    """What a rule that levels wear is asked and told."""

    def __init__(self, device: Blocks, threshold: int) -> None:
        self.device = device
        self.limit = threshold * device.config.sub_blocks_per_block

    def choose(self, plane: int) -> int | None:
        """The block to empty, if any."""
        raise NotImplementedError

    def emptied(self, block: int) -> None:
        """It is about to be emptied because it was chosen."""

    def filled(self, block: int) -> None:
        """It has been opened while a chosen block is emptied."""

    def erased(self, block: int) -> None:
        """It is about to be erased, for whatever reason."""

    # Helpers

    def erases(self, block: int) -> int:
        return erases(self.device, block)

    def worn_free(self, plane: int) -> int | None:
        """The erases of the most worn free block."""
        return max(map(self.erases, self.device.pools[plane]), default=None)

    def closed(self, plane: int) -> list[int]:
        """The blocks that could be emptied, the least worn first."""
        return sorted(sorted(self.device.ages[plane]), key=self.erases)


class DualPool(Levelling):
    def __init__(self, device: Blocks, threshold: int) -> None:
        super().__init__(device, threshold)
        blocks = range(len(device.closed_at))
        self.cold = {block for block in blocks if block % 2}
        self.joined_at = dict.fromkeys(blocks, 0)

    def choose(self, plane: int) -> int | None:
        worn = self.worn_free(plane)
        cold = [block for block in self.closed(plane) if block in self.cold]
        wanted = worn is not None and cold and worn - self.erases(cold[0]) > self.limit
        return cold[0] if wanted else None

    def emptied(self, block: int) -> None:
        self.cold.discard(block)
        self.joined_at[block] = self.erases(block)

    def filled(self, block: int) -> None:
        self.cold.add(block)
        self.joined_at[block] = self.erases(block)

    def erased(self, block: int) -> None:
        blocks = self.device.blocks_of_plane(self.device.plane_of_block(block))
        cold = [other for other in blocks if other in self.cold]
        hot = [other for other in blocks if other not in self.cold]
        if cold and hot:
            warmest = max(cold, key=self.recent)
            if self.recent(warmest) - min(map(self.recent, hot)) > self.limit:
                self.emptied(warmest)
        hot = [other for other in blocks if other not in self.cold]
        coldest = min(hot, key=self.erases, default=None)
        if coldest is not None and max(map(self.erases, hot)) - self.erases(coldest) > 2 * self.limit:
            self.filled(coldest)

    def recent(self, block: int) -> int:
        """Erases since it joined its pool."""
        return self.erases(block) - self.joined_at[block]


#: By the name of the rule in the engine.
LEVELLINGS: dict[str, type[Levelling]] = {"dual_pool": DualPool}
