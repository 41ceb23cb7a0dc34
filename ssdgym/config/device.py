"""The device and the flash translation layer that runs on it."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.loading import Config, Source, load_config
from ssdgym.errors import SsdgymError

#: Page numbers are 32-bit.
MAX_PAGES = 2**31 - 1


class GeometryConfig(Config):
    """How the flash is built up."""

    channels: PositiveInt = 1
    chips_per_channel: PositiveInt = 1
    dies_per_chip: PositiveInt = 1
    planes_per_die: PositiveInt = 1
    blocks_per_plane: PositiveInt
    sub_blocks_per_block: int = Field(1, ge=1, le=64, description="sub-blocks that can be erased apart")
    pages_per_block: PositiveInt
    page_size_bytes: PositiveInt

    @model_validator(mode="after")
    def _sub_blocks_divide(self) -> GeometryConfig:
        if self.pages_per_block % self.sub_blocks_per_block:
            raise ValueError(
                f"sub_blocks_per_block = {self.sub_blocks_per_block} must divide "
                f"pages_per_block = {self.pages_per_block}"
            )
        if self.physical_pages > MAX_PAGES:
            raise ValueError(
                f"of {self.physical_pages} pages is too large: at most {MAX_PAGES} can be numbered"
            )
        return self

    @property
    def dies(self) -> int:
        """Dies of the whole device."""
        return self.channels * self.chips_per_channel * self.dies_per_chip

    @property
    def planes(self) -> int:
        """Planes of the whole device."""
        return self.dies * self.planes_per_die

    @property
    def plane_pages(self) -> int:
        """Physical pages of a plane."""
        return self.blocks_per_plane * self.pages_per_block

    @property
    def physical_pages(self) -> int:
        """Physical pages of the whole device."""
        return self.planes * self.plane_pages


class TimingConfig(Config):
    """Array times of a page or block, and the rate of the channel."""

    read_ns: int = Field(ge=0, description="tR: array to page register, ns")
    program_ns: int = Field(ge=0, description="tPROG, ns")
    erase_ns: int = Field(ge=0, description="tBERS, ns")
    transfer_ns_per_byte: float = Field(ge=0, le=1e9, description="channel, ns per byte")


class EnergyConfig(Config):
    """Energy of one command in microjoule; an erase is linear in the blocks erased together."""

    read_uj: float = Field(0.0, ge=0)
    program_uj: float = Field(0.0, ge=0)
    erase_uj: float = Field(0.0, ge=0)


class GcConfig(Config):
    """When garbage is collected. Give the threshold either as a share of pages or in blocks."""

    mode: Literal["barrier", "per_write"] = Field(
        "barrier",
        description="barrier: rounds until above it; per_write: one round per triggering host write",
    )
    free_fraction: float | None = Field(
        None, gt=0, lt=1, description="threshold: share of a plane's pages free"
    )
    free_blocks: int | None = Field(None, ge=1, description="threshold: blocks in a plane's pool")
    barrier_fraction: float | None = Field(None, gt=0, lt=1, description="barrier, default the threshold")
    barrier_blocks: int | None = Field(None, ge=1, description="barrier, default the threshold")
    background_fraction: float | None = Field(
        None, gt=0, lt=1, description="idle dies collect planes with a smaller share of free pages"
    )
    priority: Literal["first", "after_reads"] = Field(
        "first", description="foreground GC before all host commands of the die, or after its reads"
    )

    @model_validator(mode="after")
    def _one_threshold(self) -> GcConfig:
        if (self.free_fraction is None) == (self.free_blocks is None):
            raise ValueError("must give exactly one of free_fraction and free_blocks")
        for barrier, threshold, unit in (
            (self.barrier_fraction, self.free_fraction, "fraction"),
            (self.barrier_blocks, self.free_blocks, "blocks"),
        ):
            if barrier is None:
                continue
            if threshold is None:
                raise ValueError(f"gives barrier_{unit} without the threshold free_{unit}")
            if barrier < threshold:
                raise ValueError(f"barrier_{unit} = {barrier} must not be below free_{unit} = {threshold}")
        return self


class FtlConfig(Config):
    """The flash translation layer and how the host drives it."""

    mapping: Literal["page"] = "page"
    placement: Literal["single", "sep_gc"] = Field(
        "sep_gc", description="one write stream, or relocated pages in a stream of their own"
    )
    allocation: Literal["static", "dynamic"] = Field(
        "static", description="plane by logical page, or the die that is idle first"
    )
    timing: Literal["none", "event"] = Field("event", description="count only, or simulate time")
    queue_depth: int = Field(
        0,
        ge=0,
        le=MAX_PAGES,
        description="closed loop with so many requests outstanding; 0: open loop by arrival times",
    )
    window_pages: int = Field(
        16384, ge=1, le=MAX_PAGES, description="page transactions the controller holds; further requests wait"
    )
    gc: GcConfig = GcConfig(free_fraction=0.02)

    @model_validator(mode="after")
    def _background_needs_time(self) -> FtlConfig:
        if self.timing == "none" and self.gc.background_fraction is not None:
            raise ValueError("timing none has no idle time for gc.background_fraction; use timing event")
        return self

    @property
    def streams(self) -> int:
        """Write streams of a plane."""
        return 2 if self.placement == "sep_gc" else 1


class DeviceConfig(Config):
    """A device. Over-provisioning is (physical - logical) / logical."""

    name: str
    description: str = ""
    geometry: GeometryConfig
    over_provisioning: float | None = Field(None, gt=0, description="(physical - logical) / logical")
    logical_pages: PositiveInt | None = None
    erase_unit: Literal["block", "sub_block_run"] = Field(
        "block", description="what one erase may take: whole blocks, or runs of sub-blocks too"
    )
    timing: TimingConfig
    energy: EnergyConfig = EnergyConfig()
    ftl: FtlConfig = FtlConfig()
    assumed: dict[str, str] = Field(
        default_factory=dict, description="values no published source gives, each with the reason for it"
    )

    @model_validator(mode="after")
    def _one_capacity(self) -> DeviceConfig:
        if (self.over_provisioning is None) == (self.logical_pages is None):
            raise ValueError("the device must give exactly one of over_provisioning and logical_pages")
        physical = self.geometry.physical_pages
        if self.logical_pages is not None and self.logical_pages >= physical:
            raise ValueError(
                f"logical_pages = {self.logical_pages} must be below the {physical} physical pages"
            )
        if self.host_pages == 0:
            raise ValueError(
                f"over_provisioning = {self.over_provisioning} leaves no logical page "
                f"of the {physical} physical ones"
            )
        return self

    @property
    def host_pages(self) -> int:
        """Logical pages of the device."""
        if self.logical_pages is not None:
            return self.logical_pages
        assert self.over_provisioning is not None  # the validator has seen to it
        return int(self.geometry.physical_pages / (1 + self.over_provisioning))

    @property
    def spare_ratio(self) -> float:
        """Over-provisioning, however the capacity was given."""
        return (self.geometry.physical_pages - self.host_pages) / self.host_pages

    @property
    def transfer_ns(self) -> int:
        """Time of one page on the channel, ns."""
        return round(self.timing.transfer_ns_per_byte * self.geometry.page_size_bytes)

    def sized_to(self, logical_pages: int) -> DeviceConfig:
        """The same device with as few blocks as hold ``logical_pages`` at its over-provisioning."""
        geometry = self.geometry
        needed = logical_pages * (1 + self.spare_ratio)
        blocks = math.ceil(needed / (geometry.planes * geometry.pages_per_block))
        if blocks * geometry.planes * geometry.pages_per_block > MAX_PAGES:
            raise SsdgymError(
                f"device {self.name}: cannot be made to hold {logical_pages} pages, since it would have "
                f"more than {MAX_PAGES} physical ones; use larger pages or touch fewer."
            )
        return self.model_copy(
            update={
                "name": f"{self.name}[{logical_pages} pages]",
                "geometry": geometry.model_copy(update={"blocks_per_plane": blocks}),
                "logical_pages": logical_pages,
                "over_provisioning": None,
            }
        )


def load_device(source: Source) -> DeviceConfig:
    """A device by name (``configs/devices``), YAML path, mapping or ready model."""
    return load_config(DeviceConfig, source, "devices")


def with_ftl(device: DeviceConfig, changes: FtlConfig | dict[str, Any] | None) -> DeviceConfig:
    """The device with another FTL, or with some fields of its own FTL changed.

    A nested mapping changes fields of a part: ``{"gc": {"free_blocks": 8}}`` replaces the threshold and keeps
    the mode.
    """
    if changes is None:
        return device
    if isinstance(changes, FtlConfig):
        return device.model_copy(update={"ftl": changes})
    if not isinstance(changes, dict):
        raise SsdgymError(f"ftl must be a mapping of fields to values, not {changes!r:.60}.")
    fields = device.ftl.model_dump(exclude_unset=True)
    for key, value in changes.items():
        if key == "gc" and isinstance(value, dict):
            fields["gc"] = _merge_gc(device.ftl.gc, value)
        else:
            fields[key] = value
    return device.model_copy(update={"ftl": load_config(FtlConfig, fields, "ftls")})


def _merge_gc(gc: GcConfig, changes: dict[str, Any]) -> dict[str, Any]:
    fields = gc.model_dump(exclude_none=True)
    if "free_blocks" in changes or "free_fraction" in changes:
        # A new threshold comes with its own unit, and the old barrier does not belong to it.
        for key in ("free_blocks", "free_fraction", "barrier_blocks", "barrier_fraction"):
            fields.pop(key, None)
    return {**fields, **changes}
