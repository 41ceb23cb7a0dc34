"""The FTLs of the block family, which map whole blocks and collect garbage by merges."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from ssdgym.config.ftl import FtlConfig
from ssdgym.config.geometry import GeometryConfig
from ssdgym.config.loading import Config
from ssdgym.enums import BlockKind, GcPriority, MergePace, Striping, UBlockSearch

#: Most physical blocks of a superblock, including those that a merge adds.
MOST_SLOTS = 16
#: Largest `disturb_tolerance`: the engine counts the erases that disturb a sub-block in 8 bits.
MOST_TOLERATED = 254


class MergeConfig(Config):
    """When and how blocks are merged.

    A Merge copies valid pages to other blocks and erases whole blocks; an M-Merge erases parts of blocks.
    """

    free_share: float = Field(
        0.08,
        ge=0,
        lt=1,
        description="free share of a plane's blocks, rounded down, at which merges begin; at least one block",
    )
    mmerge_limit: int = Field(
        16, ge=0, le=2**31 - 1, description="most M-Merges (merges of parts of blocks) between two Merges"
    )
    merges: MergePace = Field(MergePace.AT_ONCE, description=f"spread: nftl only; {MergePace.described()}")
    priority: GcPriority = Field(GcPriority.FIRST, description=f"when merges run; {GcPriority.described()}")
    copyback: bool = Field(
        False, description="relocate pages within their plane, without a transfer over the channel"
    )


class BlockFtl(FtlConfig):
    """An FTL that maps whole blocks and collects garbage by merges."""

    keeps_addresses: ClassVar[bool] = True
    models_disturbance: ClassVar[bool] = True
    usual_policy: ClassVar[str] = "merge"
    foreign = {
        BlockKind.NFTL: ("logical_blocks", "physical_blocks"),
        BlockKind.SUPERBLOCK: ("u_block_search",),  # `with_changes` also drops `gc.merges`
    }

    mapping: Literal["block"] = "block"
    kind: BlockKind = Field(BlockKind.NFTL, description=BlockKind.described())
    striping: Striping = Field(Striping.BLOCKS, description=Striping.described())
    u_block_search: UBlockSearch = Field(
        UBlockSearch.TIMED, description=f"nftl: find a page in an update block; {UBlockSearch.described()}"
    )
    logical_blocks: int = Field(4, ge=1, lt=MOST_SLOTS, description="M, logical blocks per superblock")
    physical_blocks: int = Field(
        5, ge=2, lt=MOST_SLOTS, description="N, most physical blocks per superblock between merges"
    )
    disturb_tolerance: int | None = Field(
        1,
        ge=0,
        le=MOST_TOLERATED,
        description="erases of neighbours that the data of a sub-block survives; null: any number",
    )
    disturb_care: bool = Field(
        True, description="M-Merges also rewrite the neighbouring data that their erases would destroy"
    )
    gc: MergeConfig = MergeConfig()

    @model_validator(mode="after")
    def _only_nftl_spreads_merges(self) -> BlockFtl:
        if self.gc.merges == MergePace.SPREAD and self.kind != BlockKind.NFTL:
            raise ValueError(f"has gc.merges spread, which is of no use to kind {self.kind}; leave it out")
        return self

    @model_validator(mode="after")
    def _superblocks_fit(self) -> BlockFtl:
        logical, physical = self.logical_blocks, self.physical_blocks
        if physical <= logical or logical + physical > MOST_SLOTS:
            raise ValueError(
                f"has physical_blocks = {physical}, which must be above logical_blocks = {logical} and with "
                f"them at most {MOST_SLOTS}"
            )
        return self

    @property
    def bundle_blocks(self) -> int:
        """Number of logical blocks that are mapped together."""
        return 1 if self.kind == BlockKind.NFTL else self.logical_blocks

    def kept_blocks(self, geometry: GeometryConfig) -> int:
        """Return the number of free blocks of a plane at which merges begin."""
        return max(1, int(self.gc.free_share * geometry.blocks_per_plane))

    def capacity_step(self, geometry: GeometryConfig) -> tuple[int, str]:
        """Return the logical pages and the name of a row: one logical block, or superblock, in each plane."""
        what = "logical blocks" if self.kind == BlockKind.NFTL else "superblocks"
        pages = self.bundle_blocks * geometry.pages_per_block * geometry.planes
        return pages, f"a row of {what}, one in each plane,"

    def check_device(self, geometry: GeometryConfig, erase_unit: str, multi_plane: str) -> None:
        """Raise if the device has a wrong erase unit, or multi-plane commands; see `FtlConfig`."""
        self._refuse_multi_plane(multi_plane)
        unit = "sub_block_run" if geometry.partial_sizes else "block"
        if erase_unit != unit:
            raise ValueError(
                f"ftl.mapping block erases a block, or a half of it, of that and so on down to its "
                f"{geometry.sub_blocks_per_block} sub-blocks; set erase_unit to {unit}, not {erase_unit}"
            )

    def with_changes(self, changes: dict[str, Any]) -> dict[str, Any]:
        """See `FtlConfig`; a change to `kind: superblock` also drops `gc.merges`."""
        fields = super().with_changes(changes)
        gc = fields.get("gc")
        is_superblock = changes.get("kind") == BlockKind.SUPERBLOCK
        if is_superblock and isinstance(gc, dict) and "merges" not in changes.get("gc", {}):
            gc.pop("merges", None)
        return fields
