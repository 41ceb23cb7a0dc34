"""A device that is full to the last logical page runs on for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.policy import device_for
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.families.page import thresholds_of
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import POLICIES, device, full_device, mixed_requests, random_writes


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", ["barrier", "per_write"])
@pytest.mark.parametrize("allocation", ["static", "dynamic"])
@pytest.mark.parametrize("timing", ["none", "event"])
def test_full_device__random_overwrites__go_on(timing: str, allocation: str, mode: str, policy: str) -> None:
    config = full_device(
        {"planes_per_die": 2},
        {
            "timing": timing,
            "allocation": allocation,
            "window_pages": 8,
            "gc": {"mode": mode, "free_blocks": 2},
        },
    )
    sim = Simulator(config, policy=policy, recording=Recording(1, 16))
    sim.fill()
    mapped = sim.state.logical[0]["ppn"]
    assert mapped.min() >= 0
    overwrites = 20 * sim.logical_pages
    metrics = sim.run(random_writes(overwrites, sim.logical_pages))
    assert metrics["host_pages_written"] == overwrites
    assert metrics["write_amplification"] > 1
    assert metrics["lost_pages"] == 0
    assert len(np.unique(mapped)) == sim.logical_pages
    assert first_fault(sim.arrays, 0) == NO_FAULT


@pytest.mark.parametrize("placement", ["single", "sep_gc"])
@pytest.mark.parametrize("priority", ["first", "after_reads"])
@pytest.mark.parametrize("queue_depth", [0, 4], ids=["open loop", "closed loop"])
def test_full_device__reads_writes_trims_and_background_gc__go_on(
    queue_depth: int, priority: str, placement: str
) -> None:
    gc = {"free_fraction": 0.1, "background_fraction": 0.2, "priority": priority}
    ftl = {"timing": "event", "placement": placement, "queue_depth": queue_depth, "window_pages": 8, "gc": gc}
    sim = Simulator(full_device({"planes_per_die": 2}, ftl))
    sim.fill()
    metrics = sim.run(mixed_requests(6000, sim.logical_pages))
    assert metrics["requests"] == 6000
    assert metrics["lost_pages"] == 0
    assert metrics["read_latency_ns"]["count"] + metrics["write_latency_ns"]["count"] < 6000
    assert first_fault(sim.arrays, 0) == NO_FAULT


@pytest.mark.parametrize("allocation", ["static", "dynamic", "late"])
@pytest.mark.parametrize("placement", ["single", "sep_gc", "sepbit"])
@pytest.mark.parametrize("idle", ["threshold(blocks=40)", "idle_hazard(blocks=40)"])
def test_full_device__rounds_that_the_host_interrupts__never_out_of_space(
    idle: str, placement: str, allocation: str
) -> None:
    """As eager as can be: there is always a round under way, and no page to spare."""
    gc = {"free_blocks": 1, "preemptible": True, "idle": idle}
    geometry = {"planes_per_die": 2, "blocks_per_plane": 24, "pages_per_block": 4}
    ftl = {"timing": "event", "placement": placement, "allocation": allocation, "gc": gc}
    adapted = device_for(device(geometry, ftl, logical_pages=1))  # with the streams of the placement
    most = adapted.geometry.planes * thresholds_of(adapted)["valid_limit"] - (allocation != "static")
    sim = Simulator(device(geometry, ftl, logical_pages=most))
    sim.fill()
    metrics = sim.run(mixed_requests(20_000, sim.logical_pages, gap_ns=6000))
    assert metrics["requests"] == 20_000
    assert metrics["lost_pages"] == 0
    assert first_fault(sim.arrays, 0) == NO_FAULT


@pytest.mark.parametrize(
    ("gc", "allocation"),
    [
        pytest.param({"free_fraction": 0.4}, "static", id="share of pages"),
        pytest.param({"free_blocks": 8}, "static", id="blocks"),
        pytest.param({"free_blocks": 9}, "dynamic", id="dynamic"),
        pytest.param({"free_blocks": 9, "mode": "per_write"}, "static", id="one round per write"),
    ],
)
def test_threshold__a_full_device_cannot_reach__refused_at_construction(
    gc: dict[str, Any], allocation: str
) -> None:
    with pytest.raises(SsdgymError, match=r"the GC threshold \(field ftl\.gc\) cannot be reached") as caught:
        Simulator(device(ftl={"allocation": allocation, "gc": gc}))
    assert str(caught.value).endswith("lower the threshold, or raise over_provisioning.")


def test_threshold__background_gc__counts_too() -> None:
    gc = {"free_blocks": 2, "background_fraction": 0.5}
    with pytest.raises(SsdgymError, match=r"field ftl\.gc"):
        Simulator(device(ftl={"timing": "event", "gc": gc}))


@pytest.mark.parametrize("allocation", ["static", "dynamic"])
def test_full_device__one_page_more__refused(allocation: str) -> None:
    ftl = {"allocation": allocation}
    most = full_device(ftl=ftl).logical_pages
    with pytest.raises(SsdgymError, match="cannot be reached"):
        Simulator(device(ftl=ftl, logical_pages=most + 1))
