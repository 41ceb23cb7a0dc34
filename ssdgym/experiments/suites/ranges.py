"""Ranges around a suite that trainings draw devices from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ssdgym.config.device import load_device
from ssdgym.config.fields import with_changes
from ssdgym.config.loading import Config
from ssdgym.experiments.runs.config import EachOnce, Named, Scalar
from ssdgym.experiments.suites.config import SuiteConfig


class RangesConfig(Config):
    """What devices and workloads of a training are drawn from, beside those of its suite."""

    shapes: tuple[dict[str, Scalar], ...] = Field(
        ({},), min_length=1, description="fields of the device, dotted, that are drawn together"
    )
    vary: dict[str, Annotated[tuple[Scalar, ...], Field(min_length=1)]] = Field(
        {}, description="fields of the device and values to draw from; {}: those that the suite varies"
    )
    workloads: Annotated[tuple[Named, ...], EachOnce] = Field(
        (), description="drawn besides the training split; none may be in another split"
    )


def draw_device(
    suite: SuiteConfig, ranges: RangesConfig, rng: np.random.Generator
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Draw a device, and one of the suite's changes of its FTL.

    Args:
        suite: whose devices are changed.
        ranges: by what.
        rng: draws.

    Returns:
        The fields of the device, and of its FTL those that are others.

    Raises:
        SsdgymError: the suite names a device that does not exist.
    """
    shape = ranges.shapes[int(rng.integers(len(ranges.shapes)))]
    vary = ranges.vary or suite.vary
    drawn = {name: values[int(rng.integers(len(values)))] for name, values in vary.items()}
    device = device_of(suite, int(rng.integers(len(suite.devices))), {**shape, **drawn})
    return device, suite.ftls[int(rng.integers(len(suite.ftls)))]


def devices_of(suite: SuiteConfig) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Yield every device that a suite plays, and changes of its FTL, as `draw_device` returns them.

    Args:
        suite: that has them.

    Raises:
        SsdgymError: a device does not exist.
    """
    for number in range(len(suite.devices)):
        for values in itertools.product(*suite.vary.values()):
            device = device_of(suite, number, dict(zip(suite.vary, values, strict=True)))
            for ftl in suite.ftls:
                yield device, ftl


def device_of(suite: SuiteConfig, number: int, changes: Mapping[str, Scalar]) -> dict[str, Any]:
    """Return the fields of a device of a suite with others in their places.

    Args:
        suite: that has it.
        number: of the device.
        changes: by dotted names.

    Raises:
        SsdgymError: the device does not exist.
    """
    fields = load_device(suite.devices[number]).model_dump(exclude_unset=True)
    return with_changes(fields, changes)
