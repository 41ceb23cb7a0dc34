"""The device, with the flash translation layer that runs on it."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from ssdgym.config import block, subpage  # noqa: F401  their FTLs register
from ssdgym.config.cells import CellsConfig
from ssdgym.config.fields import dotted, nested, overlapping
from ssdgym.config.ftl import AnyFtl, FtlConfig
from ssdgym.config.geometry import MAX_PAGES, CapacityConfig, EnergyConfig, GeometryConfig, TimingConfig
from ssdgym.config.loading import Config, Source, load_config
from ssdgym.config.page import PageFtl
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError, shown


class DeviceFields(Config):
    """The fields of a device; each field is checked by itself, but not whether fields fit each other."""

    name: str
    description: str = ""
    geometry: GeometryConfig
    capacity: CapacityConfig
    erase_unit: EraseUnit = Field(
        EraseUnit.BLOCK, description=f"part of a block that one erase covers; {EraseUnit.described()}"
    )
    isolation: Isolation = Field(
        Isolation.NONE, description=f"protection of neighbours from an erase; {Isolation.described()}"
    )
    # 1: two neighbours share the layer between them; 2: each sub-block has one layer above and one below.
    isolation_layers: PositiveInt = Field(
        1, description="with isolation hardware: number of layers without data per sub-block"
    )
    multi_plane: MultiPlane = Field(
        MultiPlane.NONE,
        description="planes of a die that one command may use to relocate, to erase and, with "
        f"ftl.multi_plane_writes, to write host pages; {MultiPlane.described()}",
    )
    timing: TimingConfig
    energy: EnergyConfig = EnergyConfig()
    cells: CellsConfig | None = Field(None, description="wear of the cells; null: cells do not wear out")
    ftl: AnyFtl = PageFtl()
    assumed: dict[str, str] = Field(
        default_factory=dict, description="reasons for values that no published source gives, by field name"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_base(cls, data: Any) -> Any:
        return _on_base(data) if isinstance(data, dict) and "base" in data else data


def _on_base(data: dict[str, Any]) -> dict[str, Any]:
    """Return all fields of a device that is given as a `base` and changed fields."""
    # `assumed` is not a nested field: its keys are dotted names of fields.
    kept = ("base", "name", "description", "assumed")
    changes = nested({name: value for name, value in data.items() if name not in kept})
    try:
        base = load_config(DeviceFields, data["base"], "devices", where_of(data["base"]))
    except RecursionError:
        raise SsdgymError(f"device base {shown(data['base'])} leads back to itself; correct it.") from None
    label = ", ".join(f"{name}={value}" for name, value in dotted(changes))
    fields = {"name": f"{base.name}({label})", **{name: data[name] for name in kept[1:] if name in data}}
    if isinstance(notes := data.get("assumed"), dict):  # the base's notes on all other fields stay
        kept_notes = {name: why for name, why in base.assumed.items() if overlapping(name, notes) is None}
        fields["assumed"] = kept_notes | notes
    if "capacity" in changes:  # the two fields of `capacity` exclude each other
        fields["capacity"] = changes.pop("capacity")
    return base.with_changes(changes) | fields


def where_of(source: Source) -> str | None:
    """Return the start of errors about a mapping, its device's name; None if it has no name."""
    return (
        f"device {source['name']}"
        if isinstance(source, dict) and isinstance(source.get("name"), str)
        else None
    )


PreconditioningKind = Literal[
    "none", "fill", "workload", "uniform", "reads", "until_gc", "until_gc_greedy", "reads_until_gc_greedy"
]
#: What each kind of preconditioning writes, in Markdown.
PRECONDITIONING: dict[PreconditioningKind, str] = {
    "none": "nothing",
    "fill": "every page once, in order; the default of `run`. `fill(share=0.95)` writes the first 95 % only",
    "workload": "as `fill`, then overwrites of the workload until the write amplification is steady, by "
    "greedy (`merge` on devices of mapping block) with the placement of the measured policy; the default of "
    "`evaluate` and of environments. `workload(share=0.95)` fills the first 95 % only",
    "uniform": "as `workload`, but with uniform overwrites",
    "reads": "the pages that the workload, which must end, reads before it writes them",
    "until_gc": "random pages drawn by the run's seed, until every plane has collected, under the measured "
    "policy",
    "until_gc_greedy": "as `until_gc`, but under greedy and in one stream, so that all policies start with "
    "the same device",
    "reads_until_gc_greedy": "the pages of `reads`, then those of `until_gc_greedy`, all under greedy and in "
    "one stream",
}
#: The kinds that begin by filling the device.
_FILLING = ("fill", "uniform", "workload")
#: The kinds that draw pages by the seed of the run.
DRAWN_BY_THE_RUN = ("until_gc", "until_gc_greedy", "reads_until_gc_greedy")
_WRITTEN = re.compile(r"(\w+)\(share=([^()]+)\)")


