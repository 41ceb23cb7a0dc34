"""Profiles: what another simulator does, as values for the fields of the page family that are left open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from ssdgym.config.loading import Config
from ssdgym.enums import Allocation, GcGrain, GcStart, PlaneRows, WriteCompletes

ModelT = TypeVar("ModelT", bound=Config)

#: Names of profiles.
ProfileName = Literal["ssdsim"]
#: What a profile may set: fields of the FTL, and of its `gc`.
FIELDS = ("write_completes", "multi_plane_rows", "pad_limit", "multi_plane_reads")
GC_FIELDS = ("start", "grain")


def ssdsim(
    allocation: Allocation, *, in_background: bool, pad_limit: int, multi_plane: bool
) -> dict[str, Any]:
    """Return what SSDsim does (Hu et al., ICS 2011; version 2.1 as published), for each field.

    Args:
        allocation: when a write is bound to its die.
        in_background: whether idle dies collect planes below a share of free pages.
        pad_limit: most pages by which a plane can be padded; 0 where none may be.
        multi_plane: whether the device has commands of several planes.
    """
    gc: dict[str, Any] = {}
    # With all writes in one queue, SSDsim collects first; else when its channel has no request.
    if allocation != Allocation.LATE:
        gc["start"] = GcStart.QUEUE_EMPTY
    if in_background:  # it creates uninterruptible operations only
        gc["grain"] = GcGrain.ROUND
    # Its make_same_level pads by whatever it takes.
    padding = {"multi_plane_rows": PlaneRows.PAD, "pad_limit": pad_limit} if pad_limit else {}
    return {
        "write_completes": WriteCompletes.TRANSFER,
        **padding,
        **({"multi_plane_reads": True} if multi_plane else {}),
        "gc": gc,
    }


def filled(model: ModelT, values: Mapping[str, Any]) -> ModelT:
    """Return a model with values in the fields that were not given; they go on to count as not given.

    Args:
        model: the fields that were given, and defaults.
        values: by name; of a part, a mapping.
    """
    own = {}
    for name, value in values.items():
        part = getattr(model, name)
        if isinstance(part, Config):
            own[name] = filled(part, value)
        elif name not in model.model_fields_set:
            own[name] = value
    made = type(model).model_construct(set(model.model_fields_set), **{**dict(model), **own})
    return cast(ModelT, made)
