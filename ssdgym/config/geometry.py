"""The flash of a device: its geometry, the times and the energy of its commands, and its capacity."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.loading import Config

#: Most pages of a device: page numbers have 32 bits.
MAX_PAGES = 2**31 - 1
#: Most subpages of a page.
MOST_SUBPAGES = 8
#: Pairs of fields; in each pair, the first field must divide the second.
_DIVIDERS = (
    ("sub_blocks_per_block", "pages_per_block"),
    ("layers_per_block", "pages_per_block"),
    ("sub_blocks_per_block", "layers_per_block"),
    ("subpages_per_page", "page_size_bytes"),
)


class GeometryConfig(Config):
    """The numbers and sizes of the parts of the flash."""

    channels: PositiveInt = 1
    chips_per_channel: PositiveInt = 1
    dies_per_chip: PositiveInt = 1
    planes_per_die: PositiveInt = 1
    blocks_per_plane: PositiveInt
    sub_blocks_per_block: int = Field(1, ge=1, le=64, description="equal parts of a block; see erase_unit")
    pages_per_block: PositiveInt
    layers_per_block: PositiveInt | None = Field(
        None, description="layers with equally many pages each; required for isolation hardware"
    )
    page_size_bytes: PositiveInt
    subpages_per_page: int = Field(
        1,
        ge=1,
        le=MOST_SUBPAGES,
        description="equal parts of a page, each of which can be programmed by itself",
    )
    spare_bytes: int = Field(0, ge=0, description="size of the spare area of a page, bytes")

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
        """Return the geometry with `isolation_layers` layers less in each sub-block."""
        if self.layers_per_block is None:  # users get the error of `check_isolation`, which names the field
            raise ValueError("layers_per_block is missing")
        layers = self.layers_per_block - isolation_layers * self.sub_blocks_per_block
        pages_per_layer = self.pages_per_block // self.layers_per_block
        return self.model_copy(
            update={"layers_per_block": layers, "pages_per_block": layers * pages_per_layer}
        )

    @property
    def partial_sizes(self) -> tuple[int, ...]:
        """Pages of a half, a quarter, ... of a block, down to a sub-block."""
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
    """Times of commands in the flash array, and of transfers over the channel."""

    read_ns: int = Field(ge=0, description="tR, time to read a page from the array into the register, ns")
    program_ns: int = Field(ge=0, description="tPROG, time to program a page, ns")
    subpage_program_ns: int = Field(0, ge=0, description="tPROG of a subpage, ns; 0: program_ns")
    erase_ns: int = Field(ge=0, description="tBERS, time to erase a block, ns")
    partial_erase_ns: dict[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict,
        description="times to erase a half, a quarter, ... of a block, ns, by pages of the part; entries for "
        "other sizes are ignored; empty: erase_ns for all",
    )
    transfer_ns_per_byte: float = Field(ge=0, le=1e9, description="channel time per byte, ns")

    def check_partial_erases(self, geometry: GeometryConfig) -> None:
        """Raise if `partial_erase_ns` has entries, but none for one of `geometry.partial_sizes`."""
        if not self.partial_erase_ns:
            return
        missing = [str(pages) for pages in geometry.partial_sizes if pages not in self.partial_erase_ns]
        if missing:
            raise ValueError(
                f"timing.partial_erase_ns must give the time of every part of a block; {', '.join(missing)} "
                "pages are missing"
            )


class EnergyConfig(Config):
    """Energy of one command in microjoule.

    An erase costs `erase_uj` per block, for sub-blocks in proportion. A subpage costs as much as a page.
    """

    read_uj: float = Field(0.0, ge=0)
    program_uj: float = Field(0.0, ge=0)
    erase_uj: float = Field(0.0, ge=0)


class CapacityConfig(Config):
    """The capacity of a device for the host, given by its logical pages or by its over-provisioning."""

    logical_pages: PositiveInt | None = None
    over_provisioning: float | None = Field(
        None, gt=0, lt=5, description="(physical - logical pages) / logical pages; 0.07 is 7 %"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> CapacityConfig:
        if (self.over_provisioning is None) == (self.logical_pages is None):
            raise ValueError("must give exactly one of over_provisioning and logical_pages")
        return self