class PreconditioningConfig(Config):
    """A kind of preconditioning, and the share of the logical pages that it fills.

    It can be given as a text: `fill`, or `fill(share=0.5)` for the first half of the logical pages.
    """

    kind: PreconditioningKind
    share: float = Field(1.0, gt=0, le=1, description="share of the logical pages that are filled, in order")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        return _fields_of(data) if isinstance(data, str) else data

    @model_validator(mode="after")
    def _only_a_fill_has_a_share(self) -> PreconditioningConfig:
        if self.share != 1 and self.kind not in _FILLING:
            raise ValueError(f"share = {self.share} needs a kind that fills: {', '.join(_FILLING)}")
        return self

    @property
    def is_the_runs_own(self) -> bool:
        """Whether the state depends on the measured policy or on the seed of the run."""
        return self.kind in ("reads", *DRAWN_BY_THE_RUN)

    @property
    def text(self) -> str:
        """The text, such as `fill(share=0.5)`."""
        return self.kind if self.share == 1 else f"{self.kind}(share={self.share})"


def _fields_of(text: str) -> dict[str, str]:
    written = _WRITTEN.fullmatch(text)
    return {"kind": text} if written is None else {"kind": written[1], "share": written[2]}


#: A field that accepts a text or a mapping, and stores the text.
Preconditioning = Annotated[
    str, BeforeValidator(lambda data: PreconditioningConfig.model_validate(data).text)
]


def read_preconditioning(source: Source) -> PreconditioningConfig:
    """Return the preconditioning that a text, a mapping or a ready model describes."""
    fields = _fields_of(source) if isinstance(source, str) else source
    return load_config(PreconditioningConfig, fields, "", "preconditioning")


class DeviceConfig(DeviceFields):
    """A device: its flash, its erase unit, and the FTL that runs on it."""

    @model_validator(mode="after")
    def _sub_blocks_fit(self) -> DeviceConfig:
        """Check the erase unit and the isolation against the geometry."""
        geometry = self.geometry
        for field in ("erase_unit", "isolation"):
            value = getattr(self, field)
            if geometry.sub_blocks_per_block == 1 and value != DeviceConfig.model_fields[field].default:
                raise ValueError(f"{field} {value} needs geometry.sub_blocks_per_block above 1")
        if self.isolation == "hardware":
            geometry.check_isolation(self.isolation_layers)
        return self

    @model_validator(mode="after")
    def _parts_fit(self) -> DeviceConfig:
        self.ftl.check_device(self.geometry, self.erase_unit, self.multi_plane)
        if self.ftl.models_disturbance and self.isolation != "none":
            raise ValueError(
                f"ftl.mapping {self.ftl.mapping} has its own model of what erases disturb; leave isolation "
                "out"
            )
        if self.cells is not None and self.cells.disturbance_wears and not self.ftl.models_disturbance:
            raise ValueError(
                f"has cells.disturbance_wears, which is of no use to ftl.mapping {self.ftl.mapping}; leave "
                "it out"
            )
        self.timing.check_partial_erases(self.geometry)
        if self.isolation != "none" and self.erase_unit == "block":
            raise ValueError(
                f"isolation {self.isolation} protects sub-blocks from each other and needs an erase_unit "
                "of sub-blocks (sub_block_run or sub_block_set), not block"
            )
        if self.multi_plane != "none" and self.geometry.planes_per_die == 1:
            raise ValueError(f"multi_plane {self.multi_plane} needs geometry.planes_per_die above 1")
        return self

    @model_validator(mode="after")
    def _capacity_fits(self) -> DeviceConfig:
        step, holder = self.ftl.capacity_step(self.geometry)
        if self.logical_pages % step:
            raise ValueError(
                f"logical_pages = {self.logical_pages} must be a multiple of the {step} that {holder} holds"
            )
        physical, usable = self.physical_units, self.usable.physical_pages * self.units_per_page
        if self.capacity.logical_pages is not None and self.logical_pages >= physical:
            pages = "pages" if self.units_per_page == 1 else "subpages"
            raise ValueError(
                f"logical_pages = {self.logical_pages} must be below the {physical} physical {pages}"
            )
        if self.logical_pages == 0:
            raise ValueError(
                f"over_provisioning = {self.capacity.over_provisioning} leaves no logical page "
                f"of the {physical} physical ones"
            )
        if self.logical_pages >= usable:
            raise ValueError(
                f"isolation hardware leaves {usable} of {physical} physical pages, too few for the "
                f"{self.logical_pages} logical ones; raise over_provisioning or lower logical_pages"
            )
        return self

    @property
    def usable(self) -> GeometryConfig:
        """The geometry without isolation layers, with which the engine is built."""
        geometry = self.geometry
        return geometry.isolated(self.isolation_layers) if self.isolation == "hardware" else geometry

    @property
    def logical_pages(self) -> int:
        """Number of pages that the host can address, a multiple of `ftl.capacity_step`."""
        if self.capacity.over_provisioning is None:
            return self.capacity.logical_pages or 0
        pages = int(self.physical_units / (1 + self.capacity.over_provisioning))
        return pages - pages % self.ftl.capacity_step(self.geometry)[0]

    @property
    def spare_ratio(self) -> float:
        """Over-provisioning: (physical - logical pages) / logical pages."""
        return (self.physical_units - self.logical_pages) / self.logical_pages

    @property
    def units_per_page(self) -> int:
        """Number of logical pages in a page of flash."""
        return self.ftl.units_per_page(self.geometry)

    @property
    def physical_units(self) -> int:
        """Physical capacity in logical pages, isolation layers included."""
        return self.geometry.physical_pages * self.units_per_page

    @property
    def host_unit_bytes(self) -> int:
        """Size of a logical page, bytes."""
        return self.ftl.host_unit_bytes(self.geometry)

    @property
    def transfer_ns(self) -> int:
        """Time of one page on the channel, ns."""
        return round(self.timing.transfer_ns_per_byte * self.geometry.page_size_bytes)

    def sized_to(self, logical_pages: int, more_blocks: int = 0) -> DeviceConfig:
        """Return this device with just enough blocks per plane for `logical_pages` at its over-provisioning.

        Args:
            logical_pages: pages that the host can address; rounded up to a multiple of `ftl.capacity_step`.
            more_blocks: additional blocks per plane. The name of the device contains their number.

        Raises:
            SsdgymError: the device would be too large, or too small for its other fields.
        """
        geometry = self.geometry
        step, _ = self.ftl.capacity_step(geometry)
        logical_pages += -logical_pages % step
        needed = logical_pages * (1 + self.spare_ratio)
        of_each = geometry.planes * geometry.pages_per_block * self.units_per_page
        blocks = math.ceil(needed / of_each) + more_blocks
        if blocks * of_each > MAX_PAGES:
            raise SsdgymError(
                f"device {self.name}: cannot be made to hold {logical_pages} pages, since it would have "
                f"more than {MAX_PAGES} physical ones; use larger pages or touch fewer."
            )
        size = f"{logical_pages} pages" + (f" + {more_blocks} blocks per plane" if more_blocks else "")
        return changed_device(
            self,
            f"device {self.name} cannot be made to hold {logical_pages} pages",
            name=f"{self.name}[{size}]",
            geometry=geometry.model_copy(update={"blocks_per_plane": blocks}),
            capacity=CapacityConfig(logical_pages=logical_pages),
        )


