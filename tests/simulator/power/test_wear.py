"""Power cuts of the page family where cells wear out: what has been lost stays lost, and no page with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.records import INDEXED, OPEN, POOLED, RETIRED, WORN
from ssdgym.engine.core.status import END_OF_LIFE
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.power import page
from tests.engine.audit import NO_FAULT, RETIRED_BLOCKS, first_fault
from tests.engine.devices import device, full_device, mixed_requests, random_writes
from tests.engine.drawing import configs
from tests.engine.oracle import ALLOCATIONS, LEVELLINGS, NEEDS, device_config
from tests.simulator.power.cutting import (
    checked_cut,
    cut_everywhere,
    drawn_requests,
    four_cuts,
    lost_to_host,
    mapped_versions,
    stops,
    worn_table,
)

_RECORDING = Recording(latencies=1 << 9, slowest=1)
_BOTH = pytest.mark.parametrize("timing", ["none", "event"])
_FIXED = {"endurance": {"mean": 12, "spread": 0.3}, "erase_failure": {"worn": 0.05}}
_FAILING = {
    **_FIXED,
    "program_failure": {"fresh": 0.002, "worn": 0.02},
    "capacity": "variant",
    "least_capacity": 0.5,
}
_SUB_BLOCKS = {"sub_blocks_per_block": 4, "layers_per_block": 4}


def worn(timing: str, policy: str = "greedy", lost: int = 2, **fields: Any) -> Simulator:
    """A full device that has lost so many blocks, and lives."""
    geometry = {"blocks_per_plane": 16, **fields.pop("geometry", {})}
    fields = {"over_provisioning": 1.2, "cells": _FAILING, **fields}
    ftl = {"timing": timing, **fields.pop("ftl", {})}
    sim = Simulator(device(geometry, ftl, **fields), policy=policy, seed=3, recording=_RECORDING)
    sim.fill()
    for k in range(400):
        if sim.metrics()["lifetime"]["retired_blocks"] >= lost:
            break
        sim.run(random_writes(20, least_of(sim), seed=k))
    assert not sim.metrics()["end_of_life"] and sim.metrics()["lifetime"]["retired_blocks"] >= lost
    sim.reset_metrics()
    return sim


def least_of(sim: Simulator) -> int:
    """The logical pages that a device keeps as long as it lives."""
    return max(int(sim.state.params["least_capacity"][0, 0]), 1)


@_BOTH
@pytest.mark.parametrize("policy", ["greedy", "cost_benefit+sep_gc"])
def test_cuts_at_every_program_and_erase__lose_nothing(timing: str, policy: str) -> None:
    sim = worn(timing, policy)
    requests = mixed_requests(60, least_of(sim), seed=2, gap_ns=300)
    requests["arrival_ns"] += sim.now_ns
    cuts, lost, reported = cut_everywhere(sim, requests, every=2)
    assert cuts > 60 and lost == reported == 0


@_BOTH
def test_a_worn_block_that_was_half_emptied__is_emptied_and_retired__and_nothing_is_written_to_it(
    timing: str,
) -> None:
    cells = {"endurance": {"mean": 10, "spread": 0.4}, "erase_failure": {"fresh": 0.02, "worn": 0.2}}
    fields = {"geometry": _SUB_BLOCKS, "erase_unit": "sub_block_set", "over_provisioning": 2.0}
    sim = worn(timing, "pb", 1, cells=cells, **fields)
    found = 0
    for _ in stops(sim, random_writes(400, sim.logical_pages, seed=9)):
        status = sim.state.block["status"][0]
        halves = np.flatnonzero((status & WORN != 0) & (status & (OPEN | INDEXED | POOLED | RETIRED) == 0))
        written = sim.state.sub_block["written"][0].reshape(len(status), -1)
        halves = halves[(written[halves] == 0).any(axis=1)]
        if not len(halves):
            continue
        saved, found, before = sim.snapshot(), found + 1, written[halves].copy()
        checked_cut(sim)
        sim.run(random_writes(60, sim.logical_pages, seed=found))
        assert first_fault(sim.arrays, 0) == NO_FAULT and sim.metrics()["lost_pages"] == 0
        after = sim.state.sub_block["written"][0].reshape(len(status), -1)[halves]
        assert (after <= before).all()
        assert (sim.state.block["status"][0, halves] & RETIRED).all() or sim.metrics()["end_of_life"]
        sim.restore(saved)
    assert found > 0


def test_room_in_the_open_block_of_levelling__is_used_before_pages_are_lost() -> None:
    """Pages that found no room elsewhere were lost."""
    cells = {"endurance": {"mean": 5, "spread": 0.3}, "program_failure": {"fresh": 0.02, "worn": 0.3}}
    config = full_device(
        {"channels": 1, "planes_per_die": 4, "blocks_per_plane": 8, "pages_per_block": 4},
        {"allocation": "dynamic", "placement": "single", "levelling": "dual_pool(threshold=1)"},
        cells=cells | {"capacity": "variant", "least_capacity": 0.3},
    )
    sim = Simulator(config, policy="random", seed=37, recording=_RECORDING)
    sim.fill()
    cuts, lost, reported = cut_everywhere(sim, random_writes(60, least_of(sim), seed=37), every=1)
    assert cuts > 60 and lost == reported == 0


@_BOTH
def test_blocks_and_pages_given_up__stay_so(timing: str) -> None:
    sim = worn(timing, lost=4)
    left, table = sim.metrics()["lifetime"]["logical_pages_left"], worn_table(sim)
    assert least_of(sim) <= left < sim.logical_pages and len(table.retired) >= 4
    checked_cut(sim)
    assert worn_table(sim).retired >= table.retired
    assert sim.metrics()["lifetime"]["logical_pages_left"] == left
    assert np.flatnonzero(mapped_versions(sim)).max() < left
    sim.run(random_writes(300, sim.logical_pages))
    assert first_fault(sim.arrays, 0) == NO_FAULT and sim.metrics()["lost_pages"] == 0


@_BOTH
def test_the_end_of_a_life__stays__and_all_pages_can_be_read(timing: str) -> None:
    sim = worn(timing, lost=1, cells=_FIXED)
    assert sim.run(random_writes(20_000, sim.logical_pages))["end_of_life"]
    before = np.flatnonzero(mapped_versions(sim))
    checked_cut(sim, capacitors=True)
    assert sim.metrics()["end_of_life"] and sim.advance() == END_OF_LIFE
    assert np.isin(before, np.flatnonzero(mapped_versions(sim))).all()


def test_a_recovery_without_the_table__is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail."""
    sim = worn("none")
    monkeypatch.setattr(page, "worn_blocks", lambda state, i, count: np.zeros(count, np.uint8))
    sim.cut_power()
    assert first_fault(sim.arrays, 0) == RETIRED_BLOCKS


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_device_that_wears_out__goes_on_after_cuts_at_any_instant(data: st.DataObject) -> None:
    policy = data.draw(st.sampled_from(["greedy", "random", "cost_benefit", "parallel_gc"]))
    fixed = NEEDS.get(policy, {}) | {"block_allocation": data.draw(st.sampled_from((None, *ALLOCATIONS)))}
    if levelling := data.draw(st.sampled_from((None, *LEVELLINGS))):
        fixed |= {"levelling": levelling, "placement": "sep_gc"}
    config = data.draw(configs(wears_out=True, **fixed))
    sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=_RECORDING)
    for cut in four_cuts(sim, data, drawn_requests(sim, data), most=300):
        if config.capacity == "fixed" and not config.write_buffer_pages and not config.erase_disturbs:
            assert len(lost_to_host(sim, cut.view)) <= cut.report.lost_pages
            assert not cut.capacitors or cut.report.lost_pages == 0
    assert sim.metrics()["lost_pages"] == 0
