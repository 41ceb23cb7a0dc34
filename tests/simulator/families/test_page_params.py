"""Constants of page-mapped devices that share a steady state: they differ in nothing but how time passes."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import load_device
from ssdgym.simulator import Recording
from ssdgym.simulator.build import make_state

#: Constants that say how time passes, or how much may wait.
OF_TIME = {"timed", "queue_depth", "window_pages"}


@pytest.mark.parametrize("mode", ["barrier", "per_write"])
@pytest.mark.parametrize("start", ["at_once", "queue_empty"])
def test_params__do_not_depend_on_timing(start: str, mode: str) -> None:
    found: list[dict[str, Any]] = []
    for timing in ("none", "event"):
        fields = {"ftl.timing": timing, "ftl.gc.start": start, "ftl.gc.mode": mode}
        device = load_device({"base": "demo", **fields})
        params = make_state([device], [0], Recording()).params[0, 0]
        found.append({name: params[name].item() for name in params.dtype.names or () if name not in OF_TIME})
    assert found[0] == found[1]
