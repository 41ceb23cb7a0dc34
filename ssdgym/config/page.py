"""The FTLs of the page family, which map pages."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ssdgym.config.ftl import FtlConfig
from ssdgym.config.gc import GcConfig, HotnessConfig
from ssdgym.config.geometry import MAX_PAGES, GeometryConfig
from ssdgym.enums import Allocation, PlaneRows, WriteCompletes

#: Write streams per plane of the placements that are part of the engine and write to streams.
STREAMS = {"single": 1, "sep_gc": 2, "hot_cold": 2}
#: Most write streams of a plane.
MOST_STREAMS = 16
#: Placements that can write pages to free sub-blocks of blocks in the pool, and not only to open blocks.
SUB_BLOCK_PLACEMENTS = ("hot_to_victims", "hotness_groups")
#: Placements with two streams for relocated pages: padding could use up a free block in each stream.
_NEVER_PADDED = ("hot_cold",)


class PageFtl(FtlConfig):
    """An FTL with page-level mapping."""

    mapping: Literal["page"] = "page"
    allocation: Allocation = Field(Allocation.STATIC, description=Allocation.described())
    placement: str = Field(
        "sep_gc", description="name and parameters of the placement, which chooses where pages are written"
    )
    min_streams: int = Field(
        1,
        ge=1,
        le=MOST_STREAMS,
        description="least number of write streams per plane, for agents that choose among more streams than "
        "the placement has; relocated pages may go to any stream",
    )
    trackers: tuple[str, ...] = Field(
        (),
        description="names of trackers (rules that only record events for observations) and of placements "
        "whose choices are observed but not applied",
    )
    block_allocation: str | None = Field(
        None,
        description="name and parameters of the allocation rule, which chooses the free block that is opened "
        "for a stream; null: the block that has been free longest",
    )
    levelling: str | None = Field(
        None,
        description="name and parameters of the levelling rule, which chooses the cold block that is "
        "emptied into a separate open block; null: no wear levelling",
    )
    victim: str | None = Field(
        None,
        description="name and parameters of the victim rule whose records the device keeps; policies set it",
    )
    hotness: HotnessConfig = HotnessConfig()
    # Shin, Electronics Letters 2018.
    multi_plane_writes: bool = Field(
        False,
        description="program waiting writes at equal rows of several planes of a die by one command; needs "
        "multi_plane; with timing none no write waits, and only multi_plane_rows aligned has an effect",
    )
    write_completes: WriteCompletes = Field(
        WriteCompletes.PROGRAM, description=f"with timing event: end of a write; {WriteCompletes.described()}"
    )
    multi_plane_rows: PlaneRows = Field(
        PlaneRows.ANY, description=f"how planes get to equal rows (page numbers); {PlaneRows.described()}"
    )
    pad_limit: int = Field(
        0,
        ge=0,
        le=MAX_PAGES,
        description="with multi_plane_rows pad: most pages of padding per plane; 0: pages_per_block - 1",
    )
    multi_plane_reads: bool = Field(
        False,
        description="read waiting pages in several planes of a die by one command if their page numbers are "
        "equal; needs multi_plane and timing event",
    )
    gc: GcConfig = GcConfig(free_fraction=0.02)

    @model_validator(mode="after")
    def _background_needs_time(self) -> PageFtl:
        if self.timing == "none" and self.gc.background_fraction is not None:
            raise ValueError("timing none has no idle time for gc.background_fraction; use timing event")
        return self

    def check_device(self, geometry: GeometryConfig, erase_unit: str, multi_plane: str) -> None:
        """Raise if a rule or an option of the FTL does not fit the device; see `FtlConfig`."""
        if self.timing == "none" and self.gc.idle is not None:
            raise ValueError(f"ftl.timing none has no idle time for {self.gc.idle}; use timing event")
        if self.placement in SUB_BLOCK_PLACEMENTS and erase_unit == "block":
            raise ValueError(
                f"ftl.placement {self.placement} needs an erase_unit of sub-blocks (sub_block_run or "
                "sub_block_set), not block"
            )
        for name in ("block_allocation", "levelling"):
            if getattr(self, name) is not None and self.placement in SUB_BLOCK_PLACEMENTS:
                raise ValueError(
                    f"ftl.{name} {getattr(self, name)} is for placements in streams, not {self.placement}; "
                    "leave it out"
                )
        # When a full block group loses a block to another group, that group must have room for the block.
        groups = self.hotness.groups
        blocks, least = geometry.blocks_per_plane, (2 * groups - 2) * (groups - 1)
        if "hotness_groups" in (self.placement, *self.trackers) and blocks < least:
            raise ValueError(
                f"geometry.blocks_per_plane = {blocks} is too small for ftl.placement hotness_groups with "
                f"the {groups} groups of ftl.hotness.thresholds: it needs at least {least}"
            )
        for name in ("multi_plane_writes", "multi_plane_reads"):
            if getattr(self, name) and multi_plane == "none":
                raise ValueError(f"ftl.{name} needs multi_plane strict or relaxed, not none")
        self._check_rows(geometry)
        if self.multi_plane_writes and self.placement in SUB_BLOCK_PLACEMENTS:
            raise ValueError(
                f"ftl.multi_plane_writes needs an ftl.placement in streams ({', '.join(STREAMS)}), not "
                f"{self.placement}"
            )

    def _check_rows(self, geometry: GeometryConfig) -> None:
        rows = self.multi_plane_rows
        if rows != PlaneRows.PAD and self.pad_limit > 0:
            raise ValueError("ftl.pad_limit is for ftl.multi_plane_rows pad; set that or leave it out")
        if rows == PlaneRows.ANY:
            return
        if not self.multi_plane_writes:
            raise ValueError(f"ftl.multi_plane_rows {rows} needs ftl.multi_plane_writes; set it")
        if geometry.sub_blocks_per_block > 1:
            raise ValueError(
                f"ftl.multi_plane_rows {rows} needs blocks that are written from one end to the other; set "
                "geometry.sub_blocks_per_block to 1"
            )
        if rows == PlaneRows.ALIGNED:
            if self.allocation == Allocation.STATIC:
                raise ValueError(
                    "ftl.multi_plane_rows aligned chooses the plane of a write; set ftl.allocation to "
                    "dynamic or late, not static"
                )
            return
        if self.placement in _NEVER_PADDED:
            raise ValueError(
                f"ftl.multi_plane_rows pad is not for ftl.placement {self.placement}; choose another "
                "placement"
            )
        if self.pad_limit >= geometry.pages_per_block:
            raise ValueError(
                f"ftl.pad_limit = {self.pad_limit} must be below the {geometry.pages_per_block} pages of a "
                "block"
            )
