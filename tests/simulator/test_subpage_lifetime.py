"""The life of a device of the sub-page family: how long it is, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.engine.core.records import POOLED, RETIRED
from ssdgym.engine.core.status import END_OF_LIFE
from ssdgym.requests import SYNC, WRITE
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import requests
from tests.simulator.test_subpage import KINDS, TIMINGS, mixed, small_writes

ERASES = {"endurance": {"mean": 12, "spread": 0.3}}
FTLS: dict[str, dict[str, Any]] = {
    "cgm": {"kind": "cgm"},
    "fgm": {"kind": "fgm"},
    "sector_log": {"kind": "sector_log"},
    "subftl": {"kind": "subftl"},
    "never": {"kind": "subftl", "advance": "never"},
    "fewest_valid": {"kind": "subftl", "rule": "fewest_valid"},
    "exchanges": {"kind": "subftl", "wear_gap": 2},
}
VICTIMS = ("random", "fifo", "d_choices(d=3)", "windowed_greedy(window=4)", "cost_benefit")


def tiny(ftl: dict[str, Any], cells: dict[str, Any], pages: int = 2200, **fields: Any) -> DeviceConfig:
    """Two planes of 32 blocks of 16 pages of 4 subpages, of which 2,200 hold data."""
    return load_device(
        {"base": "subftl-tiny", "capacity.logical_pages": pages, "cells": cells, "ftl": ftl, **fields}
    )


def of(name: str, timing: str = "none", **cells: Any) -> DeviceConfig:
    return tiny({**FTLS[name], "timing": timing}, ERASES | cells)


def lived(config: DeviceConfig, policy: str = "greedy", most: int = 9) -> tuple[Simulator, dict[str, Any]]:
    """A filled device after mixed requests to its end."""
    sim = Simulator(config, policy=policy, recording=Recording(1, 1))
    sim.fill()
    metrics: dict[str, Any] = {"end_of_life": False}
    for seed in range(100):
        if not metrics["end_of_life"]:
            metrics = sim.run(mixed(3_000, sim.logical_pages, seed, most=most))
    return sim, metrics


def group_writes(count: int, pages: int) -> np.ndarray:
    """Writes of whole random groups."""
    groups = np.random.default_rng(0).integers(0, pages // 4, count)
    return requests(*((WRITE, 4 * int(group), 4, 0) for group in groups))


@pytest.mark.parametrize("kind", ["cgm", "fgm"])
def test_equal_endurance__level_wear__the_host_writes_all_of_it_by_the_write_amplification(kind: str) -> None:
    config = tiny({"kind": kind}, {"endurance": {"mean": 100}}, 2048, **{"geometry.blocks_per_plane": 64})
    sim = Simulator(config, policy="fifo", recording=Recording(1, 1))
    sim.fill()
    metrics = sim.run(group_writes(300_000, sim.logical_pages))
    life, endured = metrics["lifetime"], 100 * 4 * config.geometry.physical_pages
    assert metrics["end_of_life"] and metrics["lost_pages"] == 0
    assert life["host_pages_written"] == pytest.approx(endured / metrics["write_amplification"], rel=0.01)
    assert life["endurance_used"] == pytest.approx(1, abs=0.01) and life["max_erases"] == 100
    assert life["endurance_per_host_page"] == endured / life["host_pages_written"]


@pytest.mark.parametrize("name", [name for name in FTLS if name != "never"])
def test_equal_endurance__wear_as_it_is__the_host_writes_what_is_used_of_it(name: str) -> None:
    """A region wears faster than the rest; each erase stands for as many subpages, in all passes together."""
    sim, metrics = lived(tiny(FTLS[name], {"endurance": {"mean": 100}}))
    life, endured = metrics["lifetime"], 100 * 4 * sim.device.geometry.physical_pages
    used = life["endurance_used"] * endured
    assert metrics["end_of_life"] and life["pages_programmed"] == pytest.approx(used, rel=0.03)
    programmed = 4 * metrics["full_programs"] + metrics["subpage_programs"]
    assert metrics["write_amplification"] == programmed / metrics["host_pages_written"]


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("capacity", ["fixed", "variant"])
@pytest.mark.parametrize("name", FTLS)
def test_end_of_life__nothing_is_lost_and_nothing_goes_on(name: str, capacity: str, timing: str) -> None:
    sim, metrics = lived(of(name, timing, capacity=capacity))
    life, retired = metrics["lifetime"], sim.state.block["status"][0] & RETIRED != 0
    assert metrics["end_of_life"] and metrics["lost_pages"] == 0
    assert life["retired_blocks"] == retired.sum() > 0
    assert first_fault(sim.arrays, 0) == NO_FAULT
    left = life["logical_pages_left"]
    assert (
        left == sim.logical_pages
        if capacity == "fixed"
        else sim.logical_pages / 2 <= left < sim.logical_pages
    )
    assert left % 4 == 0 and (sim.state.logical["ppn"][0, left:] == -1).all()
    again = sim.run(small_writes(100, SYNC), host_pages=50)
    assert again["host_pages_written"] == metrics["host_pages_written"] and sim.advance() == END_OF_LIFE
    sim.pass_days(20)
    assert sim.metrics()["retention_evictions"] == metrics["retention_evictions"]


@pytest.mark.parametrize(
    ("name", "policy", "timing"),
    [*((name, "greedy", timing) for name in FTLS for timing in TIMINGS)]
    + [(kind, policy, "none") for kind in KINDS for policy in VICTIMS],
)
def test_twenty_device_writes_after_the_first_retired_block(name: str, policy: str, timing: str) -> None:
    cells: dict[str, Any] = {"endurance": {"mean": 300, "spread": 0.4}, "capacity": "variant"}
    cells |= {"least_capacity": 0.2}
    sim = Simulator(of(name, timing, **cells), policy=policy, recording=Recording(1, 1))
    sim.fill()
    after, seed = 0.0, 0
    while after < 20 and not sim.metrics()["end_of_life"]:
        metrics = sim.run(mixed(400, sim.logical_pages, seed))
        assert first_fault(sim.arrays, 0) == NO_FAULT and metrics["lost_pages"] == 0
        life, seed = metrics["lifetime"], seed + 1
        if life["retired_blocks"]:
            since = life["host_pages_written"] - life["host_pages_at_first_retirement"]
            after = since / sim.logical_pages
    assert after >= 20


@pytest.mark.parametrize("name", ["sector_log", "subftl"])
def test_worn_block_of_a_region__the_least_worn_free_one_takes_its_place(name: str) -> None:
    sim = Simulator(tiny(FTLS[name], {"endurance": {"mean": 3}}), recording=Recording(1, 1))
    sim.fill()
    first, group = sim.state.region_block["in_region"][0].copy(), 0
    while not (life := sim.metrics()["lifetime"])["retired_blocks"]:
        sim.run(small_writes(1, SYNC, first=group % 200))
        group += 1
    state, after = sim.state, sim.state.region_block["in_region"][0]
    [retired] = np.flatnonzero(state.block["status"][0] & RETIRED)
    [other] = np.flatnonzero(after & ~first & 1)
    assert first[retired] and not after[retired] and after.sum() == first.sum() and life["max_erases"] == 3
    plane, erases = retired // 32, state.sub_block["erases"][0]
    assert other // 32 == plane and state.plane["gone_pages"][0, plane] == 16
    pooled = [
        block for block in range(32 * plane, 32 * plane + 32) if state.block["status"][0, block] & POOLED
    ]
    assert erases[other] == min(erases[[other, *pooled]]) and first_fault(sim.arrays, 0) == NO_FAULT
