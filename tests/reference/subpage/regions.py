"""The region of a plane: its blocks, and what is open, reserved and being collected."""

from __future__ import annotations

from collections import deque
from typing import Any


class Region:
    def __init__(self, plane: int, blocks_per_plane: int, size: int, reserves: bool) -> None:
        end = (plane + 1) * blocks_per_plane
        self.plane = plane
        self.blocks = list(range(end - size, end))  # rising
        self.passes = dict.fromkeys(self.blocks, 0)  # begun since the erase
        self.next_page = dict.fromkeys(self.blocks, 0)  # within the block
        self.open: int | None = None
        self.reserve = self.blocks[-1] if reserves else None
        self.queue: deque[Any] = deque()  # jobs, in time
        self.victim: int | None = None
        self.scan = 0  # the slot of the victim that comes next, within the block
        self.kept = 0  # subpages of the victim, moved within the region
        self.to_collect = 0  # collections that the rule "printed" has before it chooses passes again
        self.evicts: int | None = None  # the slot that waits for room to be evicted
        self.evictions: set[Any] = set()  # jobs of this collection under way

    def targets(self) -> list[int]:
        return [block for block in self.blocks if block != self.reserve]

    def begin_pass(self, block: int) -> None:
        self.open = block
        self.passes[block] += 1
        self.next_page[block] = 0

    def begin_collection(self, block: int) -> None:
        self.victim, self.scan, self.kept, self.evicts = block, 0, 0, None
        if self.reserve is not None:
            self.begin_pass(self.reserve)
            self.reserve = None

    def exchange(self, old: int, new: int) -> None:
        """Take an erased block in the place of another one."""
        self.blocks = sorted([new, *(block for block in self.blocks if block != old)])
        for state in (self.passes, self.next_page):
            del state[old]
            state[new] = 0
