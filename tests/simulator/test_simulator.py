"""The face of the engine: input it refuses, decisions it takes and gives away, requests it carries out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.core.status import ERASE_DECISION, HORIZON, INPUT_ENDED
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, Rule, get_policy
from ssdgym.requests import READ, REQUEST, TRIM, WRITE
from ssdgym.simulator import Simulator
from ssdgym.workloads import page_writes
from tests.engine.devices import (
    POLICIES,
    device,
    differences,
    full_device,
    mixed_requests,
    random_writes,
    requests,
    writes,
)


def sentence(caught: pytest.ExceptionInfo[SsdgymError]) -> str:
    """The error's text, which is one sentence."""
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def same(a: Simulator, b: Simulator) -> bool:
    return differences(a.state, 0, b.state, 0) == []


# -- input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ftl", [{"timing": "event", "queue_depth": 4}, {"timing": "none"}])
def test_run__a_device_that_heeds_no_arrivals_takes_any(ftl: dict[str, Any]) -> None:
    sim = Simulator(device(logical_pages=160), ftl=ftl)
    late = [(2**62, page, 1, WRITE, 0, 0) for page in range(50)]
    assert sim.run(np.array([*late, (-5, 0, 1, WRITE, 0, 0)], REQUEST))["host_pages_written"] == 51


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ((0, 160, 1, WRITE, 0), "reaches outside the 160 logical pages"),
        ((0, 158, 3, READ, 0), "reaches outside the 160 logical pages"),
        ((0, 2**31 - 1, 2**31 - 1, TRIM, 0), "reaches outside the 160 logical pages"),
        ((0, -1, 1, WRITE, 0), "reaches outside the 160 logical pages"),
        ((0, 5, 0, WRITE, 0), "must be of at least one page"),
        ((0, 5, -3, READ, 0), "must be of at least one page"),
        ((0, 5, 1, 4, 0), "its op must be 0 (read), 1 (write), 2 (trim) or 3 (flush)"),
        ((-7, 5, 1, WRITE, 0), "its arrival is not a time from 0 ns"),
        ((2**60, 5, 1, WRITE, 0), "its arrival is not a time from 0 ns"),
        ((3, 5, 1, WRITE, 0), "arrives before the one in front of it"),
    ],
)
def test_run__a_request_that_cannot_be_carried_out__named(bad: tuple[int, ...], reason: str) -> None:
    sim = Simulator(device(logical_pages=160), ftl={"timing": "event", "queue_depth": 0})
    before = sim.snapshot()
    good = (4, 0, 1, WRITE, 0)
    with pytest.raises(SsdgymError) as caught:
        sim.run(np.array([(*row, 0) for row in (good, good, bad)], REQUEST))
    text = sentence(caught)
    assert text.startswith(f"request 2 {(*bad, 0)} cannot be carried out: ")
    assert reason in text
    assert differences(sim.state, 0, before.state, 0) == ["control.attached"]  # its rules have begun, no more


@pytest.mark.parametrize(
    "wrong",
    [np.zeros(3), np.zeros((2, 2), REQUEST), np.zeros(1, [("lpn", "i8")])],
    ids=["numbers", "2-d", "other fields"],
)
def test_run__no_request_array__refused(wrong: np.ndarray) -> None:
    with pytest.raises(SsdgymError, match="must be a one-dimensional array of ssdgym.requests.REQUEST"):
        Simulator(device()).run(wrong)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"workload": "uniform"}, "workload uniform never ends; give host_pages"),
        ({"workload": {"kind": "uniform", "read_fraction": 1}, "host_pages": 9}, "writes nothing"),
        ({"workload": "uniform", "host_pages": 0}, "host_pages must be a whole number from 1"),
    ],
)
def test_run__would_not_end__refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        Simulator(device()).run(**arguments)
    assert reason in sentence(caught)


def test_run__horizon__exactly_so_many_host_pages_and_on_from_there() -> None:
    sim = Simulator(device())
    assert sim.run(requests(*[(WRITE, 0, 7)] * 50), host_pages=100)["host_pages_written"] == 100
    assert sim.run(random_writes(3, sim.logical_pages))["host_pages_written"] == 103


@pytest.mark.parametrize("timing", ["none", "event"])
def test_run__an_array_whole_or_in_pieces__the_same_device(timing: str) -> None:
    requests = mixed_requests(2000, full_device().logical_pages)
    whole, pieces = (Simulator(full_device(ftl={"timing": timing})) for _ in range(2))
    whole.run(requests)
    pieces.run(iter(np.array_split(requests, 7)))
    assert same(whole, pieces)


def test_run__progress__is_told_the_host_pages_written() -> None:
    told: list[int] = []
    sim = Simulator(device())
    sim.run(random_writes(5, sim.logical_pages))
    sim.run(
        iter([random_writes(40, sim.logical_pages), random_writes(60, sim.logical_pages)]),
        progress=told.append,
    )
    assert told == [40, 100, 100]


