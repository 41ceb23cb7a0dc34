"""Cells of the block reference that wear out: the rules of docs/lifetime.md for blocks that are merged."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from ..lifetime import Life
from . import heap
from .config import BlockConfig

if TYPE_CHECKING:
    from .flash import BlockFlash


class TurnsToMerge(Exception):
    """The M-Merge goes on as a Merge."""


class BlockLife(Life):
    """What a device has lost, by blocks and bundles."""

    device: BlockFlash
    config: BlockConfig

    def __init__(self, device: BlockFlash) -> None:
        super().__init__(device)
        self.strained = [0] * len(device.erases)  # erases beside a leaf, where they wear it

    @property
    def has_lost(self) -> bool:
        return bool(self.retired or self.worn)

    # Wear

    def age(self, sub: int) -> int:
        return self.device.erases[sub] + self.strained[sub]

    def note_erased_pb(self, block: int, pb: int) -> None:
        """Of its leaves, and of those beside."""
        if not self.wears:
            return
        first, levels = self.device.sub_blocks_of_block(block)[0], self.config.levels
        self.note_erased(block, [first + leaf for leaf in heap.leaves_of(pb, levels)])
        for leaf in heap.beside(pb, levels) if self.config.disturbance_wears else []:
            self.strained[first + leaf] += 1
            if self.age(first + leaf) >= self.limits[first + leaf]:
                self.worn.add(block)

    def holds_worn(self, bundle: int) -> bool:
        return any(block in self.worn for block in self.device.held(bundle))

    # Bundles

    def is_given_up(self, bundle: int) -> bool:
        return self.device.lpns[bundle, 0] >= self.capacity

    def bundles_held(self, plane: int) -> int:
        """How many the plane can hold; the share of spare blocks stays where capacity shrinks."""
        c = self.config
        left = c.blocks_per_plane - self.gone[plane] // c.pages_per_block
        most = max(left - c.kept_blocks - 1, 0) // c.logical_blocks
        if c.capacity == "fixed":
            return most
        return min(most, ceil(Fraction(c.bundles_per_plane * left, c.blocks_per_plane)))

    def supported(self) -> int:
        planes, bundles = range(self.config.planes), self.config.bundles
        while any(len(range(plane, bundles, len(planes))) > self.bundles_held(plane) for plane in planes):
            bundles -= 1
        if self.config.striping == "pages":
            bundles -= bundles % len(planes)
        return bundles * self.config.span

    def settle(self) -> None:
        if self.retired:
            super().settle()
            for bundle in filter(self.is_given_up, range(self.config.bundles)):
                self.device.note(bundle)
