"""Power cuts of the sub-page family: at every program and erase, without time and in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.requests import SYNC, TRIM, WRITE
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import sync_requests, writes
from tests.engine.subpages import configs, device_config
from tests.simulator.power.cutting import (
    checked_cut,
    cut_everywhere,
    drawn_requests,
    four_cuts,
    host_view,
    lost_to_host,
    mapped_versions,
)

KINDS = ("cgm", "fgm", "sector_log", "subftl")
_RECORDING = Recording(latencies=1 << 9, slowest=1)


def device(
    kind: str, timing: str = "none", cells: dict[str, Any] | None = None, spare: int = 0, **ftl: Any
) -> DeviceConfig:
    """Two planes of blocks of 4 pages of 4 subpages, so many of them spare."""
    region = {"region_blocks": 3} if kind in ("sector_log", "subftl") else {}
    return load_device(
        {
            "name": "few",
            "geometry": {
                "channels": 2,
                "blocks_per_plane": 9 + 3 * len(region) + spare,
                "pages_per_block": 4,
                "page_size_bytes": 16384,
                "subpages_per_page": 4,
            },
            "capacity": {"logical_pages": 128},
            "cells": cells,
            "timing": {
                "read_ns": 50,
                "program_ns": 600,
                "subpage_program_ns": 400,
                "erase_ns": 3000,
                "transfer_ns_per_byte": 0.001,
            },
            "ftl": {
                "mapping": "subpage",
                "kind": kind,
                "timing": timing,
                "buffer_groups": 3,
                "gc": {"free_blocks": 2},
                **region,
                **ftl,
            },
        }
    )


def filled(kind: str, timing: str) -> Simulator:
    sim = Simulator(device(kind, timing), policy="greedy", seed=1, recording=_RECORDING)
    sim.fill()
    return sim


@pytest.mark.parametrize("kind", KINDS)
def test_without_time__a_cut_at_every_program_and_erase_loses_nothing(kind: str) -> None:
    sim = filled(kind, "none")
    cuts, lost, reported = cut_everywhere(sim, sync_requests(60, sim.logical_pages, seed=2))
    assert cuts >= 40 and lost == reported == 0


@pytest.mark.parametrize("kind", KINDS)
def test_in_time__a_cut_at_every_program_and_erase_with_capacitors_loses_nothing(kind: str) -> None:
    sim = filled(kind, "event")
    requests = sync_requests(60, sim.logical_pages, seed=2, gap_ns=300)
    cuts, lost, reported = cut_everywhere(sim, requests, capacitors=True)
    assert cuts >= 40 and lost == reported == 0


def test_an_advance_that_is_cut_off__has_destroyed_the_subpage_that_it_moves() -> None:
    """The next subpage of a page is programmed over the one before it, which cannot be read any more."""
    sim = Simulator(device("subftl", "event"), policy="greedy", seed=1, recording=_RECORDING)
    requests = sync_requests(300, sim.logical_pages, seed=3, gap_ns=3000)
    requests["op"][requests["op"] == TRIM] = WRITE
    base, reported = mapped_versions(sim), 0
    sim.feed(requests)
    for at_ns in range(1000, 200_000, 900):
        sim.set_stop(at_ns=at_ns)
        sim.advance()
        view, saved = host_view(sim, requests, base), sim.snapshot()
        lost = sim.cut_power().lost_pages
        assert len(lost_to_host(sim, view)) <= lost
        reported += lost
        sim.restore(saved)
        assert sim.cut_power(capacitors=True).lost_pages == 0
        sim.restore(saved)
    assert reported > 0


def test_a_group_that_is_found_on_two_pages__is_written_to_one() -> None:
    """A trimmed sector comes back from the old page, while the new page has another one of the group."""
    sim = Simulator(device("cgm"), policy="greedy")
    requests = np.concatenate([writes([0]), writes([0]), writes([1])])
    requests["op"] = [WRITE, TRIM, WRITE]
    requests["flags"] = SYNC
    sim.feed(requests)
    sim.advance()
    report = sim.cut_power()
    assert (report.trimmed_pages, report.moved_pages) == (1, 1)
    assert mapped_versions(sim)[:2].tolist() == [1, 1]
    assert first_fault(sim.arrays, 0) == NO_FAULT


@pytest.mark.parametrize("timing", ["none", "event"])
def test_the_write_buffer__loses_what_was_not_flushed(timing: str) -> None:
    sim = Simulator(device("subftl", timing), policy="greedy")
    requests = writes([1, 9, 0, 17])
    requests["op"][2], requests["pages"][2] = 3, 0
    sim.feed(requests)
    sim.advance()
    report = checked_cut(sim)
    assert report.unflushed_pages == 1
    assert np.flatnonzero(mapped_versions(sim)).tolist() == [1, 9]


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_device__goes_on_after_cuts_at_any_instant(data: st.DataObject) -> None:
    config = data.draw(configs())
    sim = Simulator(device_config(config), policy="greedy", seed=config.seed, recording=_RECORDING)
    for cut in four_cuts(sim, data, drawn_requests(sim, data)):
        gone = lost_to_host(sim, cut.view)
        # One that a newer write has overtaken is acknowledged while that is programmed, and not counted.
        assert (cut.view.needed[gone] == cut.newest[gone]).sum() <= cut.report.lost_pages
        assert not cut.capacitors or len(gone) == cut.report.lost_pages == 0
    assert sim.metrics()["lost_pages"] == 0
