"""The write buffer in front of the page-mapping FTL: what it absorbs, what leaves it, and when."""

from __future__ import annotations

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import make_state
from ssdgym.simulator.metrics import reset_metrics
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import device, mixed_requests


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
