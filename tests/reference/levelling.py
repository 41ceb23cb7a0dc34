"""Wear levelling in the reference: which free block is opened, which block is emptied."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .randomness import POLICY_STREAM, draw

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
}


class Levelling:
    """What a rule that levels wear is asked and told."""

    def __init__(self, device: Blocks, **parameters: int) -> None:
        self.device = device
        self.parameters = parameters
        self.begin()

    def begin(self) -> None:
        """Set up what it learns."""

    def choose(self, plane: int) -> int | None:
        """The block to empty, if any."""
        raise NotImplementedError

    def destination(self, plane: int) -> int:
        """The free block that takes the pages of the chosen one."""
        return most_worn(self.device, plane)

    def emptied(self, block: int) -> None:
        """It is about to be emptied because it was chosen."""

    def filled(self, block: int) -> None:
        """It has been opened while a chosen block is emptied."""

    def erased(self, block: int) -> None:
        """It is about to be erased, for whatever reason."""

    # Helpers

    def limit(self, name: str) -> int:
        """A parameter in erases of a block, as those of sub-blocks."""
        return self.parameters[name] * self.device.config.sub_blocks_per_block

    def erases(self, block: int) -> int:
        return erases(self.device, block)

    def free(self, plane: int) -> list[int]:
        """The erases of the free blocks, in rising order."""
        return sorted(map(self.erases, self.device.pools[plane]))

    def closed(self, plane: int) -> list[int]:
        """The blocks that could be emptied, the least worn first."""
        return sorted(sorted(self.device.ages[plane]), key=self.erases)

    def of_plane(self, plane: int) -> list[int]:
        """The erases of all its blocks, in their order."""
        return [self.erases(block) for block in self.device.blocks_of_plane(plane)]


class DualPool(Levelling):
    def begin(self) -> None:
        blocks = range(len(self.device.closed_at))
        self.cold = {block for block in blocks if block % 2}
        self.joined_at = dict.fromkeys(blocks, 0)

    def choose(self, plane: int) -> int | None:
        free, cold = self.free(plane), [block for block in self.closed(plane) if block in self.cold]
        wanted = free and cold and free[-1] - self.erases(cold[0]) > self.limit("threshold")
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
            if self.recent(warmest) - min(map(self.recent, hot)) > self.limit("threshold"):
                self.emptied(warmest)
        hot = [other for other in blocks if other not in self.cold]
        coldest = min(hot, key=self.erases, default=None)
        spread = max(map(self.erases, hot)) - self.erases(coldest) if coldest is not None else 0
        if coldest is not None and spread > 2 * self.limit("threshold"):
            self.filled(coldest)

    def recent(self, block: int) -> int:
        """Erases since it joined its pool."""
        return self.erases(block) - self.joined_at[block]


class WearThreshold(Levelling):
    def choose(self, plane: int) -> int | None:
        closed = self.closed(plane)
        most = max(map(self.erases, self.device.blocks_of_plane(plane)))
        return closed[0] if closed and most - self.erases(closed[0]) >= self.limit("threshold") else None


class Rejuvenator(Levelling):
    def choose(self, plane: int) -> int | None:
        free, closed = self.free(plane), self.closed(plane)
        if not free or not closed:
            return None
        return closed[0] if 2 * (free[0] - self.erases(closed[0])) >= self.limit("tau") else None


class Progressive(Levelling):
    def choose(self, plane: int) -> int | None:
        free, closed = self.free(plane), self.closed(plane)
        if not free or not closed:
            return None
        left = 0.1 * (self.limit("endurance") - free[-1])
        return closed[0] if free[-1] - self.erases(closed[0]) > max(left, self.limit("least")) else None


class KnownLimits(Levelling):
    def left(self, block: int) -> int:
        """Erases until its weakest sub-block is at its limit; there may be none, all the same."""
        limits = self.device.life.limits
        return min(
            (limits[sub] if limits else 2**31 - 1) - self.device.erases[sub]
            for sub in self.device.sub_blocks_of_block(block)
        )

    def choose(self, plane: int) -> int | None:
        closed = sorted(self.device.ages[plane])
        if not closed or not self.device.pools[plane]:
            return None
        strongest = max(closed, key=self.left)
        spare = self.left(strongest) - self.left(self.destination(plane))
        return strongest if spare > self.parameters["threshold"] else None

    def destination(self, plane: int) -> int:
        return min(self.device.pools[plane], key=self.left)


class GreedyMp(Levelling):
    def choose(self, plane: int) -> int | None:
        counts, free = self.of_plane(plane), self.free(plane)
        total, blocks = sum(counts), len(counts)
        if not free or blocks * free[-1] - total <= self.limit("threshold") * blocks:
            return None
        cold = [b for b in sorted(self.device.ages[plane]) if blocks * self.erases(b) < total]
        return min(cold, key=lambda block: self.device.closed_at[block], default=None)


class SwLeveler(Levelling):
    def begin(self) -> None:
        config = self.device.config
        size = 2 ** self.parameters["k"]
        self.sets = [
            [blocks[first : first + size] for first in range(0, len(blocks), size)]
            for blocks in (list(self.device.blocks_of_plane(plane)) for plane in range(config.planes))
        ]
        self.flagged: list[set[int]] = [set() for _ in self.sets]
        self.counted = [0] * config.planes
        self.following = [0] * config.planes

    def is_uneven(self, plane: int) -> bool:
        flags = len(self.flagged[plane])
        return flags > 0 and self.counted[plane] >= self.parameters["threshold"] * flags

    def choose(self, plane: int) -> int | None:
        first = self.following[plane]
        numbers = [*range(first, len(self.sets[plane])), *range(first)]
        unflagged = [number for number in numbers if number not in self.flagged[plane]]
        closed = [b for number in unflagged for b in self.sets[plane][number] if self.device.is_indexed(b)]
        return closed[0] if closed and self.is_uneven(plane) else None

    def erased(self, block: int) -> None:
        plane = self.device.plane_of_block(block)
        sets = self.sets[plane]
        (number,) = [k for k, blocks in enumerate(sets) if block in blocks]
        self.counted[plane] += 1
        self.flagged[plane].add(number)
        if self.device.levelling[plane] == "runs":
            self.following[plane] = (number + 1) % len(sets)
        if len(self.flagged[plane]) == len(sets) and self.is_uneven(plane):
            self.flagged[plane].clear()
            self.counted[plane] = 0
            drawn = draw(self.device.config.seed, POLICY_STREAM, self.device.rounds_started, 0)
            self.following[plane] = (drawn >> 33) % len(sets)


#: By the name of the rule in the engine.
LEVELLINGS: dict[str, type[Levelling]] = {
    "dual_pool": DualPool,
    "greedy_mp": GreedyMp,
    "known_limits": KnownLimits,
    "progressive": Progressive,
    "rejuvenator": Rejuvenator,
    "swl": SwLeveler,
    "wear_threshold": WearThreshold,
}
