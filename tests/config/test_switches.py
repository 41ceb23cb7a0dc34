"""Switches of the page family in which simulators differ: what goes together, and what devices need."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import load_device

WIDE = {"geometry.planes_per_die": 2, "multi_plane": "relaxed"}
JOINING = {**WIDE, "ftl.multi_plane_writes": True}
ALIGNED = {**JOINING, "ftl.multi_plane_rows": "aligned", "ftl.allocation": "late"}


@pytest.mark.parametrize(
    "fields",
    [
        {"ftl.write_completes": "transfer", "ftl.gc.start": "queue_empty"},
        {"ftl.gc.background_fraction": 0.2, "ftl.gc.grain": "round"},
        {**WIDE, "ftl.multi_plane_reads": True},
        {**JOINING, "ftl.multi_plane_rows": "pad"},
        {**JOINING, "ftl.multi_plane_rows": "pad", "ftl.pad_limit": 4},
        ALIGNED,
        {**ALIGNED, "ftl.allocation": "dynamic"},
    ],
)
def test_switches__that_go_together__are_accepted(fields: dict[str, Any]) -> None:
    assert load_device({"base": "demo", **fields}).ftl.mapping == "page"


def test_switches__of_a_device_that_names_none__are_off() -> None:
    assert load_device("demo").ftl.multi_plane_rows == "any"