def test_run__progress_every__is_told_after_so_many_pages_of_the_workload() -> None:
    """And at its end; not where its chunks end."""
    told: list[int] = []
    sim = Simulator(device(ftl={"timing": "none"}))
    chunks = [random_writes(count, sim.logical_pages) for count in (25, 60, 15)]
    sim.run(iter(chunks), progress=told.append, progress_every=30)
    assert told == [30, 60, 90, 100, 100]
    with pytest.raises(SsdgymError, match="progress_every must be a whole number from 1"):
        sim.run(iter(chunks), progress_every=0)


def test_run__warmup__is_not_measured_but_happens() -> None:
    requests = random_writes(900, device().logical_pages)
    warmed, plain = Simulator(device()), Simulator(device())
    metrics = warmed.run(requests, warmup=600, host_pages=300)
    plain.run(requests)
    assert metrics["host_pages_written"] == 300
    assert warmed.state.logical.tobytes() == plain.state.logical.tobytes()


# -- decisions -----------------------------------------------------------------------------------------------


@pytest.fixture
def at_decision() -> Simulator:
    """A device with sub-blocks that waits for a decision of plane 1."""
    config = full_device({"sub_blocks_per_block": 4}, erase_unit="sub_block_run")
    sim = Simulator(config, policy=None)
    sim.fill()
    sim.feed(random_writes(3000, sim.logical_pages))
    while sim.advance() == ERASE_DECISION and sim.arrays.control["decision_plane"][0, 0] != 1:
        sim.apply(*greedy_choice(sim))
    return sim


def greedy_choice(sim: Simulator) -> tuple[int, int]:
    """The whole block with most invalid pages."""
    plane = int(sim.state.control["decision_plane"][0, 0])
    blocks = sim.state.block[0]
    of_plane = blocks["plane"] == plane
    block = int(np.argmax(np.where(of_plane & (blocks["status"] & 2 != 0), blocks["invalid"], -1)))
    return block, (1 << sim.device.geometry.sub_blocks_per_block) - 1


@pytest.mark.parametrize(
    ("block", "mask", "reason"),
    [
        (0, None, "cannot erase this block"),
        (10**6, None, "cannot erase this block"),
        (-1, None, "cannot erase this block"),
        ("best", 0, "cannot erase this set of sub-blocks"),
        ("best", 0b0101, "cannot erase this set of sub-blocks"),
        ("best", 1 << 4, "cannot erase this set of sub-blocks"),
        ("best", -1, "cannot erase this set of sub-blocks"),
        ("best", 1 << 70, "cannot erase this set of sub-blocks"),
    ],
)
def test_apply__illegal__refused_with_the_device_as_it_was(
    at_decision: Simulator, block: Any, mask: int | None, reason: str
) -> None:
    before = at_decision.snapshot()
    with pytest.raises(SsdgymError) as caught:
        at_decision.apply(greedy_choice(at_decision)[0] if block == "best" else block, mask)
    assert f"device small {reason}" in sentence(caught)
    assert differences(at_decision.state, 0, before.state, 0) == []
    at_decision.apply(greedy_choice(at_decision)[0])
    assert at_decision.metrics()["gc_invocations"] == before.state.counters["gc_invocations"][0, 0] + 1


def test_apply__a_list_and_a_mask__refused_with_the_device_as_it_was(at_decision: Simulator) -> None:
    before = at_decision.snapshot()
    block, mask = greedy_choice(at_decision)
    with pytest.raises(SsdgymError, match="a mask with a single block only; give each pair of the list its"):
        at_decision.apply([(block, mask)], mask)
    assert differences(at_decision.state, 0, before.state, 0) == []


def test_apply__no_decision_is_due__refused() -> None:
    sim = Simulator(device(), policy=None)
    with pytest.raises(SsdgymError, match="waits for no decision now; call advance first"):
        sim.apply(0)


def test_advance__while_a_decision_is_due__stays_where_it_is(at_decision: Simulator) -> None:
    before = at_decision.snapshot()
    assert at_decision.advance() == ERASE_DECISION
    assert differences(at_decision.state, 0, before.state, 0) == []


def test_run__without_a_policy__says_how_to_take_decisions() -> None:
    sim = Simulator(device(), policy=None)
    with pytest.raises(SsdgymError, match=r"stops at decisions; use advance\(\) and apply\(\)\."):
        sim.run(random_writes(2000, sim.logical_pages))


