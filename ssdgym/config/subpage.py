"""The FTLs of the sub-page family, whose logical pages are parts of a page of flash."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ssdgym.config.ftl import FtlConfig
from ssdgym.config.gc import GcConfig
from ssdgym.config.geometry import MAX_PAGES, GeometryConfig
from ssdgym.enums import Advance, RegionRule, SubpageKind

#: Fewest blocks of a region: subFTL has one block in reserve, collects a second one and writes a third one.
_LEAST_REGION_BLOCKS = {SubpageKind.SECTOR_LOG: 2, SubpageKind.SUBFTL: 3}
#: Fields that only kind subftl uses, and fields that only kinds with a region use.
_OF_SUBFTL = ("rule", "collect_blocks", "advance", "wear_gap", "evict_after_days", "retention_days")
_OF_REGIONS = ("region_share", *_OF_SUBFTL)
#: Fields of `gc` that these FTLs use.
_GC_FIELDS = ("mode", "free_blocks", "priority")
#: Days that a subpage keeps its data by default: a month.
RETENTION_DAYS = 30
#: Most days that a field accepts.
_MOST_DAYS = 1_000_000


class SubpageFtl(FtlConfig):
    """An FTL whose logical pages are subpages, for devices with large pages."""

    whole_blocks_only: ClassVar[bool] = True
    foreign = {
        SubpageKind.SECTOR_LOG: _OF_SUBFTL,
        SubpageKind.CGM: _OF_REGIONS,
        SubpageKind.FGM: _OF_REGIONS,
    }

    mapping: Literal["subpage"] = "subpage"
    kind: SubpageKind = Field(SubpageKind.SUBFTL, description=SubpageKind.described())
    window_pages: int = Field(
        1024, ge=1, le=MAX_PAGES, description="most page reads and writes under way; others wait"
    )
    buffer_groups: int = Field(
        512, ge=1, le=MAX_PAGES, description="size of the write buffer: most groups with waiting subpages"
    )
    region_share: float = Field(
        26 / 128,  # the paper gives 20 %
        gt=0,
        lt=1,
        description="sector_log and subftl: share of a plane's blocks in the region, to which parts of pages "
        "are written; rounded to whole blocks",
    )
    rule: RegionRule = Field(
        RegionRule.PRINTED, description=f"subftl: next block to write in the region; {RegionRule.described()}"
    )
    collect_blocks: int | None = Field(
        None,
        ge=1,
        description="subftl with rule printed: number of blocks that are collected if no block has a pass "
        "left; null: all blocks of the region except the reserve",
    )
    advance: Advance = Field(
        Advance.ALWAYS, description=f"subftl: a page of a pass has a valid subpage; {Advance.described()}"
    )
    wear_gap: int = Field(
        0,
        ge=0,
        le=MAX_PAGES,
        description="subftl: exchange an erased block of the region for the least worn free block if its "
        "erases exceed the mean erases of the free blocks by more than this number; 0: never",
    )
    evict_after_days: int = Field(
        15,
        ge=0,
        le=_MOST_DAYS,
        description="subftl: days after which subpages move to whole pages; a daily check; 0: never",
    )
    retention_days: tuple[Annotated[int, Field(ge=1, le=_MOST_DAYS)], ...] | None = Field(
        None,
        description="subftl: days that a subpage keeps its data, for 0, 1, ... earlier programs of its page "
        f"since the erase; null: {RETENTION_DAYS} each",
    )
    full_retention_days: int = Field(
        365, ge=1, le=_MOST_DAYS, description="days that a whole page keeps its data"
    )
    gc: GcConfig = GcConfig(free_blocks=2)

    @model_validator(mode="after")
    def _only_what_is_known(self) -> SubpageFtl:
        for name in GcConfig.model_fields:
            if name not in _GC_FIELDS and getattr(self.gc, name) != GcConfig.model_fields[name].default:
                raise ValueError(
                    f"has gc.{name}, and of gc mapping subpage has {', '.join(_GC_FIELDS)}; leave it out"
                )
        if self.collect_blocks is not None and self.rule != RegionRule.PRINTED:
            raise ValueError(
                f"has collect_blocks, which is of no use to rule {self.rule}; leave it out, or set rule to "
                "printed"
            )
        return self

    @property
    def least_region_blocks(self) -> int:
        """Fewest blocks of a plane that a region needs; 0 for a kind without a region."""
        return _LEAST_REGION_BLOCKS.get(self.kind, 0)

    def region_blocks_of(self, geometry: GeometryConfig) -> int:
        """Return the number of blocks of the region in each plane; 0 for a kind without a region."""
        return round(self.region_share * geometry.blocks_per_plane) if self.least_region_blocks else 0

    def units_per_page(self, geometry: GeometryConfig) -> int:
        """Return the number of subpages of a page, since each subpage is a logical page."""
        return geometry.subpages_per_page

    def check_device(self, geometry: GeometryConfig, erase_unit: str, multi_plane: str) -> None:
        """Raise if the flash, the region, `window_pages` or `retention_days` does not fit this FTL."""
        subpages = geometry.subpages_per_page
        if subpages < 2:
            raise ValueError("ftl.mapping subpage needs geometry.subpages_per_page of at least 2")
        if geometry.sub_blocks_per_block > 1 or erase_unit != "block":
            raise ValueError(
                "ftl.mapping subpage erases whole blocks; set erase_unit to block and "
                "geometry.sub_blocks_per_block to 1"
            )
        self._refuse_multi_plane(multi_plane)
        # A page needs one transaction, and one more for each of its subpages that must be read first. Two
        # such pages are admitted at a time, together with two pages that the region evicts.
        least = 4 * (subpages + 1)
        if self.window_pages < least:
            raise ValueError(
                f"ftl.window_pages = {self.window_pages} must be at least {least} with {subpages} subpages "
                "per page"
            )
        if self.retention_days is not None and len(self.retention_days) != subpages:
            raise ValueError(
                f"ftl.retention_days has {len(self.retention_days)} entries and needs one for each of the "
                f"{subpages} subpages of a page"
            )
        self._check_region(geometry)

    def _check_region(self, geometry: GeometryConfig) -> None:
        least, blocks = self.least_region_blocks, self.region_blocks_of(geometry)
        if blocks < least:
            raise ValueError(
                f"ftl.kind {self.kind} needs a region of at least {least} blocks per plane and has {blocks}; "
                "raise ftl.region_share or geometry.blocks_per_plane"
            )
        if blocks >= geometry.blocks_per_plane:
            raise ValueError(
                f"a region of {blocks} blocks leaves none of the {geometry.blocks_per_plane} of a plane for "
                "whole pages; lower ftl.region_share"
            )
        if self.collect_blocks is not None and self.collect_blocks >= blocks:
            raise ValueError(
                f"ftl.collect_blocks = {self.collect_blocks} must be below the {blocks} blocks of the "
                "region, of which one is in reserve"
            )
