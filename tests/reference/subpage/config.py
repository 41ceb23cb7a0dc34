"""One device of the sub-page family, described."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import ReferenceConfig

CGM, FGM, SECTOR_LOG, SUBFTL = "cgm", "fgm", "sector_log", "subftl"


@dataclass(frozen=True)
class SubpageConfig(ReferenceConfig):
    """As for the page family, but `logical_pages` counts sectors and `pages_per_block` is derived.

    It counts what the main area is counted in: flash pages, or slots of fgm.
    """

    allocation: str = "dynamic"
    kind: str = SUBFTL
    slots_per_page: int = 4  # sectors in a flash page: N
    flash_pages_per_block: int = 4  # K
    region_blocks: int = 3  # the last ones of a plane; cgm and fgm have none
    buffer_groups: int = 4
    rule: str = "fewest_valid"  # or "printed"
    collect_blocks: int | None = None  # of rule "printed", in a row; None: all but the reserve
    advance: str = "always"  # or "never"
    wear_gap: int = 0  # 0: blocks are never exchanged
    evict_after_h: int = 15 * 24  # 0: never
    retention_h: tuple[int, ...] = (30 * 24,) * 8  # by the number of earlier programs of the page
    full_retention_h: int = 365 * 24
    subpage_program_ns: int = 0
    subpage_transfer_ns: int = 0
    subpage_bytes: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "pages_per_block", self.flash_pages_per_block * self.units_per_page)
        object.__setattr__(self, "region_blocks", self.region_blocks if self.has_region else 0)
        if self.timing == "event" and self.window_pages < 4 * (self.slots_per_page + 1):
            raise ValueError(f"window_pages must be at least {4 * (self.slots_per_page + 1)}")
        super().__post_init__()

    @property
    def has_region(self) -> bool:
        return self.kind in (SECTOR_LOG, SUBFTL)

    @property
    def sweeps(self) -> bool:
        """Whether what is old leaves a region when a day passes."""
        return self.kind == SUBFTL and self.evict_after_h > 0

    @property
    def units_per_page(self) -> int:
        """Units of account of a flash page of the main area."""
        return self.slots_per_page if self.kind == FGM else 1

    @property
    def slots_per_unit(self) -> int:
        return self.slots_per_page // self.units_per_page

    @property
    def slots_per_block(self) -> int:
        return self.flash_pages_per_block * self.slots_per_page

    @property
    def flash_pages(self) -> int:
        return self.planes * self.blocks_per_plane * self.flash_pages_per_block

    @property
    def passes(self) -> int:
        """Passes a region block allows between erases."""
        return self.slots_per_page if self.kind == SUBFTL else 1

    @property
    def most_kept(self) -> int:
        """Subpages that one collection may keep in the region."""
        return 3 * self.flash_pages_per_block // 4

    @property
    def pages_per_plane(self) -> int:
        """Units of the main area of a plane."""
        return (self.blocks_per_plane - self.region_blocks) * self.pages_per_block

    @property
    def max_valid_pages(self) -> int:
        """As for the page family; for fgm some block then holds a page of invalid slots when GC is needed."""
        most, n = super().max_valid_pages, self.slots_per_page
        if self.kind != FGM:
            return most
        closed = self.blocks_per_plane - max(self.threshold, self.floor)
        return min(most, closed * (self.pages_per_block - n + 1) - 1)

    @property
    def most_transactions(self) -> int:
        """What the flush of one group may need: jobs and reads."""
        return self.slots_per_page + 1
