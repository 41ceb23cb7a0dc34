"""Models of what can be done to the records of a trace before they are played."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PositiveInt, TypeAdapter

from ssdgym.config.loading import Config, load_config, parse_mapping
from ssdgym.errors import SsdgymError


def _as_tuple(value: Any) -> Any:
    """Let one value stand for a list of one; volumes may have numbers for names."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return tuple(str(item) if type(item) is int else item for item in values)


class VolumesConfig(Config):
    """Keep the requests of some volumes (LUNs, disks, files) only."""

    kind: Literal["volumes"] = "volumes"
    keep: Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple)] = Field(
        description="Names of the volumes, as `ssdgym trace info` prints them; one or a list. In YAML, put"
        " those that are numbers in quotes."
    )


class OnlyConfig(Config):
    """Keep the requests of some operations only; ``only(ops=write)`` makes a trace write-only."""

    kind: Literal["only"] = "only"
    ops: Annotated[
        tuple[Literal["read", "write", "trim", "flush"], ...],
        Field(min_length=1),
        BeforeValidator(_as_tuple),
    ] = Field(description="One operation or a list.")


class HeadConfig(Config):
    """Keep the first so many requests."""

    kind: Literal["head"] = "head"
    requests: PositiveInt = Field(description="How many.")


class ScaleTimeConfig(Config):
    """Multiply all arrival times: below 1 the trace is played faster than it was recorded."""

    kind: Literal["scale_time"] = "scale_time"
    factor: float = Field(gt=0, le=1e6, description="New gap between arrivals over the old one.")


class AlignConfig(Config):
    """Move the ends of every request to multiples of a unit.

    Without it, a write of part of a page makes the device read the rest of that page first.
    """

    kind: Literal["align"] = "align"
    unit_bytes: PositiveInt = Field(4096, le=1 << 30, description="The unit: the page size, for example.")
    partial: Literal["grow", "drop"] = Field(
        "grow",
        description="Units touched in part: grow takes them in whole; drop leaves them out, and requests"
        " of which nothing is left with them. Trims never grow.",
    )


TransformConfig = VolumesConfig | OnlyConfig | HeadConfig | ScaleTimeConfig | AlignConfig
AnyTransformConfig = Annotated[TransformConfig, Field(discriminator="kind")]

_ADAPTER: TypeAdapter[TransformConfig] = TypeAdapter(AnyTransformConfig)
_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def parse_transform(text: str) -> TransformConfig:
    """Return the transform written as ``kind(field=value, ...)``, values as in YAML.

    Raises:
        SsdgymError: it is not written so, or is no transform.
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise SsdgymError(
            f"transform {text!r}: write it as head(requests=1000) or volumes(keep=[hm_0, hm_1])."
        )
    # Not within a list, where = may be part of a name.
    fields = re.sub(r"(^|,)(\s*\w+)\s*=\s*(?![^\[]*\])", r"\1\2: ", match[2] or "")
    try:
        data = parse_mapping("{" + fields + "}", "", as_texts=True)
        if "kind" in data:
            raise SsdgymError(": its kind is the word before the bracket; leave the field kind out.")
        return load_config(_ADAPTER, {**data, "kind": match[1]}, "transforms")
    except SsdgymError as error:
        raise SsdgymError(f"transform {text!r}: {str(error).partition(': ')[2]}") from None