def test_advance__what_it_returns() -> None:
    sim = Simulator(device(), policy=None)
    sim.feed(random_writes(40, sim.logical_pages))
    sim.set_horizon(30)
    assert sim.advance() == HORIZON
    sim.set_horizon(None)
    assert sim.advance() == INPUT_ENDED


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("policy", POLICIES)
def test_policy__plain_python__does_what_its_compiled_twin_does(policy: str, timing: str) -> None:
    compiled = get_policy(policy)
    plain = Policy(replace(compiled.victim, compiled=False))
    config = full_device({"sub_blocks_per_block": 2}, {"timing": timing})
    requests = mixed_requests(500, config.logical_pages)
    twins = [Simulator(config, policy=p, seed=3) for p in (compiled, plain)]
    for sim in twins:
        sim.run(requests)
    assert twins[0].metrics()["gc_invocations"] > 10
    assert same(*twins)


def test_policy__names_no_victim__is_an_error() -> None:
    lazy = Policy(Rule("victim", "lazy", lambda *_: 0, "a test", compiled=False))
    with pytest.raises(SsdgymError) as caught:
        Simulator(device(), policy=lazy).run(random_writes(900, device().logical_pages))
    assert "needs a victim, and the policy lazy named no erase set" in sentence(caught)


# -- requests ------------------------------------------------------------------------------------------------


def request(op: int, lpn: int = 0, pages: int = 1, flags: int = 0) -> np.ndarray:
    return np.array([(0, lpn, pages, op, flags, 0)], REQUEST)


@pytest.mark.parametrize("timing", ["none", "event"])
def test_trim__the_page_is_gone_and_its_space_is_reclaimed(timing: str) -> None:
    sim = Simulator(device(ftl={"timing": timing}))
    sim.run(writes(range(20)))
    metrics = sim.run(request(TRIM, lpn=3, pages=5))
    assert metrics["host_pages_trimmed"] == 5
    assert sim.state.logical[0]["ppn"][3:8].tolist() == [-1] * 5
    assert sim.state.plane[0]["valid"].sum() == 15
    metrics = sim.run(request(READ, lpn=2, pages=3))
    assert (metrics["flash_reads"], metrics["unmapped_reads"], metrics["host_reads"]) == (1, 2, 3)


#: What the flash translation layer consists of; the rest of a device's state is about time.
FTL_ARRAYS = ("logical", "physical", "sub_block", "block", "open_sub_block", "pool", "bucket")


def ftl_differences(config: dict[str, Any], policy: str) -> list[str]:
    """Where the maps differ after the same writes with and without time."""
    sims = []
    for timing in ("none", "event"):
        sim = Simulator(full_device(**config, ftl={"timing": timing}), policy=policy)
        sim.fill()
        requests = random_writes(3000, sim.logical_pages)
        metrics = sim.run(requests)
        assert metrics["host_pages_written"] == 3000
        sims.append(sim)
    assert (sims[0].now_ns, sims[1].now_ns > 0) == (0, True)
    unlike = differences(sims[0].state, 0, sims[1].state, 0)
    return [name for name in unlike if name.split(".")[0] in FTL_ARRAYS]


@pytest.mark.parametrize("policy", POLICIES)
def test_timing__one_plane__changes_nothing_in_the_maps(policy: str) -> None:
    """Static allocation, full-page writes, foreground GC only."""
    assert ftl_differences({"geometry": {"channels": 1}}, policy) == []


@pytest.mark.parametrize("policy", ["fifo", "greedy", "windowed_greedy"])
def test_timing__several_planes__changes_only_what_the_clock_says(policy: str) -> None:
    """While one die collects the others go on writing: each plane is as without time."""
    unlike = ftl_differences({"geometry": {"planes_per_die": 2}}, policy)
    assert set(unlike) <= {"block.closed_at", "block.invalidated_at"}


def test_run__a_function_of_a_seed_and_the_logical_pages__as_the_requests_that_it_gives() -> None:
    def written(seed: int, logical_pages: int) -> Iterator[np.ndarray]:
        rng = np.random.default_rng(seed)
        while True:
            yield page_writes(rng.integers(0, logical_pages, 50))

    by_function, by_iterator = Simulator("tiny"), Simulator("tiny")
    metrics = by_function.run(written, host_pages=300, seed=4)
    assert by_iterator.run(written(4, by_iterator.logical_pages), host_pages=300) == metrics
    by_function = Simulator("tiny")
    assert by_function.precondition(written, seed=1).host_pages > 0


def test_ftl__of_a_device_that_fits_only_with_it__is_run() -> None:
    eight = {"base": "subftl-tiny", "name": "eight", "geometry": {"subpages_per_page": 8}}
    assert Simulator(eight, ftl={"kind": "fgm"}).run("sysbench", host_pages=40)["host_pages_written"] == 40
    with pytest.raises(SsdgymError, match="ftl.retention_days has 4 entries and needs one for each of the 8"):
        Simulator(eight)
