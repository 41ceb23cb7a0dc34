"""Errors of reads, as a part of a device: left out where there are none, checked where there are."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError


def test_device_without_them__reads_as_it_always_did() -> None:
    device = load_device("demo")
    assert device.bit_errors is None
    assert "bit_errors" not in device.model_dump() and "bit_errors" not in device.model_dump(mode="json")


def test_bundled_device__dotted_fields_on_it() -> None:
    device = load_device({"base": "aging-small", "bit_errors.refresh_above": 0.005})
    assert device.bit_errors is not None and device.bit_errors.refresh_above == 0.005
    assert device.bit_errors.retries == 3
    assert load_device(device.model_dump(mode="json")) == device


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("limits", [0.002, 0.002], r"limits = \[0.002, 0.002\] must rise from each to the next"),
        ("limits", [], r"bit_errors\.limits"),
        ("limits", [0.5, 1.5], r"bit_errors\.limits"),
        ("refresh_above", 0, r"bit_errors\.refresh_above"),
        ("time_unit", "year", r"bit_errors\.time_unit"),
        ("retention.time", 0, r"bit_errors\.retention\.time"),
    ],
)
def test_wrong_field__is_named(field: str, value: Any, reason: str) -> None:
    with pytest.raises(SsdgymError, match=reason):
        load_device({"base": "aging-small", f"bit_errors.{field}": value})


@pytest.mark.parametrize("field", ["base", "wear", "retention", "disturb", "time_unit", "reads_of", "limits"])
def test_constants__stand_in_the_device_alone(field: str) -> None:
    errors = load_device("aging-small").model_dump(mode="json")["bit_errors"]
    del errors[field]
    with pytest.raises(SsdgymError, match=rf"bit_errors\.{field} is missing"):
        load_device({"base": "demo", "bit_errors": errors})
