"""The base model of FTLs, and the registry of models; each family of FTLs has one, named by `mapping`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PlainValidator, SerializeAsAny, model_validator

from ssdgym.config.geometry import MAX_PAGES, GeometryConfig
from ssdgym.config.loading import Config
from ssdgym.enums import Timing
from ssdgym.errors import SsdgymError

#: The models by their `mapping`.
_FAMILIES: dict[str, type[FtlConfig]] = {}


class FtlConfig(Config):
    """Base of the models of all families: the fields that all FTLs have.

    A subclass that sets `mapping` is the model of every configuration with that value of `ftl.mapping`.

    Attributes:
        mapping: name of the family.
        whole_blocks_only: whether the family always erases whole blocks.
        keeps_addresses: whether the family maps whole logical blocks. Adjacent pages of a trace must then
            stay adjacent on the device.
        models_disturbance: whether the family itself models how erases disturb neighbouring sub-blocks.
            `DeviceConfig.isolation` must then be `none`.
        usual_policy: the default policy. Other policies must take the same decision: victims, or merges.
        foreign: for each `kind` of FTL, the fields that FTLs of that kind do not have.
    """

    whole_blocks_only: ClassVar[bool] = False
    keeps_addresses: ClassVar[bool] = False
    models_disturbance: ClassVar[bool] = False
    usual_policy: ClassVar[str] = "greedy"
    foreign: ClassVar[dict[str, tuple[str, ...]]] = {}

    mapping: str
    timing: Timing = Field(Timing.EVENT, description=Timing.described())
    queue_depth: int = Field(
        0,
        ge=0,
        le=MAX_PAGES,
        description="requests under way at a time (closed loop); 0: requests start at their arrival times",
    )
    window_pages: int = Field(
        16384, ge=1, le=MAX_PAGES, description="most page reads and writes under way; others wait"
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Register the model under its mapping; refuse a mapping that another model has."""
        if "mapping" in vars(cls).get("__annotations__", {}):
            mapping = cls.model_fields["mapping"].default
            if _FAMILIES.setdefault(mapping, cls).__qualname__ != cls.__qualname__:
                raise SsdgymError(f"the FTL mapping {mapping} is registered already; choose another name.")
            _FAMILIES[mapping] = cls

    @classmethod
    def of(cls, ftl: FtlConfig) -> Self:
        """Return `ftl`, typed as the model of this family.

        Raises:
            SsdgymError: `ftl` is of another family.
        """
        if not isinstance(ftl, cls):
            mapping = cls.model_fields["mapping"].default
            raise SsdgymError(f"ftl.mapping is {ftl.mapping}, and this is for devices of mapping {mapping}.")
        return ftl

    @model_validator(mode="after")
    def _only_what_the_kind_has(self) -> Self:
        kind = getattr(self, "kind", None)
        for name in self.foreign.get(str(kind), ()):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"has {name}, which is of no use to kind {kind}; leave it out")
        return self

    def _refuse_multi_plane(self, multi_plane: str) -> None:
        if multi_plane != "none":
            raise ValueError(
                f"ftl.mapping {self.mapping} has no commands of several planes; set multi_plane to none, "
                f"not {multi_plane}"
            )

    def check_device(self, geometry: GeometryConfig, erase_unit: str, multi_plane: str) -> None:
        """Raise if the FTL does not fit the device.

        Args:
            geometry: geometry of the device.
            erase_unit: a word of `EraseUnit`.
            multi_plane: a word of `MultiPlane`.

        Raises:
            ValueError: the FTL does not fit. The message names the field.
        """

    def units_per_page(self, geometry: GeometryConfig) -> int:
        """Return the number of logical pages in a page of flash."""
        return 1

    def capacity_step(self, geometry: GeometryConfig) -> tuple[int, str]:
        """Return a unit in logical pages, of which a device has a whole number, and the name of the unit."""
        return self.units_per_page(geometry), "a page of flash"

    def host_unit_bytes(self, geometry: GeometryConfig) -> int:
        """Return the size of a logical page, bytes."""
        return geometry.page_size_bytes // self.units_per_page(geometry)

    def with_changes(self, changes: dict[str, Any]) -> dict[str, Any]:
        """See `Config`; fields that the new family or kind does not have are dropped.

        If `changes` name another family, only the fields that all families have are kept.
        """
        if changes.get("mapping", self.mapping) != self.mapping:
            return self.model_dump(exclude_unset=True, include=set(FtlConfig.model_fields)) | changes
        lost = set(self.foreign.get(str(changes.get("kind")), ())) - changes.keys()
        return {name: value for name, value in super().with_changes(changes).items() if name not in lost}


def ftl_model(mapping: Any) -> type[FtlConfig] | None:
    """Return the model whose `mapping` is the given value; None if there is none."""
    return _FAMILIES.get(mapping) if isinstance(mapping, str) else None


def _read(value: Any) -> FtlConfig:
    """Convert a mapping of fields, or a ready model, to the model of its family."""
    mapping = value.get("mapping", "page") if isinstance(value, dict) else getattr(value, "mapping", "page")
    model = ftl_model(mapping)
    if model is None:
        raise ValueError(f"has mapping {mapping!r:.60}; set one of {', '.join(sorted(_FAMILIES))}")
    return model.model_validate(value)


#: An FTL of any family; a configuration without `mapping` is of the page family.
AnyFtl = Annotated[SerializeAsAny[FtlConfig], PlainValidator(_read)]
