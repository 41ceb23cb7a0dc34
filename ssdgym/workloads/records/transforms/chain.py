"""All kinds of transform: one of any kind as text, and several on their way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, TypeAdapter

from ssdgym.config.loading import load_config
from ssdgym.config.yaml_text import parse_mapping
from ssdgym.errors import SsdgymError
from ssdgym.workloads.records.record import NO_RECORDS, Records, RecordSource
from ssdgym.workloads.records.transforms.base import Transform
from ssdgym.workloads.records.transforms.kinds import (
    AlignConfig,
    HeadConfig,
    OnlyConfig,
    ScaleTimeConfig,
    VolumesConfig,
)
from ssdgym.workloads.records.transforms.scale_space import ScaleSpaceConfig

TransformConfig = VolumesConfig | OnlyConfig | HeadConfig | ScaleTimeConfig | ScaleSpaceConfig | AlignConfig
AnyTransformConfig = Annotated[TransformConfig, Field(discriminator="kind")]


class Transformed:
    """A source whose records have gone through transforms; see `RecordSource`."""

    def __init__(self, source: RecordSource, configs: Sequence[TransformConfig]) -> None:
        """Start with the first record.

        Args:
            source: the records before.
            configs: the transforms, in this order.

        Raises:
            SsdgymError: a transform does not fit the volumes.
        """
        self._source = source
        self._transforms: list[Transform] = []
        self.volumes = source.volumes
        for config in configs:
            self._transforms.append(config.start(self.volumes))
            self.volumes = self._transforms[-1].volumes

    def chunk(self) -> Records:
        """See `RecordSource`."""
        while not any(transform.is_finished for transform in self._transforms):
            records = self._source.chunk()
            if not len(records):
                break
            for transform in self._transforms:
                if not len(records):
                    break
                records = transform(records)
            if len(records):
                return records
        return NO_RECORDS


_ADAPTER: TypeAdapter[TransformConfig] = TypeAdapter(AnyTransformConfig)
_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def parse_transform(text: str) -> TransformConfig:
    """Return the transform written as `kind(field=value, ...)`, values as in YAML.

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
