"""Cells of the sub-page reference that wear out: what docs/lifetime.md says of the family."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from ..blocks import Stream
from ..erase_sets import Pair, whole
from ..lifetime import EndOfLife, Life
from .config import SubpageConfig

if TYPE_CHECKING:
    from .flash import SubpageFlash


class SubpageLife(Life):
    """Planes are counted in units of their main areas."""

    device: SubpageFlash
    config: SubpageConfig

    def ensure_page(self, plane: int) -> None:
        """Open a block of the main area, or end the life."""
        if self.wears and (plane, 0) not in self.device.open:
            if not self.device.pools[plane]:
                raise EndOfLife
            self.device.open_first(plane, Stream(0))

    # What planes hold

    @property
    def most(self) -> int:
        """V_max; where a page holds several units one is left out for what a page more would bring."""
        return self.config.max_valid_pages - self.config.units_per_page + 1

    def held(self, plane: int) -> int:
        if self.config.capacity == "fixed":
            return self.limit(plane)
        units = self.config.pages_per_plane
        left = Fraction(units - self.gone[plane], units)
        share = Fraction(self.config.logical_pages // self.config.slots_per_unit, self.config.planes)
        return min(self.limit(plane), ceil(left * share))

    def supported(self) -> int:
        """In sectors, of whole groups."""
        planes = range(self.config.planes)
        units = min(sum(map(self.limit, planes)) - 1, sum(map(self.held, planes)))
        return units * self.config.slots_per_unit // self.config.slots_per_page * self.config.slots_per_page

    def room_to_move(self, plane: int) -> int:
        opened = [self.device.open[plane, 0].block] if (plane, 0) in self.device.open else []
        return self.device.pool_pages(plane) + sum(map(self.device.free_in_block, opened))

    def can_move(self, pairs: list[Pair]) -> bool:
        [(block, _)] = pairs
        per_page = self.config.units_per_page
        taken = ceil(Fraction(self.device.valid_in_block(block), per_page)) * per_page
        return taken + self.device.free_in_block(block) <= self.room_to_move(
            self.device.plane_of_block(block)
        )

    def last_resort(self, plane: int) -> list[Pair] | None:
        """The block with most invalid units that wins a page."""
        buckets = self.device.buckets[plane][self.config.units_per_page :]
        blocks = [block for bucket in reversed(buckets) for block in bucket]
        return [(blocks[0], whole(self.config))] if blocks else None
