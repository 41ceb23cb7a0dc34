"""The fields of a device, before they are checked against each other."""

from __future__ import annotations

from typing import Any

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.fields import dotted, nested, overlapping
from ssdgym.config.ftl import AnyFtl, PageFtl
from ssdgym.config.geometry import CapacityConfig, EnergyConfig, GeometryConfig, TimingConfig
from ssdgym.config.loading import Config, Source, load_config
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError, shown


class DeviceFields(Config):
    """The fields of a device, each checked by itself: they may fit only once others are changed."""

    name: str
    description: str = ""
    geometry: GeometryConfig
    capacity: CapacityConfig
    erase_unit: EraseUnit = Field(
        EraseUnit.BLOCK, description=f"what one erase may take of a block; {EraseUnit.described()}"
    )
    isolation: Isolation = Field(
        Isolation.NONE, description=f"what keeps an erase from neighbours' data; {Isolation.described()}"
    )
    # Neighbours share the layer between them; 2 is the literal "above and below" of each sub-block.
    isolation_layers: PositiveInt = Field(
        1, description="layers that each sub-block gives up under hardware isolation"
    )
    erase_disturbs: bool = Field(
        False, description="a check: an erase spoils neighbours that hardware isolation does not keep from it"
    )
    multi_plane: MultiPlane = Field(
        MultiPlane.NONE,
        description="planes of a die that take part in moves, erases and, with ftl.multi_plane_writes, host "
        f"writes; {MultiPlane.described()}",
    )
    timing: TimingConfig
    energy: EnergyConfig = EnergyConfig()
    ftl: AnyFtl = PageFtl()
    assumed: dict[str, str] = Field(
        default_factory=dict, description="values no published source gives, each with the reason for it"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_base(cls, data: Any) -> Any:
        return _on_base(data) if isinstance(data, dict) and "base" in data else data


def _on_base(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a device that is another one but for some of them.

    Args:
        data: the other one under `base`, and the fields that differ, nested or by dotted names. Notes on
            what is assumed add up.

    Raises:
        SsdgymError: there is no such device, or a field is given twice.
    """
    # The notes have names of fields for keys, dots and all.
    kept = ("base", "name", "description", "assumed")
    changes = nested({name: value for name, value in data.items() if name not in kept})
    try:
        base = load_config(DeviceFields, data["base"], "devices", where_of(data["base"]))
    except RecursionError:
        raise SsdgymError(f"device base {shown(data['base'])} leads back to itself; correct it.") from None
    label = ", ".join(f"{name}={value}" for name, value in dotted(changes))
    fields = {"name": f"{base.name}({label})", **{name: data[name] for name in kept[1:] if name in data}}
    if isinstance(notes := data.get("assumed"), dict):  # of the base those of other fields hold, too
        kept_notes = {name: why for name, why in base.assumed.items() if overlapping(name, notes) is None}
        fields["assumed"] = kept_notes | notes
    if "capacity" in changes:  # given either way, and the changes say which
        fields["capacity"] = changes.pop("capacity")
    return base.with_changes(changes) | fields


def where_of(source: Source) -> str | None:
    """Return what errors of a mapping start with: the name that it gives the device."""
    return (
        f"device {source['name']}"
        if isinstance(source, dict) and isinstance(source.get("name"), str)
        else None
    )
