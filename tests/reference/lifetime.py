"""Cells of the reference that wear out, section by section of docs/lifetime.md."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, cos, log, pi, sqrt
from typing import TYPE_CHECKING

from . import erase_sets
from .config import ReferenceConfig
from .erase_sets import Pair
from .randomness import draw

if TYPE_CHECKING:
    from .collecting import Collecting

ENDURANCE = 11


class EndOfLife(Exception):
    """The device does nothing any more."""


def limits(config: ReferenceConfig) -> list[int]:
    """Erases that each sub-block endures."""
    count = config.planes * config.blocks_per_plane * config.sub_blocks_per_block
    mean, spread = config.endurance, config.endurance_spread
    assert mean is not None
    if spread == 0:
        return [mean] * count
    found = []
    for sub in range(count):
        first, second = (((draw(config.seed, ENDURANCE, sub, k) >> 11) + 1) / 2**53 for k in (0, 1))
        limit = mean * (1 + spread * sqrt(-2 * log(first)) * cos(2 * pi * second))
        found.append(max(round(limit), 1))
    return found


class Life:
    """What a device has lost."""

    def __init__(self, device: Collecting) -> None:
        self.device = device
        self.config = device.config
        self.limits = [] if self.config.endurance is None else limits(self.config)
        self.worn: set[int] = set()  # blocks that are retired once they are erased
        self.retired: set[int] = set()
        self.gone = [0] * self.config.planes  # pages of each plane
        self.capacity = self.config.logical_pages
        self.first_lost_at = -1
        self.over = False

    @property
    def wears(self) -> bool:
        return self.config.endurance is not None

    # Wear

    def age(self, sub: int) -> int:
        """Erases of the sub-block, as they count for its limit."""
        return self.device.erases[sub]

    def note_erased(self, block: int, subs: list[int]) -> None:
        """Find out whether the erase was the last one of the block."""
        for sub in subs:
            if self.age(sub) >= self.limits[sub]:
                self.worn.add(block)

    def retire(self, block: int) -> None:
        if not self.retired:
            self.first_lost_at = self.device.clock
        self.retired.add(block)
        self.gone[self.device.plane_of_block(block)] += self.config.pages_per_block

    # What planes hold

    @property
    def most(self) -> int:
        """V_max of a plane that has lost nothing."""
        return self.config.max_valid_pages

    def room(self, plane: int) -> int:
        """How many valid pages more the plane takes."""
        return self.most - self.gone[plane] - self.device.valid_in_plane(plane)

    def limit(self, plane: int) -> int:
        """V_max of the plane."""
        return max(self.most - self.gone[plane], 0)

    def held(self, plane: int) -> int:
        """How many logical pages the plane holds; the share of spare pages stays where capacity shrinks."""
        if self.config.capacity == "fixed":
            return self.limit(plane)
        pages = self.config.blocks_per_plane * self.config.pages_per_block
        left = Fraction(pages - self.gone[plane], pages)
        return min(self.limit(plane), ceil(left * self.config.logical_pages / self.config.planes))

    def is_overfull(self, plane: int) -> bool:
        return self.gone[plane] > 0 and self.room(plane) < 0

    def is_short(self, plane: int) -> bool:
        """Whether the plane is collected before it takes a page of the host."""
        device = self.device
        waits = self.wears and not device.foreground[plane]
        return waits and device.is_on_floor(plane) and not self.is_overfull(plane)

    def room_to_move(self, plane: int) -> int:
        device, config = self.device, self.config
        room = device.pool_pages(plane)
        if config.placement == "hotness_groups":
            return room
        streams = range(config.streams)
        if not config.shares_open_blocks:
            streams = range(1, 2) if config.placement == "sep_gc" else range(config.streams)[-1:]
        opened = [device.open[plane, number] for number in streams if (plane, number) in device.open]
        return room + sum(device.free_in_block(place.block) for place in opened)

    def can_move(self, pairs: list[Pair]) -> bool:
        device = self.device
        for plane in device.planes_of(pairs):
            own = [(block, mask) for block, mask in pairs if device.plane_of_block(block) == plane]
            taken = sum(erase_sets.moves(device, *pair) for pair in own)
            taken += sum(device.free_in_block(block) for block, _ in own)
            if taken > self.room_to_move(plane):
                return False
        return True

    def last_resort(self, plane: int) -> list[Pair] | None:
        """The block with most invalid pages."""
        buckets = self.device.buckets[plane]
        blocks = [block for bucket in reversed(buckets[1:]) for block in bucket]
        return [(blocks[0], erase_sets.whole(self.config))] if blocks else None

    def can_collect(self, plane: int) -> bool:
        if not self.wears:
            return True
        pairs = self.last_resort(plane)
        return pairs is not None and self.can_move(pairs)

    def instead_of(self, plane: int, pairs: list[Pair]) -> list[Pair]:
        """What is collected for these pairs, which may have no room for their moves."""
        if not self.wears or self.can_move(pairs):
            return pairs
        found = self.last_resort(plane)
        assert found is not None
        return found

    # Consequences

    def supported(self) -> int:
        """The most logical pages that the planes can hold."""
        planes = range(self.config.planes)
        if self.config.allocation != "static":
            return min(sum(map(self.limit, planes)) - 1, sum(map(self.held, planes)))
        pages = self.capacity
        while any(len(range(plane, pages, len(planes))) > self.held(plane) for plane in planes):
            pages -= 1
        return pages

    def settle(self) -> None:
        pages = self.supported()
        if not self.wears or pages >= self.capacity:
            return
        if self.config.capacity == "fixed" or pages < self.config.least_capacity:
            self.over = True
            return
        for lpn in range(pages, self.capacity):
            self.device.forget(lpn)
        self.capacity = pages

    def give_up(self, plane: int) -> None:
        self.gone[plane] = max(self.gone[plane], self.most)
        self.device.foreground[plane] = False
        self.settle()

    def empty_rest(self, pairs: list[Pair]) -> None:
        """Of the worn blocks of a round, after its erases."""
        device = self.device
        for block, _ in pairs:
            if block not in self.worn - self.retired:
                continue
            plane = device.plane_of_block(block)
            written = [
                bit for bit, sub in enumerate(device.sub_blocks_of_block(block)) if device.written[sub]
            ]
            before = device.rounds.get(plane, [])
            device.rounds[plane] = [*before, (block, erase_sets.mask_of(written))]
            if device.moves_left(plane) <= self.room_to_move(plane):
                device.foreground[plane] |= self.config.timing == "event"
                continue
            device.rounds[plane] = before
            if not before:
                del device.rounds[plane]
            device.enter_index(block)
            device.reclassify(block)
            self.give_up(plane)
