"""Registry of the kinds of workload, and fields that hold one of any kind.

A kind is a model that derives from `WorkloadConfig`, with a field `kind` whose only value is its name:

    @workload_kind
    class EveryOtherConfig(AccessConfig):
        kind: Literal["every_other"] = "every_other"

Those of installed packages are found by entry points of the group `ssdgym.patterns`, which name the module
or the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeVar, Union

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.registry import Registry, caller

KindT = TypeVar("KindT", bound=WorkloadConfig)

_KINDS: Registry[type[WorkloadConfig]] = Registry("workload kind", "ssdgym.patterns")


def workload_kind(model: type[KindT]) -> type[KindT]:
    """Register the decorated model under the value of its field `kind`.

    Raises:
        SsdgymError: another model has that kind.
    """
    name = model.model_fields["kind"].default
    _KINDS.register(name, model, caller())
    return model


def code_hashes(config: WorkloadConfig) -> list[str]:
    """Return a hash of each source outside of ssdgym that the requests of a workload depend on."""
    hashes = {digest for part in config.parts() for digest in code_hashes(part)}
    return sorted({*hashes, *config.code_hashes(), *_KINDS.code_hashes(config.kind)})


def adapter_of(base: type[Any], but: str | None = None) -> TypeAdapter[Any]:
    """Return what checks data as one of the kinds.

    Args:
        base: the kinds that derive from this model.
        but: leave this kind out.
    """
    models = [model for kind, model in _KINDS.by_name().items() if kind != but and issubclass(model, base)]
    return _adapter(tuple(models))


@lru_cache
def _adapter(models: tuple[type[Any], ...]) -> TypeAdapter[Any]:
    of_a_kind = Annotated[Union[models], Field(discriminator="kind")]  # type: ignore[valid-type] # noqa: UP007
    return TypeAdapter(of_a_kind)


@dataclass(frozen=True)
class OfAnyKind:
    """Annotation of a field that takes every kind that derives from the annotated model.

    Kinds that are registered after the model with the field has been defined are taken, too.

    Attributes:
        but: a kind that the field does not take.
    """

    but: str | None = None

    def __get_pydantic_core_schema__(
        self, source: type[WorkloadConfig], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema for pydantic."""
        return core_schema.no_info_plain_validator_function(
            lambda value: adapter_of(source, self.but).validate_python(value)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema: an object with a kind, as the kinds may grow."""
        return {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
