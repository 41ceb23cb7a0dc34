"""One device of the block family, described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..config import ReferenceConfig

#: Most blocks of a bundle in a job, where some may have to take the place of others.
MOST_SLOTS = 16

NFTL, SUPERBLOCK = "nftl", "superblock"


@dataclass(frozen=True)
class BlockConfig(ReferenceConfig):
    """As for the page family; `sub_blocks_per_block` counts the leaves of a block."""

    kind: str = NFTL
    logical_blocks: int = 1  # of a bundle: M
    physical_blocks: int = 2  # of a superblock, outside a job: N
    striping: str = "blocks"  # or "pages"
    free_share: float = 0.08
    merges: str = "at_once"  # or "spread"
    mmerge_limit: int = 16  # W
    disturb_tolerance: int | None = None
    disturb_care: bool = True
    u_block_search: str = "timed"  # or "free"
    partial_erase_ns: Mapping[int, int] = field(default_factory=dict)  # by pages; empty: erase_ns
    spare_transfer_ns: int = 0

    def __post_init__(self) -> None:
        leaves = self.sub_blocks_per_block
        if leaves & (leaves - 1) or self.pages_per_block % leaves:
            raise ValueError("the leaves of a block must be a power of two that divides its pages")
        if self.kind == NFTL and (self.logical_blocks, self.physical_blocks) != (1, 2):
            raise ValueError("a bundle of NFTL has one D and one U")
        if self.logical_pages % (self.span * self.planes):
            raise ValueError("logical_pages must be a multiple of the span times the planes")
        if self.blocks_per_plane < self.logical_blocks * self.bundles_per_plane + self.kept_blocks + 1:
            raise ValueError(f"{self.blocks_per_plane} blocks of a plane are too few")

    @property
    def levels(self) -> int:
        """How often a block can be halved: L."""
        return self.sub_blocks_per_block.bit_length() - 1

    @property
    def span(self) -> int:
        """Logical pages of a bundle."""
        return self.logical_blocks * self.pages_per_block

    @property
    def bundles(self) -> int:
        return self.logical_pages // self.span

    @property
    def bundles_per_plane(self) -> int:
        return self.bundles // self.planes

    @property
    def slots(self) -> int:
        """Of a bundle: D, U and the target of a Merge, or the most blocks of a superblock in a job."""
        if self.endurance is not None:
            return MOST_SLOTS
        return 3 if self.kind == NFTL else self.physical_blocks + self.logical_blocks

    @property
    def kept_blocks(self) -> int:
        """Free blocks at which merges begin to win some: T."""
        return max(1, int(self.free_share * self.blocks_per_plane)) + self.kept_for_wear

    @property
    def least_free(self) -> int:
        """Blocks that the pool keeps when the host takes one."""
        return 1 + self.kept_for_wear if self.merges == "spread" else self.kept_blocks

    @property
    def kept_for_wear(self) -> int:
        return 0 if self.endurance is None else 1

    @property
    def relocation_ns(self) -> int:
        return self.read_ns + self.program_ns + (0 if self.copyback else 2 * self.transfer_ns)

    def erase_of(self, level: int) -> int:
        """What the erase of a partial block of this level takes, in ns."""
        if level == 0 or not self.partial_erase_ns:
            return self.erase_ns
        return self.partial_erase_ns[self.pages_per_block >> level]
