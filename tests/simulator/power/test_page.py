"""Power cuts of the page family: at every program and erase, without time and in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.status import STOPPED
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.power.scan import Found
from tests.engine.devices import device, mixed_requests, writes
from tests.engine.drawing import configs
from tests.engine.oracle import NEEDS, POLICIES, device_config
from tests.simulator.power.cutting import (
    checked_cut,
    cut_everywhere,
    drawn_requests,
    four_cuts,
    host_view,
    lost_to_host,
    mapped_versions,
)

_RECORDING = Recording(latencies=1 << 9, slowest=1)


def filled(policy: str = "greedy", ftl: dict[str, Any] | None = None, **fields: Any) -> Simulator:
    """A small device, full, with a few overwritten pages so that collection is near."""
    config = device(
        {"blocks_per_plane": 10, "pages_per_block": 6}, ftl, **{"over_provisioning": 0.8, **fields}
    )
    sim = Simulator(config, policy=policy, seed=1, recording=_RECORDING)
    sim.fill()
    return sim


@pytest.mark.parametrize("policy", ["greedy", "cost_benefit+sep_gc"])
def test_without_time__a_cut_at_every_program_and_erase_loses_nothing(policy: str) -> None:
    sim = filled(policy)
    cuts, lost, reported = cut_everywhere(sim, mixed_requests(60, sim.logical_pages, seed=2))
    assert cuts > 80 and lost == reported == 0


@pytest.mark.parametrize("allocation", ["static", "dynamic", "late"])
def test_in_time__a_cut_at_every_program_and_erase_with_capacitors_loses_nothing(allocation: str) -> None:
    sim = filled(ftl={"timing": "event", "allocation": allocation})
    requests = mixed_requests(60, sim.logical_pages, seed=2, gap_ns=300)
    cuts, lost, reported = cut_everywhere(sim, requests, capacitors=True)
    assert cuts > 80 and lost == reported == 0


def test_in_time__static_allocation_loses_nothing_without_capacitors() -> None:
    """The old copy of a page is on the die that programs the new one, and a die does one thing at a time."""
    sim = filled(ftl={"timing": "event", "allocation": "static"})
    cuts, lost, reported = cut_everywhere(sim, mixed_requests(60, sim.logical_pages, seed=2, gap_ns=300))
    assert cuts > 80 and lost == reported == 0


@pytest.mark.parametrize(("capacitors", "waits"), [(False, False), (True, False), (False, True)])
def test_in_time__a_page_that_moves_to_another_die_can_be_lost__not_with_capacitors_or_where_erases_wait(
    capacitors: bool, waits: bool
) -> None:
    """The block of its old copy is erased on one die while another one programs the new copy."""
    config = device(
        {"channels": 1, "dies_per_chip": 4, "blocks_per_plane": 8, "pages_per_block": 4},
        {"timing": "event", "allocation": "dynamic", "gc": {"free_blocks": 2, "erases_wait": waits}},
        over_provisioning=1.2,
        timing={"read_ns": 1, "program_ns": 600, "erase_ns": 100, "transfer_ns_per_byte": 0.01},
    )
    sim = Simulator(config, policy="greedy", seed=1, recording=_RECORDING)
    sim.fill()
    requests = writes(np.random.default_rng(0).integers(0, 20, 120))
    cuts, lost, reported = cut_everywhere(sim, requests, capacitors=capacitors, every=50)
    assert cuts > 120
    assert lost == reported == (0 if capacitors or waits else 1)


def test_recovery_that_ignores_versions__loses_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail."""

    def lowest_copies(found: Found) -> tuple[np.ndarray, np.ndarray]:
        lpn, first = np.unique(found.lpn[found.good], return_index=True)
        return lpn, found.good[first]

    monkeypatch.setattr(Found, "newest_copies", lowest_copies)
    sim = filled()
    requests = mixed_requests(60, sim.logical_pages, seed=2)
    base = mapped_versions(sim)
    sim.feed(requests)
    sim.advance()
    view = host_view(sim, requests, base)
    report = sim.cut_power()
    assert len(lost_to_host(sim, view)) == report.lost_pages > 0


# -- a page being programmed, a block being erased


@pytest.mark.parametrize(
    ("at_ns", "half", "mapped"), [(1, 0, 0), (40, 0, 0), (41, 1, 0), (640, 1, 0), (641, 0, 1), (900, 0, 1)]
)
def test_a_write__is_on_flash_when_its_program_has_ended(at_ns: int, half: int, mapped: int) -> None:
    """The transfer takes 41 ns, the program 600 ns; a page that is being transferred is not touched."""
    sim = Simulator(device(ftl={"timing": "event"}), policy="greedy", recording=_RECORDING)
    requests = writes([3, 4])
    requests["arrival_ns"][1] = 1000
    sim.feed(requests)
    sim.set_stop(at_ns=at_ns)
    assert sim.advance() == STOPPED and sim.now_ns == at_ns
    report = checked_cut(sim)
    assert report.half_programmed == half
    assert np.count_nonzero(mapped_versions(sim)) == mapped
    assert sim.state.sub_block["written"][0].sum() == half + mapped


