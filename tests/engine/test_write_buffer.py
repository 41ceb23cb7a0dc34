"""The write buffer in front of the page-mapping FTL: what it absorbs, what leaves it, and when."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, PARTIAL_HEAD, READ, REQUEST, TRIM, WRITE
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import make_state
from ssdgym.simulator.metrics import reset_metrics
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import device, mixed_requests

PROGRAM_NS = device().timing.program_ns + device().transfer_ns


def buffered(pages: int, timing: str = "event") -> Simulator:
    return Simulator(device(ftl={"write_buffer_pages": pages, "timing": timing}), policy="greedy", seed=1)


def played(sim: Simulator, *rows: tuple[int, int, int]) -> Simulator:
    """Play (op, page, flags), one page each, all at once."""
    requests = np.zeros(len(rows), REQUEST)
    for number, (op, lpn, flags) in enumerate(rows):
        requests[number]["op"], requests[number]["lpn"], requests[number]["flags"] = op, lpn, flags
        requests[number]["pages"] = op != FLUSH
    sim.feed(requests)
    sim.advance()
    assert first_fault(sim.arrays, 0) == NO_FAULT
    return sim


def held(sim: Simulator) -> list[int]:
    """Return the pages that are held, from the one that leaves first."""
    entry, pages, number = sim.arrays.entry[0], [], int(sim.arrays.buffer["head"][0, 0])
    while number >= 0:
        pages.append(int(entry["lpn"][number]))
        number = int(entry["next"][number])
    return pages


@pytest.mark.parametrize("timing", ["none", "event"])
def test_writes__the_page_written_longest_ago_leaves(timing: str) -> None:
    sim = played(buffered(3, timing), *((WRITE, lpn, 0) for lpn in (1, 2, 3, 1, 4, 5)))
    metrics = sim.metrics()
    assert held(sim) == [1, 4, 5]
    assert (metrics["host_pages_written"], metrics["buffer_absorbed"], metrics["buffered_pages"]) == (2, 1, 3)
    assert np.flatnonzero(sim.state.logical["ppn"][0] >= 0).tolist() == [2, 3]


def test_writes__are_done_at_once_until_a_page_has_to_leave() -> None:
    sim = Simulator(
        device(ftl={"write_buffer_pages": 2, "timing": "event"}),
        policy="greedy",
        seed=1,
        recording=Recording(latencies=16),
    )
    played(sim, *((WRITE, lpn, 0) for lpn in (1, 2, 3)))
    assert sim.state.latency["ns"][0][:3].tolist() == [0, 0, PROGRAM_NS]


@pytest.mark.parametrize("timing", ["none", "event"])
def test_reads__of_held_pages_are_served_from_the_buffer(timing: str) -> None:
    sim = played(buffered(2, timing), (WRITE, 1, 0), (READ, 1, 0), (READ, 2, 0))
    metrics = sim.metrics()
    assert (metrics["host_reads"], metrics["buffer_reads"], metrics["unmapped_reads"]) == (2, 1, 1)
    assert metrics["flash_reads"] == 0


@pytest.mark.parametrize("timing", ["none", "event"])
def test_trim__drops_what_is_held(timing: str) -> None:
    sim = played(
        buffered(2, timing), (WRITE, 1, 0), (WRITE, 2, 0), (TRIM, 1, 0), (WRITE, 3, 0), (FLUSH, 0, 0)
    )
    assert held(sim) == []
    assert np.flatnonzero(sim.state.logical["ppn"][0] >= 0).tolist() == [2, 3]


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize(
    ("writes", "reads"),
    [((PARTIAL_HEAD,), 1), ((PARTIAL_HEAD, PARTIAL_HEAD), 1), ((PARTIAL_HEAD, 0), 0), ((0, PARTIAL_HEAD), 0)],
)
def test_partial_writes__only_a_page_held_in_part_is_read_first(
    writes: tuple[int, ...], reads: int, timing: str
) -> None:
    sim = buffered(2, timing)
    played(sim, (WRITE, 1, 0), (FLUSH, 0, 0))
    played(sim, *((WRITE, 1, flags) for flags in writes), (FLUSH, 0, 0))
    assert sim.metrics()["rmw_reads"] == reads


def test_flush__nothing_behind_it_starts_before_the_held_pages_are_programmed() -> None:
    sim = Simulator(
        device(ftl={"write_buffer_pages": 8, "timing": "event"}),
        policy="greedy",
        seed=1,
        recording=Recording(latencies=16),
    )
    played(sim, (WRITE, 0, 0), (WRITE, 2, 0), (FLUSH, 0, 0), (READ, 0, 0))
    # Both pages are on the same die: one program after the other, then the read.
    read_ns = device().timing.read_ns + device().transfer_ns
    assert sim.state.latency["ns"][0][3] == 2 * PROGRAM_NS + read_ns
    assert sim.metrics()["requests"] == 4


@pytest.mark.parametrize("allocation", ["static", "dynamic", "late"])
@pytest.mark.parametrize("timing", ["none", "event"])
def test_mixed_requests__all_adds_up_whenever_looked_at(timing: str, allocation: str) -> None:
    config = device(ftl={"write_buffer_pages": 5, "timing": timing, "allocation": allocation})
    sim = Simulator(config, policy="greedy+sep_gc", seed=1)
    requests = mixed_requests(600, config.logical_pages, seed=3, gap_ns=100_000)
    for first in range(0, 600, 100):
        sim.feed(requests[first : first + 100])
        sim.advance(last=first == 500)
        assert first_fault(sim.arrays, 0) == NO_FAULT
    assert sim.metrics()["lost_pages"] == 0 and sim.metrics()["buffer_absorbed"] > 0


def test_buffer__as_large_as_the_host_s_pages__refused() -> None:
    with pytest.raises(SsdgymError, match="ftl.write_buffer_pages = 160 would hold all of its 160 logical"):
        Simulator(device(ftl={"write_buffer_pages": 160}, logical_pages=160))


def test_metrics_are_reset__where_a_smaller_device_of_a_batch_counts_warm_pages() -> None:
    large, small = device(), device({"blocks_per_plane": 14}, {"counts_warm_pages": True})
    state = make_state([large, small], [1, 1], Recording())
    for number in range(2):
        reset_metrics(state, number)
    assert (state.noted_version[1] == 0).all()


def test_placements_that_know_the_future__refused_behind_a_buffer() -> None:
    sim = Simulator(
        "demo-placement", policy="greedy+oracle_k(k=2)", ftl={"write_buffer_pages": 4, "timing": "none"}
    )
    with pytest.raises(SsdgymError, match="pages leave the write buffer in another"):
        sim.run("uniform", host_pages=10)


def test_flush__of_more_pages_than_may_be_under_way__takes_all() -> None:
    config = device(ftl={"write_buffer_pages": 8, "timing": "event", "window_pages": 2})
    sim = Simulator(config, policy="greedy", seed=1)
    played(sim, *((WRITE, lpn, 0) for lpn in range(6)))
    flush = np.zeros(2, REQUEST)
    flush["op"], flush["lpn"], flush["pages"] = (FLUSH, WRITE), (0, 9), (0, 1)
    control = sim.arrays.control[0, 0]
    sim.feed(flush)
    sim.advance()
    assert (control["outstanding"], control["outstanding_writes"]) == (0, 0)
    assert held(sim) == [9]
