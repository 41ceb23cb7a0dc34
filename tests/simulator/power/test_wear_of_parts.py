"""Power cuts where cells wear out and parts of pages or whole blocks are mapped: what is lost stays lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.status import END_OF_LIFE
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.power import block, subpage
from tests.engine import blocks, subpages
from tests.engine.audit import FREE_PAGES, NO_FAULT, RETIRED_BLOCKS, first_fault
from tests.engine.devices import mixed_requests, sync_requests
from tests.simulator.power import test_block, test_subpage
from tests.simulator.power.cutting import (
    checked_cut,
    cut_everywhere,
    drawn_requests,
    four_cuts,
    host_view,
    lost_to_host,
    mapped_versions,
    worn_table,
)

_RECORDING = Recording(latencies=1 << 9, slowest=1)
_BOTH = pytest.mark.parametrize("timing", ["none", "event"])
_ERASES: dict[str, Any] = {"endurance": {"mean": 15, "spread": 0.3}, "erase_failure": {"worn": 0.05}}
_PROGRAMS = {"program_failure": {"fresh": 0.002, "worn": 0.02}}
_VARIANT = {"capacity": "variant", "least_capacity": 0.5}
#: FTLs: whether they map blocks, what differs from the defaults, the policy, whether programs fail.
FTLS: dict[str, tuple[bool, dict[str, Any], str, bool]] = {
    "cgm": (False, {}, "greedy", True),
    "fgm": (False, {}, "greedy", True),
    "sector_log": (False, {}, "greedy", True),
    "subftl": (False, {"wear_gap": 1}, "greedy", False),
    "subftl never": (False, {"advance": "never"}, "greedy", True),
    "subftl printed": (False, {"rule": "printed"}, "greedy", False),
    "nftl": (True, {}, "mmerge", True),
    "nftl spread": (True, {"merges": "spread"}, "mmerge", True),
    "superblock": (True, {}, "mmerge", True),
}
_EACH = pytest.mark.parametrize("name", FTLS)


def worn(name: str, timing: str, gives_up: bool = False) -> Simulator:
    """A full device that has lost two blocks or, with `gives_up`, logical pages, and lives."""
    sim = mortal(name, timing, 3)
    for k in range(1000):
        life = sim.metrics()["lifetime"]
        if life["retired_blocks"] >= 2 and (life["logical_pages_left"] < sim.logical_pages or not gives_up):
            break
        sim.run(requests_of(sim, name, 20, k))
    assert not sim.metrics()["end_of_life"] and sim.metrics()["lifetime"]["retired_blocks"] >= 2
    sim.cut_power(capacitors=True)  # from here on versions are those that flash holds
    sim.reset_metrics()
    return sim


def mortal(name: str, timing: str, seed: int, **cells: Any) -> Simulator:
    """A full device of a few blocks that endure little."""
    by_block, other, policy, fails = FTLS[name]
    cells = {**_ERASES, **(_PROGRAMS if fails else {}), **_VARIANT, **cells}
    make = test_block.device if by_block else test_subpage.device
    config = make(name.split()[0], timing, cells=cells, spare=7, **other)
    sim = Simulator(config, policy=policy, seed=seed, recording=_RECORDING)
    sim.fill()
    return sim


def requests_of(sim: Simulator, name: str, count: int, seed: int) -> np.ndarray:
    """Requests for pages that a device keeps as long as it lives."""
    make = mixed_requests if FTLS[name][0] else sync_requests
    pages = int(sim.state.params["least_capacity"][0, 0])
    found = make(count, pages, seed=seed, gap_ns=600)
    found["arrival_ns"] += sim.now_ns
    return found


@_BOTH
@_EACH
def test_cuts_at_every_program_and_erase__lose_nothing(name: str, timing: str) -> None:
    """Of the sub-page family, which binds to any die, in time with capacitors."""
    sim = worn(name, timing)
    capacitors = timing == "event" and not FTLS[name][0]
    requests = requests_of(sim, name, 40, 2)
    cuts, lost, reported = cut_everywhere(sim, requests, capacitors=capacitors, every=8)
    assert cuts > 20 and lost == reported == 0


@_BOTH
@_EACH
def test_blocks_and_pages_given_up__stay_so(name: str, timing: str) -> None:
    sim = worn(name, timing, gives_up=True)
    left, table = sim.metrics()["lifetime"]["logical_pages_left"], worn_table(sim)
    assert left < sim.logical_pages
    checked_cut(sim)
    assert worn_table(sim).retired >= table.retired
    assert sim.metrics()["lifetime"]["logical_pages_left"] == left
    assert np.flatnonzero(mapped_versions(sim)).max() < left
    sim.run(requests_of(sim, name, 100, 3))
    assert first_fault(sim.arrays, 0) == NO_FAULT and sim.metrics()["lost_pages"] == 0


@_BOTH
@_EACH
def test_the_end_of_a_life__stays__and_all_pages_can_be_read(name: str, timing: str) -> None:
    sim = mortal(name, timing, 1, capacity="fixed")
    for k in range(2000):
        if sim.run(requests_of(sim, name, 40, k))["end_of_life"]:
            break
    before = np.flatnonzero(mapped_versions(sim))
    checked_cut(sim, capacitors=True)
    assert sim.metrics()["end_of_life"] and sim.advance() == END_OF_LIFE
    assert np.isin(before, np.flatnonzero(mapped_versions(sim))).all()


@pytest.mark.parametrize(("timing", "seed"), [("none", 8), ("event", 5)])
def test_a_worn_block_of_a_region_that_none_can_replace__stays_in_it(timing: str, seed: int) -> None:
    """An empty pool rarely ends a life; erases that fail often bring it about."""
    name = "sector_log"
    sim = mortal(name, timing, seed, capacity="fixed", erase_failure={"fresh": 0.3, "worn": 0.5})
    for k in range(200):
        if sim.run(requests_of(sim, name, 40, k))["end_of_life"]:
            break
    table = worn_table(sim)
    assert table.worn - table.retired and table.worn - table.retired <= table.in_region
    report = checked_cut(sim)
    assert report.moved_pages == report.erases == 0 and worn_table(sim) == table
    assert sim.advance() == END_OF_LIFE


@pytest.mark.parametrize(
    ("name", "timing", "seed"),
    [("cgm", "none", 1), ("cgm", "event", 3), ("nftl", "none", 2), ("superblock", "event", 3)],
)
def test_a_life_that_ends_in_a_recovery__loses_nothing(name: str, timing: str, seed: int) -> None:
    """Blocks wear out that the recovery erases."""
    sim, rng, k = mortal(name, timing, seed, capacity="fixed"), np.random.default_rng(seed), 0
    while not sim.metrics()["end_of_life"]:
        requests, base = requests_of(sim, name, 20, k), mapped_versions(sim)
        sim.reset_metrics()
        sim.feed(requests)
        sim.set_stop(int(rng.integers(1, 16)))
        assert sim.advance() != END_OF_LIFE
        view, k = host_view(sim, requests, base), k + 1
        sim.set_stop()
        report = checked_cut(sim, audited=False)
    assert report.erases > 0 and report.lost_pages == len(lost_to_host(sim, view)) == 0
    assert first_fault(sim.arrays, 0) == NO_FAULT and sim.advance() == END_OF_LIFE


@pytest.mark.parametrize(("name", "family"), [("subftl", subpage), ("nftl", block)])
def test_a_recovery_without_the_table__is_found_out(
    name: str, family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check can fail."""
    sim = worn(name, "none")
    monkeypatch.setattr(family, "worn_blocks", lambda state, i, count: np.zeros(count, np.uint8))
    sim.cut_power()
    assert first_fault(sim.arrays, 0) in (RETIRED_BLOCKS, FREE_PAGES)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_device_that_wears_out__goes_on_after_cuts_at_any_instant(data: st.DataObject) -> None:
    by_block = data.draw(st.booleans())
    config: Any = data.draw((blocks if by_block else subpages).configs(wears_out=True))
    described = (blocks if by_block else subpages).device_config(config)
    policy = data.draw(st.sampled_from(["merge", "mmerge"])) if by_block else "greedy"
    sim = Simulator(described, policy=policy, seed=config.seed, recording=_RECORDING)
    spoils = by_block and config.disturb_tolerance is not None
    for cut in four_cuts(sim, data, drawn_requests(sim, data)):
        if config.capacity == "fixed" and not spoils:
            gone = lost_to_host(sim, cut.view)
            assert (cut.view.needed[gone] == cut.newest[gone]).sum() <= cut.report.lost_pages
            assert not (cut.capacitors or by_block) or cut.report.lost_pages == 0
    assert spoils or sim.metrics()["lost_pages"] == 0
