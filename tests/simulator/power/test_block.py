"""Power cuts of the block family: at every program and erase, without time and in time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.requests import TRIM
from ssdgym.simulator import Recording, Simulator
from tests.engine.blocks import configs, device_config
from tests.engine.devices import mixed_requests
from tests.simulator.power.cutting import (
    checked_cut,
    cut_everywhere,
    drawn_requests,
    four_cuts,
    lost_to_host,
    mapped_versions,
)

_RECORDING = Recording(latencies=1 << 9, slowest=1)
RULES = [("nftl", "merge"), ("nftl", "mmerge"), ("superblock", "merge"), ("superblock", "mmerge")]


def device(
    kind: str, timing: str = "none", cells: dict[str, Any] | None = None, spare: int = 0, **gc: Any
) -> DeviceConfig:
    """Two planes of 9 blocks of 8 pages, which are erased by halves, too, and so many spare ones."""
    return load_device(
        {
            "name": "few",
            "geometry": {
                "channels": 2,
                "blocks_per_plane": 9 + spare,
                "pages_per_block": 8,
                "sub_blocks_per_block": 2,
                "page_size_bytes": 4096,
            },
            "capacity": {"logical_pages": 2 * 6 * 8},
            "cells": cells,
            "erase_unit": "sub_block_run",
            "timing": {"read_ns": 50, "program_ns": 600, "erase_ns": 900, "transfer_ns_per_byte": 0.01},
            "ftl": {
                "mapping": "block",
                "kind": kind,
                "timing": timing,
                "gc": {"mmerge_limit": 8, **gc},
                **({"logical_blocks": 2, "physical_blocks": 3} if kind == "superblock" else {}),
            },
        }
    )


def filled(kind: str, policy: str, timing: str) -> Simulator:
    sim = Simulator(device(kind, timing), policy=policy, seed=1, recording=_RECORDING)
    sim.fill()
    return sim


@pytest.mark.parametrize(("kind", "policy"), RULES)
@pytest.mark.parametrize("timing", ["none", "event"])
def test_a_cut_at_every_program_and_erase__loses_nothing(kind: str, policy: str, timing: str) -> None:
    """All copies of a page are on one die, which does one thing at a time."""
    sim = filled(kind, policy, timing)
    requests = mixed_requests(40, sim.logical_pages, seed=2, gap_ns=900)
    cuts, lost, reported = cut_everywhere(sim, requests)
    assert cuts > 60 and lost == reported == 0


def test_a_trim__is_a_hint() -> None:
    sim = filled("nftl", "merge", "none")
    requests = mixed_requests(1, sim.logical_pages)
    requests["op"], requests["lpn"], requests["pages"] = TRIM, 5, 1
    sim.feed(requests)
    sim.advance()
    assert mapped_versions(sim)[5] == 0
    assert sim.cut_power().trimmed_pages == 1
    assert mapped_versions(sim)[5] == 1


def test_a_merge_that_has_not_erased_anything__is_undone() -> None:
    sim = filled("nftl", "merge", "none")
    requests = mixed_requests(60, sim.logical_pages, seed=4)
    moved, erases = 0, 0
    sim.feed(requests)
    while not (moved and not erases):
        counters = sim.state.counters[0, 0]
        before = int(counters["relocated_pages"]), int(counters["erases"])
        sim.set_stop(1)
        sim.advance()
        moved = int(counters["relocated_pages"]) - before[0]
        erases = int(counters["erases"]) - before[1]
    report = checked_cut(sim)
    assert (report.moved_pages, report.erases) == (0, 1)
    assert sim.state.plane["pool_count"][0].sum() > 0


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_device__goes_on_after_cuts_at_any_instant(data: st.DataObject) -> None:
    config = data.draw(configs())
    policy = data.draw(st.sampled_from(["merge", "mmerge"]))
    sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=_RECORDING)
    spoils = config.disturb_tolerance is not None
    for cut in four_cuts(sim, data, drawn_requests(sim, data)):
        assert spoils or len(lost_to_host(sim, cut.view)) == cut.report.lost_pages == 0
    assert spoils or sim.metrics()["lost_pages"] == 0
