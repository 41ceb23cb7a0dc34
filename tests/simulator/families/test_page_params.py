"""Constants of page-mapped devices that share a steady state: they differ in nothing but how time passes."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
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
        names = [name for name in params.dtype.names or () if name not in OF_TIME]
        found.append({name: params[name].tolist() for name in names})
    assert found[0] == found[1]


def test_aligned_rows__with_the_placement_that_a_policy_brings() -> None:
    ftl = {"multi_plane_rows": "aligned"}
    simulator = Simulator("shin-3d6", policy="greedy+sep_gc", ftl=ftl)
    assert simulator.arrays.params["aligned_rows"][0, 0] == 1
    with pytest.raises(SsdgymError, match="choose the placement sep_gc, not single"):
        Simulator("shin-3d6", policy="greedy+single", ftl=ftl)


@pytest.mark.parametrize(
    ("rows", "most"),
    [({}, 0), ({"multi_plane_rows": "pad"}, 767), ({"multi_plane_rows": "pad", "pad_limit": 8}, 8)],
)
def test_padding__without_a_limit__by_all_pages_but_one_of_a_block(rows: dict[str, Any], most: int) -> None:
    simulator = Simulator("shin-3d6", ftl=rows)
    assert simulator.arrays.params["pad_limit"][0, 0] == most
