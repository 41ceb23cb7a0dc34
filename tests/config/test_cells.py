"""Cells that wear out, as a part of a device: left out where they do not, checked where they do."""

from __future__ import annotations

import pytest

from ssdgym.config.device import load_device


def test_device_without_cells__never_wears_out() -> None:
    assert load_device("demo").cells is None


@pytest.mark.parametrize("capacity", ["fixed", "variant"])
def test_cells__dotted_fields_on_a_base(capacity: str) -> None:
    device = load_device({"base": "demo", "cells.endurance.mean": 50, "cells.capacity": capacity})
    assert device.cells is not None and device.cells.endurance.mean == 50
    assert load_device(device.model_dump(mode="json")) == device
