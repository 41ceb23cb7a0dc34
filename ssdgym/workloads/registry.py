"""Registries of named objects, to which installed packages can add; the registry of kinds of workloads."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, Union

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.own_code import plugins_of
from ssdgym.workloads.base import WorkloadConfig

ThingT = TypeVar("ThingT")

_PACKAGE = Path(__file__).parents[1]


class Registry(Generic[ThingT]):
    """Registered objects by name: those of ssdgym, and those of packages with entry points.

    `what` names an object in errors; `group` is the group of entry points.
    """

    def __init__(self, what: str, group: str) -> None:
        self._what = what
        self._group = group
        #: Each object, with the name and the file of the module that registered it.
        self._things: dict[str, tuple[ThingT, str, str]] = {}
        self._is_complete = False

    def register(self, name: str, thing: ThingT) -> None:
        """Register an object under a name, on behalf of the module that called the caller of this method.

        Raises:
            SsdgymError: another module has registered the name.
        """
        frame = sys._getframe(2)
        module = frame.f_globals.get("__name__", "")
        if name in self._things and self._things[name][1] != module:
            raise SsdgymError(f"the {self._what} {name} is registered already; choose another name.")
        self._things[name] = thing, module, frame.f_code.co_filename

    def code_hashes(self, name: str) -> list[str]:
        """Return the hash of the file that registered a name; none if it is a file of ssdgym or unknown."""
        file = Path(self._things[name][2]) if name in self._things else _PACKAGE
        if file.is_relative_to(_PACKAGE):
            return []
        # The cell of a notebook is no file, but has a name that changes with the cell's code.
        return [file_hash(file) if file.is_file() else hashlib.sha256(str(file).encode()).hexdigest()]

    def by_name(self) -> dict[str, ThingT]:
        """Return all registered objects, sorted by name; the first call loads the entry points."""
        if not self._is_complete:
            self._is_complete = True
            for plugin in plugins_of(self._group):
                plugin.load()
        return {name: thing for name, (thing, *_) in sorted(self._things.items())}


# Kinds of workloads. A kind is a model that derives from `WorkloadConfig`, with its own value of `kind`:
#
#     @workload_kind
#     class EveryOtherConfig(AccessConfig):
#         kind: Literal["every_other"] = "every_other"
#
# Installed packages register kinds by entry points of the group `ssdgym.patterns`, which name the module or
# the model.

KindT = TypeVar("KindT", bound=WorkloadConfig)

KINDS: Registry[type[WorkloadConfig]] = Registry("workload kind", "ssdgym.patterns")


def workload_kind(model: type[KindT]) -> type[KindT]:
    """Register the decorated model under the value of its field `kind`.

    Raises:
        SsdgymError: another model has the same kind.
    """
    KINDS.register(model.model_fields["kind"].default, model)
    return model


def code_hashes(config: WorkloadConfig) -> list[str]:
    """Return a hash of each source file outside of ssdgym that determines the requests of a workload."""
    hashes = {digest for part in config.parts() for digest in code_hashes(part)}
    return sorted({*hashes, *config.code_hashes(), *KINDS.code_hashes(config.kind)})


def adapter_of(base: type[Any], but: str | None = None) -> TypeAdapter[Any]:
    """Return a pydantic adapter that accepts all kinds derived from `base`, except the kind `but`."""
    models = [model for kind, model in KINDS.by_name().items() if kind != but and issubclass(model, base)]
    return _adapter(tuple(models))


@lru_cache
def _adapter(models: tuple[type[Any], ...]) -> TypeAdapter[Any]:
    of_a_kind = Annotated[Union[models], Field(discriminator="kind")]  # type: ignore[valid-type] # noqa: UP007
    return TypeAdapter(of_a_kind)


@dataclass(frozen=True)
class OfAnyKind:
    """Annotation of a field that accepts every kind of workload derived from the annotated model.

    Kinds that are registered later are also accepted.

    Attributes:
        but: a kind that the field does not accept; None: all are accepted.
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
        """Return the JSON schema: any object with a kind, because kinds can be added later."""
        return {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
