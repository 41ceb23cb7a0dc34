"""Simulators used in ways that once ended in a crash, a hang or a silently wrong number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, get_policy, victim_policy
from ssdgym.requests import FLUSH, READ, REQUEST, TRIM, WRITE
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import (
    device,
    differences,
    full_device,
    mixed_requests,
    random_writes,
    same_as,
    writes,
)

EVENT = {"timing": "event"}


def requests_of(*rows: tuple[int, int, int, int, int]) -> np.ndarray:
    """Rows of (arrival_ns, lpn, pages, op, flags)."""
    return np.array([(*row, 0) for row in rows], REQUEST)


def big_writes(count: int, logical_pages: int) -> np.ndarray:
    """Writes of 20 pages each, so that a stop is nearly always in the middle of one."""
    requests = random_writes(count, logical_pages - 20)
    requests["pages"] = 20
    return requests


# -- time -----------------------------------------------------------------------------------------


def test_time__too_far_for_many_dies__is_an_error_and_not_an_overflow() -> None:
    """Event times share 63 bits with the number of the die: 200 dies leave less for time than 2."""
    wide = device({"channels": 10, "chips_per_channel": 20}, EVENT)
    with pytest.raises(SsdgymError, match="too far in the future to be counted"):
        Simulator(wide).run(requests_of((2**55 - 1, 0, 1, WRITE, 0)))
    small = Simulator(device(ftl=EVENT))
    assert small.run(requests_of((2**55 - 1, 0, 1, WRITE, 0)))["write_latency_ns"]["count"] == 1


@pytest.mark.parametrize("program_ns", [2**62, 2**63, 10**30])
def test_timing__a_command_too_long_to_be_counted__refused(program_ns: int) -> None:
    times = {"read_ns": 1, "program_ns": program_ns, "erase_ns": 1, "transfer_ns_per_byte": 0}
    with pytest.raises(SsdgymError, match=r"device small: .* shorten the times \(field timing\)"):
        Simulator(device(ftl=EVENT, timing=times))


def test_run__a_named_workload_twice__counts_its_times_from_the_start_of_each_run() -> None:
    paced = {"kind": "uniform", "requests": 50, "interarrival_ns": 1e6}
    sim = Simulator(device(ftl=EVENT))
    first = sim.run(paced)["write_latency_ns"]
    sim.reset_metrics()
    assert sim.run(paced)["write_latency_ns"]["max"] <= 2 * first["max"]


# -- counting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("timing", ["none", "event"])
def test_requests__all_of_a_run_to_its_horizon__counted(timing: str) -> None:
    assert Simulator(device(ftl={"timing": timing})).run("uniform", host_pages=77)["requests"] == 77


def test_flush__of_any_size__is_one_request_and_takes_no_time() -> None:
    sim = Simulator(device())
    assert sim.run(requests_of((0, 2**31 - 1, 2**31 - 1, FLUSH, 0), (0, 0, -5, FLUSH, 0)))["requests"] == 2


def test_warmup__ends_in_mid_request__every_request_counted_and_kept() -> None:
    sim = Simulator(device(ftl=EVENT))
    metrics = sim.run(big_writes(200, sim.logical_pages), host_pages=1001, warmup=1003)
    latency = metrics["write_latency_ns"]
    assert latency["exact"]
    assert latency["count"] == metrics["requests"]


def test_feed__with_pages_of_a_request_under_way__loses_no_slot() -> None:
    sim = Simulator(device(ftl={**EVENT, "window_pages": 7}), policy=None)
    in_admission = []  # whether a request is, at each stop; not where the same die asks again at once
    while sum(in_admission) < 5:
        sim.feed(big_writes(200, sim.logical_pages))
        assert sim.advance(last=False) == ERASE_DECISION
        in_admission.append(sim.state.control["slot"][0, 0] >= 0)
        assert any(in_admission[-2:])
        _take_fullest(sim)
    sim.policy = get_policy("greedy")
    metrics = sim.run(random_writes(500, sim.logical_pages))
    control = sim.state.control[0, 0]
    assert control["outstanding"] == control["outstanding_writes"] == 0
    assert metrics["write_latency_ns"]["count"] == metrics["requests"]
    assert _free_slots(sim) == sim.device.ftl.window_pages


def _take_fullest(sim: Simulator) -> None:
    plane = int(sim.state.control["decision_plane"][0, 0])
    blocks = sim.device.geometry.blocks_per_plane
    own = slice(plane * blocks, (plane + 1) * blocks)
    indexed = sim.state.block["status"][0, own] & 2
    sim.apply(plane * blocks + int(np.argmax(np.where(indexed, sim.arrays.block["invalid"][0, own], -1))))


def _free_slots(sim: Simulator) -> int:
    seen, slot = 0, int(sim.state.control["free_slot"][0, 0])
    while slot < sim.device.ftl.window_pages:
        seen, slot = seen + 1, int(sim.state.slot["next"][0, slot])
        assert seen <= sim.device.ftl.window_pages, "the list of free slots goes round"
    return seen


# -- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["precondition", "fill"])
def test_precondition_and_fill__a_device_in_use__refused_as_it_is(verb: str) -> None:
    """Either would pass no time over commands that are under way."""
    sim = Simulator(device(ftl={**EVENT, "queue_depth": 8, "gc": {"free_blocks": 2}}))
    sim.run("uniform", host_pages=500)
    before = sim.snapshot()
    with pytest.raises(SsdgymError, match=f"is in use; {verb} a new Simulator"):
        getattr(sim, verb)()
    same = Simulator(sim.device)
    same.restore(before)
    assert same_as(same, sim)


@pytest.mark.parametrize(
    "other",
    [
        {"recording": Recording(10, 10)},
        {"ftl": {"window_pages": 5}},
        {"ftl": {"queue_depth": 5}},
        {"device": device({"blocks_per_plane": 32}, EVENT)},
    ],
)
def test_restore__made_otherwise__refused_as_it_is(other: dict[str, Any]) -> None:
    made = {"device": device(ftl=EVENT)}
    source, target = Simulator(**made), Simulator(**{**made, **other})
    source.run("uniform", host_pages=100)
    before = target.snapshot().state
    with pytest.raises(SsdgymError, match="the snapshot is of another device"):
        target.restore(source.snapshot())
    assert all(np.array_equal(a, b) for a, b in zip(before, target.state, strict=True))


def test_memory__more_than_the_machine_has__refused_before_it_is_touched() -> None:
    large = {"blocks_per_plane": 2**20, "pages_per_block": 1000}
    with pytest.raises(SsdgymError, match="memory"):
        Simulator(device(large), recording=Recording(2**40, 0))


@pytest.mark.parametrize(
    ("counters", "named"),
    [(2**32 - 1, "the geometry, ftl.hotness.counters, ftl.window_pages,"), (64, "the geometry, ftl.window_")],
)
def test_memory__a_large_table_of_hotness__named(counters: int, named: str) -> None:
    runs = device({"sub_blocks_per_block": 4}, erase_unit="sub_block_run")
    ftl = {"placement": "hot_to_victims", "hotness": {"hashes": 16, "counters": counters}}
    with pytest.raises(SsdgymError, match=f"device small: .*memory; make {named}"):
        Simulator(runs, ftl=ftl, recording=Recording(2**40, 0))


# -- odd devices and input ------------------------------------------------------------------------


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize(
    ("geometry", "ftl"),
    [
        ({"pages_per_block": 1}, {}),
        ({"pages_per_block": 64, "sub_blocks_per_block": 64}, {}),
        ({"planes_per_die": 3}, {"allocation": "dynamic"}),
        ({"channels": 300, "chips_per_channel": 2}, {"queue_depth": 32}),
        ({}, {"window_pages": 1}),
        ({}, {"queue_depth": 2**31 - 1}),
    ],
)
def test_odd_devices__stay_sound(geometry: dict[str, Any], ftl: dict[str, Any], timing: str) -> None:
    sim = Simulator(device(geometry, {**ftl, "timing": timing}))
    metrics = sim.run(mixed_requests(3000, sim.logical_pages))
    assert metrics["lost_pages"] == 0
    assert metrics["requests"] == 3000
    assert first_fault(sim.arrays, 0) == NO_FAULT


def test_run__reads_only_for_ever__refused_and_no_hang(tmp_path: Path) -> None:
    trace = tmp_path / "reads.csv"
    trace.write_text("".join(f"{k},h,0,Read,{4096 * k},4096,1\n" for k in range(9)))
    endless = {"kind": "trace", "path": str(trace), "loops": None}
    with pytest.raises(SsdgymError, match="writes nothing"):
        Simulator(device()).run(endless, host_pages=10)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"host_pages": 1.5}, "host_pages must be a whole number"),
        ({"host_pages": 2**63}, "host_pages must be a whole number"),
        ({"host_pages": 9, "seed": -1}, "the seed of a workload must be a whole number"),
        ({"host_pages": 9, "seed": "x"}, "the seed of a workload must be a whole number"),
    ],
)
def test_run__garbage__one_sentence(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(SsdgymError, match=reason):
        Simulator(device()).run("uniform", **arguments)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"seed": "x"}, "seed"),
        ({"policy": 5}, "neither a name nor a Policy"),
        ({"ftl": "fast"}, "ftl must be a mapping"),
        ({"ftl": {"window_pages": 2**40}}, "window_pages"),
    ],
)
def test_simulator__garbage__one_sentence(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(SsdgymError, match=reason):
        Simulator(device(), **arguments)


@pytest.mark.parametrize("block", [2**40, 2**70, -1, 1.5, "1"])
def test_apply__garbage__refused(block: Any) -> None:
    sim = Simulator(device(), policy=None)
    sim.feed(writes([*range(sim.logical_pages)] * 3))
    assert sim.advance() == ERASE_DECISION
    with pytest.raises(SsdgymError, match="cannot erase this block"):
        sim.apply(block)


def test_plain_python_policy__writes_its_choice_as_a_compiled_one_does(own_registrations: None) -> None:
    @victim_policy("test_first_block", source="a test", compiled=False)
    def first_block(dev: Any, plane: int, parameters: Any, choice: Any) -> int:
        blocks = int(dev.params[0].blocks)
        eligible = [b for b in range(plane * blocks, (plane + 1) * blocks) if dev.block[b].status & 2]
        choice[0].block = max(eligible, key=lambda b: dev.block[b].invalid)
        choice[0].mask = 1
        return 1

    sim = Simulator(device(), policy="test_first_block")
    assert sim.run("uniform", host_pages=500)["erases"] > 0


def test_read_of_an_empty_device__is_unmapped_and_over_at_once() -> None:
    sim = Simulator(device(ftl=EVENT))
    metrics = sim.run(requests_of((5, 0, 5, READ, 0)))
    assert metrics["unmapped_reads"] == 5
    assert metrics["read_latency_ns"]["max"] == 0


@pytest.mark.parametrize("count", range(60, 90))
def test_decision_outside__as_input_ends__goes_on_as_one_inside(count: int) -> None:
    """A die that has asked for a victim starts its round, even if nothing is left to do for the host.

    The last write switches GC on; the read behind it, of a page trimmed meanwhile, is over in the moment in
    which the die asks.
    """
    gc = {"free_fraction": 0.11, "priority": "after_reads"}
    config = full_device(
        {"channels": 1, "planes_per_die": 1, "blocks_per_plane": 9, "pages_per_block": 4},
        {"timing": "event", "placement": "single", "gc": gc},
    )
    requests = random_writes(count + 2, config.logical_pages)
    requests["arrival_ns"] = np.arange(count + 2) * 10**6
    requests["arrival_ns"][-2:] = requests["arrival_ns"][-3] + (1, 2)
    requests["op"][-2:] = READ, TRIM
    requests["lpn"][-2:] = requests["lpn"][0]
    inside, outside = (
        Simulator(config, policy=Policy(replace(get_policy("greedy").victim, compiled=compiled)))
        for compiled in (True, False)
    )
    for sim in (inside, outside):
        sim.run(requests)
    assert differences(inside.state, 0, outside.state, 0) == []


# -- writes of several planes, reads overtaken by trims ---------------------------------------------


@pytest.mark.parametrize("allocation", ["static", "dynamic", "late"])
def test_multi_plane_writes__requests_that_meet_an_idle_die__join(allocation: str) -> None:
    """The first page used to start alone, before the second one was admitted: no page ever joined."""
    ftl = {**EVENT, "allocation": allocation, "queue_depth": 1, "multi_plane_writes": True}
    two_planes = device({"channels": 1, "planes_per_die": 2}, ftl, multi_plane="strict")
    requests = writes(np.arange(0, 100, 2))
    requests["pages"] = 2
    assert Simulator(two_planes).run(requests)["joined_writes"] == len(requests)


def test_multi_plane_writes__streams_at_one_row_of_a_plane__do_not_join() -> None:
    """A command programs one page of each plane at most, whatever blocks are open there."""
    ftl = {**EVENT, "placement": "hints", "multi_plane_writes": True}
    geometry = {"channels": 1, "planes_per_die": 2, "blocks_per_plane": 32}
    two_planes = device(geometry, ftl, multi_plane="strict", logical_pages=32)
    requests = writes(np.arange(0, 16, 2))  # of plane 0, each to a stream of its own
    requests["hint"] = np.arange(8)
    assert Simulator(two_planes).run(requests)["joined_writes"] == 0
    requests["pages"] = 2  # of both planes, to one stream
    assert Simulator(two_planes).run(requests)["joined_writes"] == len(requests)


def test_reads_overtaken_by_trims__every_read_is_in_a_counter() -> None:
    """A queued read whose page was trimmed meanwhile used to be in none."""
    sim = Simulator(device(ftl=EVENT))
    requests = mixed_requests(4000, sim.logical_pages, gap_ns=50)
    requests["op"][::7] = TRIM
    metrics = sim.run(requests)
    served = metrics["host_reads"] - metrics["queue_hits"] - metrics["unmapped_reads"]
    assert metrics["flash_reads"] == served + metrics["rmw_reads"] + metrics["relocated_pages"]
