"""The flash of a device: how it is built up, how long its commands take, and their energy."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.loading import Config

#: Page numbers are 32-bit.
MAX_PAGES = 2**31 - 1
#: Most subpages of a page.
MOST_SUBPAGES = 8
#: Pairs of fields, the first of which must divide the second.
_DIVIDERS = (
    ("sub_blocks_per_block", "pages_per_block"),
    ("layers_per_block", "pages_per_block"),
    ("sub_blocks_per_block", "layers_per_block"),
    ("subpages_per_page", "page_size_bytes"),
)


class GeometryConfig(Config):
    """How the flash is built up."""

    channels: PositiveInt = 1
    chips_per_channel: PositiveInt = 1
    dies_per_chip: PositiveInt = 1
    planes_per_die: PositiveInt = 1
    blocks_per_plane: PositiveInt
    sub_blocks_per_block: int = Field(1, ge=1, le=64, description="separately erasable sub-blocks")
    pages_per_block: PositiveInt
    layers_per_block: PositiveInt | None = Field(
        None, description="horizontal layers of equally many pages; required for hardware isolation"
    )
    page_size_bytes: PositiveInt
    subpages_per_page: int = Field(
        1,
        ge=1,
        le=MOST_SUBPAGES,
        description="equal parts of a page that can be programmed one after the other",
    )
    spare_bytes: int = Field(0, ge=0, description="size of the spare area of a page")

    @model_validator(mode="after")
    def _parts_fit(self) -> GeometryConfig:
        for name, whole in _DIVIDERS:
            part, value = getattr(self, name), getattr(self, whole)
            if part is not None and value is not None and value % part:
                raise ValueError(f"{name} = {part} must divide {whole} = {value}")
        subpages = self.subpages_per_page
        if self.physical_pages * subpages > MAX_PAGES:
            pages, most = f"{self.physical_pages} pages", f"{MAX_PAGES}"
            if subpages > 1:
                pages, most = f"{pages} of {subpages} subpages", f"{most} subpages"
            raise ValueError(f"of {pages} is too large: at most {most} can be numbered")
        if self.spare_bytes > self.page_size_bytes:
            raise ValueError(
                f"spare_bytes = {self.spare_bytes} must not be above page_size_bytes = {self.page_size_bytes}"
            )
        return self

    def check_isolation(self, isolation_layers: int) -> None:
        """Raise if isolation layers leave a sub-block no layer for data."""
        if self.layers_per_block is None:
            raise ValueError("isolation hardware needs geometry.layers_per_block")
        layers = self.layers_per_block // self.sub_blocks_per_block
        if isolation_layers >= layers:
            raise ValueError(
                f"isolation_layers = {isolation_layers} leaves no data page of sub-blocks of {layers} "
                f"layer{'s' if layers > 1 else ''} (geometry.layers_per_block / "
                "geometry.sub_blocks_per_block)"
            )

    def isolated(self, isolation_layers: int) -> GeometryConfig:
        """Return the geometry without its isolation layers; each sub-block has `isolation_layers` of them."""
        if self.layers_per_block is None:  # `check_isolation` refuses it with the field's name
            raise ValueError("layers_per_block is missing")
        layers = self.layers_per_block - isolation_layers * self.sub_blocks_per_block
        pages_per_layer = self.pages_per_block // self.layers_per_block
        return self.model_copy(
            update={"layers_per_block": layers, "pages_per_block": layers * pages_per_layer}
        )

    @property
    def partial_sizes(self) -> tuple[int, ...]:
        """Sizes of the parts that repeated halving of a block makes, in pages, the largest first."""
        parts = self.sub_blocks_per_block
        if parts & (parts - 1):
            raise ValueError(
                f"geometry.sub_blocks_per_block = {parts} must be a power of two where blocks are erased by "
                "halves"
            )
        return tuple(self.pages_per_block >> level for level in range(1, parts.bit_length()))

    @property
    def dies(self) -> int:
        """Number of dies of the device."""
        return self.channels * self.chips_per_channel * self.dies_per_chip

    @property
    def planes(self) -> int:
        """Number of planes of the device."""
        return self.dies * self.planes_per_die

    @property
    def plane_pages(self) -> int:
        """Number of physical pages of a plane."""
        return self.blocks_per_plane * self.pages_per_block

    @property
    def physical_pages(self) -> int:
        """Number of physical pages of the device."""
        return self.planes * self.plane_pages


class TimingConfig(Config):
    """Times of commands in the array, by page or block, and of transfers over the channel."""

    read_ns: int = Field(ge=0, description="tR, time to read a page from the array into its register, ns")
    program_ns: int = Field(ge=0, description="tPROG, time to program a page, ns")
    subpage_program_ns: int = Field(0, ge=0, description="tPROG of a subpage, ns; 0: that of a page")
    erase_ns: int = Field(ge=0, description="tBERS, time to erase a block, ns")
    partial_erase_ns: dict[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict,
        description="times to erase the parts that halving a block makes, ns, by the pages of the part; "
        "other sizes are allowed; empty: the time of a whole block",
    )
    transfer_ns_per_byte: float = Field(ge=0, le=1e9, description="channel time per byte, ns")

    def check_partial_erases(self, geometry: GeometryConfig) -> None:
        """Raise if `partial_erase_ns` lacks the time of a part of a block."""
        if not self.partial_erase_ns:
            return
        missing = [str(pages) for pages in geometry.partial_sizes if pages not in self.partial_erase_ns]
        if missing:
            raise ValueError(
                f"timing.partial_erase_ns must give the time of every part of a block; {', '.join(missing)} "
                "pages are missing"
            )


class EnergyConfig(Config):
    """Energy of one command in microjoule; an erase of several blocks takes `erase_uj` for each of them.

    Programming a subpage costs as much as programming a page.
    """

    read_uj: float = Field(0.0, ge=0)
    program_uj: float = Field(0.0, ge=0)
    erase_uj: float = Field(0.0, ge=0)


class CapacityConfig(Config):
    """The capacity that a device offers the host: a number of pages, or an over-provisioning."""

    logical_pages: PositiveInt | None = None
    over_provisioning: float | None = Field(
        None, gt=0, lt=5, description="(physical - logical pages) / logical pages; 0.07 is 7 %"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> CapacityConfig:
        if (self.over_provisioning is None) == (self.logical_pages is None):
            raise ValueError("must give exactly one of over_provisioning and logical_pages")
        return self
