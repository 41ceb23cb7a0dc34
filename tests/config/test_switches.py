"""Switches of the page family in which simulators differ: what goes together, and what devices need."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError

WIDE = {"geometry.planes_per_die": 2, "multi_plane": "relaxed"}
JOINING = {**WIDE, "ftl.multi_plane_writes": True}
ALIGNED = {**JOINING, "ftl.multi_plane_rows": "aligned", "ftl.allocation": "late"}


@pytest.mark.parametrize(
    "fields",
    [
        {"ftl.write_completes": "transfer", "ftl.gc.start": "queue_empty"},
        {"ftl.gc.background_fraction": 0.2, "ftl.gc.grain": "round"},
        {**WIDE, "ftl.multi_plane_reads": True},
        {**JOINING, "ftl.multi_plane_rows": "pad", "ftl.pad_limit": 4},
        ALIGNED,
        {**ALIGNED, "ftl.allocation": "dynamic"},
    ],
)
def test_switches__that_go_together__are_accepted(fields: dict[str, Any]) -> None:
    assert load_device({"base": "demo", **fields}).ftl.mapping == "page"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ftl.gc.grain": "round", "ftl.gc.preemptible": True}, "has neither idle nor preemptible"),
        ({"ftl.multi_plane_reads": True}, "multi_plane_reads needs multi_plane strict or relaxed"),
        ({"ftl.pad_limit": 4}, "pad_limit is for ftl.multi_plane_rows pad"),
        ({**WIDE, "ftl.multi_plane_rows": "pad", "ftl.pad_limit": 4}, "needs ftl.multi_plane_writes"),
        (
            {**JOINING, "ftl.multi_plane_rows": "pad"},
            r"pad_limit = 0 must be from 1 to \d+",
        ),
        (
            {**JOINING, "ftl.multi_plane_rows": "pad", "geometry.pages_per_block": 64, "ftl.pad_limit": 64},
            "pad_limit = 64 must be from 1 to 63",
        ),
        ({**ALIGNED, "ftl.multi_plane_writes": False}, "aligned needs ftl.multi_plane_writes; set it"),
        ({**ALIGNED, "ftl.allocation": "static"}, "set ftl.allocation to dynamic or late, not static"),
        ({**ALIGNED, "ftl.pad_limit": 4}, "pad_limit is for ftl.multi_plane_rows pad"),
        (
            {**ALIGNED, "geometry.sub_blocks_per_block": 2},
            "aligned needs blocks that are written from one end to the other",
        ),
    ],
)
def test_switches__that_do_not__are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        load_device({"base": "demo", **fields})


def test_switches__of_a_device_that_names_none__are_off() -> None:
    assert load_device("demo").ftl.multi_plane_rows == "any"
