"""What placements see of the request that a page of the host belongs to."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.policy import placement_policy
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator import Simulator
from tests.engine.devices import device


def by_hint(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
    """Follow the hint; 3 for long requests, 4 for relocated pages, 5 for what cannot be."""
    control = view.control[0]
    if source >= 0:
        return 4
    if not control.request_lpn <= lpn < control.request_lpn + control.request_pages:
        return 5
    return 3 if control.request_pages > 3 else control.request_hint


@pytest.mark.parametrize(
    "ftl",
    [
        {"timing": "none"},
        {"timing": "event"},
        {"timing": "event", "queue_depth": 4},
        {"timing": "event", "allocation": "late", "multi_plane_writes": True},
    ],
)
def test_request__seen_with_each_of_its_pages(ftl: dict) -> None:
    placement_policy("by_hint", source="a test", streams=6, relocation_streams=1)(by_hint)
    config = device(
        {"blocks_per_plane": 96, "planes_per_die": 2}, ftl, multi_plane="strict", over_provisioning=1.0
    )
    sim = Simulator(config, policy="greedy+by_hint")
    rng = np.random.default_rng(3)
    requests = np.zeros(4000, REQUEST)
    requests["op"] = WRITE
    requests["pages"] = rng.integers(1, 6, len(requests))
    requests["lpn"] = rng.integers(0, sim.logical_pages - 6, len(requests))
    requests["hint"] = rng.integers(0, 3, len(requests))
    requests["arrival_ns"] = np.arange(len(requests)) * 500
    streams = sim.run(requests)["streams"]
    expected = [
        int(requests["pages"][(requests["hint"] == k) & (requests["pages"] <= 3)].sum()) for k in range(3)
    ]
    expected.append(int(requests["pages"][requests["pages"] > 3].sum()))
    assert [streams[str(k)]["host_pages_written"] for k in range(6)] == [*expected, 0, 0]
    assert streams["4"]["relocated_pages"] == sim.metrics()["relocated_pages"] > 0