def load_device(source: Source, where: str | None = None) -> DeviceConfig:
    """Return the device of a name, YAML file, mapping or ready model.

    Args:
        source: the name of a file in `configs/devices` without `.yaml`, the path of a YAML file, a
            `DeviceConfig`, or a mapping. A mapping has all fields, or a device under `base` and the changed
            fields: `{"base": "demo", "geometry.blocks_per_plane": 64}`.
        where: first words of errors about a mapping; by default the device's name in the mapping.

    Raises:
        SsdgymError: there is no such device, or its fields are wrong or do not fit each other.
    """
    return load_config(DeviceConfig, source, "devices", where or where_of(source))


def load_fields(source: Source) -> DeviceFields:
    """Load a device as `load_device` does; return its fields even if they do not fit each other.

    Raises:
        SsdgymError: there is no such device, or a field has a wrong value.
    """
    try:
        return load_device(source)
    except SsdgymError:
        return load_config(DeviceFields, source, "devices", where_of(source))


def changed_device(device: DeviceFields, where: str | None = None, **changes: Any) -> DeviceConfig:
    """Return a device with some fields changed; check that all fields fit each other.

    Args:
        device: the device to change.
        where: first words of errors; by default the device's name.
        changes: new values of fields, by name.

    Raises:
        SsdgymError: a value is wrong, or fields do not fit each other.
    """
    fields = {name: getattr(device, name) for name in device.model_fields_set}
    return load_device({**fields, **changes}, where)


def with_ftl(device: DeviceFields, changes: FtlConfig | dict[str, Any] | None) -> DeviceConfig:
    """Return a device with another FTL, or with changed fields of its FTL.

    Args:
        device: the device, or fields of a device, which need to fit each other only after the changes.
        changes: the new FTL, a mapping of changed fields, or None for no change. A nested mapping or a
            dotted name keeps the other fields: `{"gc": {"free_blocks": 8}}` and `{"gc.free_blocks": 8}`
            keep `gc.mode`.

    Raises:
        SsdgymError: the changes do not fit the device.
    """
    if changes is None:
        return device if isinstance(device, DeviceConfig) else changed_device(device)
    if isinstance(changes, FtlConfig):
        return changed_device(device, ftl=changes)
    if not isinstance(changes, dict):
        raise SsdgymError(
            f"device {device.name}: ftl must be a mapping of fields to values, not {changes!r:.60}."
        )
    return changed_device(device, ftl=device.ftl.with_changes(nested(changes)))
