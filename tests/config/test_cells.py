"""Cells that wear out, as a part of a device: left out where they do not, checked where they do."""

from __future__ import annotations

import pytest

from ssdgym.config.device import load_device


def test_device_without_cells__reads_as_it_always_did() -> None:
    device = load_device("demo")
    assert device.cells is None
    assert "cells" not in device.model_dump() and "cells" not in device.model_dump(mode="json")


@pytest.mark.parametrize("capacity", ["fixed", "variant"])
def test_cells__dotted_fields_on_a_base(capacity: str) -> None:
    device = load_device({"base": "demo", "cells.endurance.mean": 50, "cells.capacity": capacity})
    assert device.cells is not None and device.cells.endurance.mean == 50
    assert load_device(device.model_dump(mode="json")) == device
