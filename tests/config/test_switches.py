"""Switches of the page family in which simulators differ: what goes together, and what devices need."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError

WIDE = {"geometry.planes_per_die": 2, "multi_plane": "relaxed"}


@pytest.mark.parametrize(
    "fields",
    [
        {"ftl.write_completes": "transfer", "ftl.gc.start": "queue_empty"},
        {"ftl.gc.background_fraction": 0.2, "ftl.gc.grain": "round"},
        {**WIDE, "ftl.multi_plane_reads": True},
        {**WIDE, "ftl.multi_plane_writes": True, "ftl.multi_plane_rows": "pad", "ftl.pad_limit": 4},
    ],
)
def test_switches__that_go_together__are_accepted(fields: dict[str, Any]) -> None:
    assert load_device({"base": "demo", **fields}).ftl.mapping == "page"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ftl.gc.grain": "round", "ftl.gc.preemptible": True}, "knows neither idle nor preemptible"),
        ({"ftl.multi_plane_reads": True}, "multi_plane_reads needs multi_plane strict or relaxed"),
        ({"ftl.pad_limit": 4}, "pad_limit is for ftl.multi_plane_rows pad"),
        ({**WIDE, "ftl.multi_plane_rows": "pad", "ftl.pad_limit": 4}, "needs ftl.multi_plane_writes"),
        (
            {**WIDE, "ftl.multi_plane_writes": True, "ftl.multi_plane_rows": "pad"},
            r"pad_limit = 0 must be from 1 to \d+",
        ),
    ],
)
def test_switches__that_do_not__are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        load_device({"base": "demo", **fields})