def test_a_block_that_is_being_erased__is_found_and_erased_again() -> None:
    sim = filled(ftl={"timing": "event"})
    sim.feed(mixed_requests(200, sim.logical_pages, seed=2, gap_ns=100))
    erases, wear = 0, 0
    while erases == 0:
        sim.set_stop(1)
        assert sim.advance() == STOPPED
        erases, wear = int(sim.state.counters["erases"][0, 0]), int(sim.state.sub_block["erases"][0].sum())
    report = checked_cut(sim)
    assert report.half_erased == 1 and report.erases >= 1
    assert sim.state.sub_block["erases"][0].sum() == wear + report.erases


def test_reads_and_time__count_every_written_page_and_one_behind_it() -> None:
    sim = Simulator(device(ftl={"timing": "event"}), policy="greedy", recording=_RECORDING)
    sim.fill()
    sim.feed(writes([0, 2, 4]))
    sim.advance()
    now, written = sim.now_ns, sim.state.sub_block["written"][0].reshape(2, 16)
    reads = (written + (written < 8)).sum(axis=1)
    report = sim.cut_power()
    assert report.reads == reads.sum()
    assert report.time_ns == reads.max() * 50 == sim.now_ns - now


# -- trims, the write buffer, and what goes on afterwards


def test_a_trim__is_a_hint__the_page_comes_back_until_its_block_is_erased() -> None:
    sim = Simulator(device(), policy="greedy")
    sim.feed(writes([5, 6, 5]))
    sim.advance()
    trim = writes([5])
    trim["op"] = 2
    sim.feed(trim)
    sim.advance()
    assert sim.cut_power().trimmed_pages == 1
    assert mapped_versions(sim)[[5, 6]].tolist() == [2, 1]


@pytest.mark.parametrize("timing", ["none", "event"])
def test_the_write_buffer__loses_what_was_not_flushed__and_a_flush_keeps_its_pages(timing: str) -> None:
    sim = Simulator(device(ftl={"timing": timing, "write_buffer_pages": 8}), policy="greedy")
    requests = writes([1, 2, 3, 0, 4, 5, 1])
    requests[3]["op"], requests[3]["pages"] = 3, 0
    sim.feed(requests)
    sim.advance()
    report = checked_cut(sim)
    assert report.unflushed_pages == 3 and report.lost_pages == 0
    assert np.flatnonzero(mapped_versions(sim)).tolist() == [1, 2, 3]
    assert sim.metrics()["buffered_pages"] == 0


def test_acknowledged_at_the_end_of_the_transfer__pages_being_programmed_are_lost_and_reported() -> None:
    sim = Simulator(device(ftl={"timing": "event", "write_completes": "transfer"}), recording=_RECORDING)
    requests = writes([3])
    sim.feed(requests)
    sim.advance()  # the write is done, its program is not
    report = sim.cut_power()
    assert (report.lost_pages, report.half_programmed) == (1, 1)


def test_metrics_and_wear__stay__and_two_recoveries_are_the_same() -> None:
    def cut() -> Simulator:
        sim = filled("greedy+sep_gc", {"timing": "event"})
        sim.feed(mixed_requests(300, sim.logical_pages, seed=5, gap_ns=900))
        sim.set_stop(400)
        assert sim.advance() == STOPPED
        before = sim.metrics()
        sim.cut_power()
        assert sim.metrics()["host_pages_written"] == before["host_pages_written"]
        assert sim.metrics()["erases"] >= before["erases"] > 0
        sim.feed(writes(np.arange(40)))
        sim.advance()
        return sim

    assert cut().same_as(cut())


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_device__goes_on_after_cuts_at_any_instant(data: st.DataObject) -> None:
    policy = data.draw(st.sampled_from(sorted(POLICIES)))
    config = data.draw(configs(**NEEDS.get(policy, {})))
    sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=_RECORDING)
    for cut in four_cuts(sim, data, drawn_requests(sim, data), most=300):
        if not config.write_buffer_pages and not config.erase_disturbs:
            assert len(lost_to_host(sim, cut.view)) <= cut.report.lost_pages
            assert not cut.capacitors or cut.report.lost_pages == 0
    assert sim.metrics()["lost_pages"] == 0
