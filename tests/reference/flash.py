"""The flash of the reference and the map to it: what is where, and all that can be counted from that."""

from __future__ import annotations

from dataclasses import dataclass

from .config import ReferenceConfig

UNMAPPED = -1
NOTHING = -1  # the version of a page that holds none: padded, or spoiled


@dataclass
class LogicalPage:
    ppn: int = UNMAPPED
    version: int = 0
    accepted: int = 0


class Flash:
    """Numbers of blocks, sub-blocks, pages and planes count over the device."""

    def __init__(self, config: ReferenceConfig) -> None:
        self.config = config
        blocks = config.planes * config.blocks_per_plane
        sub_blocks = blocks * config.sub_blocks_per_block
        self.logical = [LogicalPage() for _ in range(config.logical_pages)]
        self.physical = [(-1, 0)] * (blocks * config.pages_per_block)  # (lpn, version), kept by an erase
        self.written = [0] * sub_blocks
        self.erases = [0] * sub_blocks
        # The geometry, which is read all the time.
        planes, size = range(config.planes), config.sub_blocks_per_block
        self._sub_blocks = [range(size * block, size * (block + 1)) for block in range(blocks)]
        self._planes = [
            [plane for plane in planes if self.die_of_plane(plane) == die] for die in range(config.dies)
        ]

    # Geometry

    def die_of_plane(self, plane: int) -> int:
        return plane % self.config.dies

    def planes_of_die(self, die: int) -> list[int]:
        return self._planes[die]

    def siblings(self, plane: int) -> list[int]:
        """The other planes of its die."""
        return [other for other in self.planes_of_die(self.die_of_plane(plane)) if other != plane]

    def plane_of_block(self, block: int) -> int:
        return block // self.config.blocks_per_plane

    def number_in_plane(self, block: int) -> int:
        return block % self.config.blocks_per_plane

    def number_in_block(self, ppn: int) -> int:
        return ppn % self.config.pages_per_block

    def block_of_page(self, ppn: int) -> int:
        return ppn // self.config.pages_per_block

    def plane_of_page(self, ppn: int) -> int:
        return self.plane_of_block(self.block_of_page(ppn))

    def blocks_of_plane(self, plane: int) -> range:
        first = plane * self.config.blocks_per_plane
        return range(first, first + self.config.blocks_per_plane)

    def sub_blocks_of_block(self, block: int) -> range:
        return self._sub_blocks[block]

    def sub_blocks_of_set(self, block: int, mask: int) -> list[int]:
        return [sub for bit, sub in enumerate(self.sub_blocks_of_block(block)) if mask >> bit & 1]

    def pages_of_sub_block(self, sub_block: int) -> range:
        first = sub_block * self.config.pages_per_sub_block
        return range(first, first + self.config.pages_per_sub_block)

    # What can be derived

    def is_written(self, ppn: int) -> bool:
        sub_block, page = divmod(ppn, self.config.pages_per_sub_block)
        return page < self.written[sub_block]

    def is_valid(self, ppn: int) -> bool:
        return self.is_written(ppn) and self.logical[self.physical[ppn][0]].ppn == ppn

    def writable_sub_blocks(self, block: int) -> list[int]:
        """Those with unwritten pages."""
        size = self.config.pages_per_sub_block
        return [sub for sub in self.sub_blocks_of_block(block) if self.written[sub] < size]

    def valid_in_sub_block(self, sub_block: int) -> int:
        return sum(map(self.is_valid, self.pages_of_sub_block(sub_block)))

    def invalid_in_sub_block(self, sub_block: int) -> int:
        return self.written[sub_block] - self.valid_in_sub_block(sub_block)

    def is_all_invalid(self, sub_block: int) -> bool:
        """Whether all its pages are written, and none is valid."""
        return self.invalid_in_sub_block(sub_block) == self.config.pages_per_sub_block

    def written_in_block(self, block: int) -> int:
        size = self.config.sub_blocks_per_block
        return sum(self.written[size * block : size * (block + 1)])

    def valid_in_block(self, block: int) -> int:
        return sum(self.valid_in_sub_block(sub) for sub in self.sub_blocks_of_block(block))

    def valid_in_plane(self, plane: int) -> int:
        return sum(self.valid_in_block(block) for block in self.blocks_of_plane(plane))

    def invalid_in_block(self, block: int) -> int:
        return self.written_in_block(block) - self.valid_in_block(block)

    def free_in_block(self, block: int) -> int:
        size = self.config.sub_blocks_per_block
        return self.config.pages_per_block - sum(self.written[size * block : size * (block + 1)])

    def free_pages(self, plane: int) -> int:
        c, size = self.config, self.config.blocks_per_plane * self.config.sub_blocks_per_block
        unwritten = c.pages_per_plane - sum(self.written[size * plane : size * (plane + 1)])
        return unwritten - sum(map(self.free_in_block, self.unusable_blocks(plane)))

    def is_usable(self, block: int) -> bool:
        return block not in self.unusable_blocks(self.plane_of_block(block))

    def unusable_blocks(self, plane: int) -> list[int]:
        """Those that have been retired."""
        return []
