"""Metrics by hand: energy, wear, latencies, and what a reset clears."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.simulator import Recording, Simulator
from ssdgym.workloads.requests import READ, REQUEST, WRITE
from tests.engine.devices import device, full_device, mixed_requests, random_writes, writes


def test_energy__reads_programs_and_erases_by_hand() -> None:
    """2 uJ a read, 10 a program, 20 an erase of a block; a relocation is a read and a program."""
    sim = Simulator(full_device({"sub_blocks_per_block": 2}))
    sim.run(random_writes(2000, sim.logical_pages))
    reads = random_writes(300, sim.logical_pages, seed=1)
    reads["op"] = READ
    m = sim.run(reads)
    host_reads = 300 - m["unmapped_reads"]
    gc_uj = 12 * m["relocated_pages"] + 20 * m["erased_sub_blocks"] / 2
    assert m["erased_sub_blocks"] == 2 * m["erases"] > 0
    assert m["gc_energy_uj"] == pytest.approx(gc_uj)
    assert m["energy_uj"] == pytest.approx(gc_uj + 10 * 2000 + 2 * host_reads)


def test_wear__of_every_sub_block_since_the_device_was_made() -> None:
    sim = Simulator(full_device())
    sim.run(random_writes(1500, sim.logical_pages))
    sim.reset_metrics()
    metrics = sim.run(random_writes(1500, sim.logical_pages, seed=1))
    erases = sim.state.sub_block[0]["erases"]
    wear = metrics["wear"]
    assert metrics["erases"] < erases.sum()
    assert (wear["min_erases"], wear["max_erases"]) == (erases.min(), erases.max())
    assert wear["mean_erases"] == pytest.approx(erases.sum() / 32)
    assert wear["std_erases"] == pytest.approx(np.std(erases))


def test_write_amplification__programs_per_host_page() -> None:
    sim = Simulator(full_device())
    assert sim.run(writes(range(10)))["write_amplification"] == 1
    metrics = sim.run(random_writes(2000, sim.logical_pages))
    physical_programs = 2010 + metrics["relocated_pages"]
    assert metrics["write_amplification"] == physical_programs / 2010
    written = int(sim.state.sub_block[0]["written"].sum())
    assert physical_programs == written + 8 * metrics["erases"]  # only whole, fully written blocks are erased


def test_latencies__percentiles_agree_with_every_latency_recorded() -> None:
    sim = Simulator(full_device(ftl={"timing": "event"}))
    metrics = sim.run(mixed_requests(3000, sim.logical_pages))
    kept = sim.state.latency[0]
    for op, name in ((READ, "read_latency_ns"), (WRITE, "write_latency_ns")):
        latencies = kept["ns"][kept["op"] == op + 1]
        summary = metrics[name]
        assert summary["exact"]
        assert summary["count"] == len(latencies) > 500
        assert summary["mean"] == pytest.approx(latencies.mean())
        assert summary["max"] == latencies.max()
        for name, share in {"p50": 5000, "p95": 9500, "p99": 9900, "p99.9": 9990, "p99.99": 9999}.items():
            # Nearest rank: the smallest latency that at least this share of all does not exceed.
            within = [np.count_nonzero(latencies <= x) * 10_000 >= share * len(latencies) for x in latencies]
            assert summary[name] == latencies[within].min()


def test_latencies__few_recorded__tail_exact_and_the_rest_near() -> None:
    full, few = (
        Simulator(full_device(ftl={"timing": "event"}), recording=recording)
        for recording in (Recording(), Recording(latencies=10, slowest=100))
    )
    requests = mixed_requests(3000, full.logical_pages)
    exact = full.run(requests)["write_latency_ns"]
    near = few.run(requests)["write_latency_ns"]
    assert not near["exact"]
    for name in ("count", "mean", "max", "p99", "p99.9", "p99.99"):
        assert near[name] == exact[name], name
    for name in ("p50", "p95"):
        assert near[name] == pytest.approx(exact[name], rel=1 / 128)


def test_latencies__none_yet__zero() -> None:
    summary = Simulator(device()).metrics()["read_latency_ns"]
    assert summary["count"] == 0
    assert set(summary) == {"count", "exact", "mean", "p50", "p95", "p99", "p99.9", "p99.99", "max"}
    assert summary["p99"] == summary["max"] == 0


def test_reset__counts_anew_and_leaves_the_device_alone() -> None:
    sim = Simulator(full_device(ftl={"timing": "event"}))
    sim.run(mixed_requests(1000, sim.logical_pages))
    device_before = [sim.state.logical.tobytes(), sim.state.sub_block.tobytes(), sim.now_ns]
    sim.reset_metrics()
    metrics = sim.metrics()
    assert [sim.state.logical.tobytes(), sim.state.sub_block.tobytes(), sim.now_ns] == device_before
    assert metrics["host_pages_written"] == metrics["requests"] == metrics["duration_ns"] == 0
    assert metrics["write_latency_ns"]["count"] == 0
    assert metrics["wear"]["max_erases"] > 0


@pytest.mark.parametrize("timing", ["none", "event"])
def test_requests__those_finished_since_the_reset(timing: str) -> None:
    """Four requests of 40 pages; the first 50 pages are not measured, and the fourth request is cut."""
    requests = np.zeros(4, REQUEST)
    requests["pages"], requests["op"] = 40, WRITE
    sim = Simulator(full_device(ftl={"timing": timing}))
    metrics = sim.run(requests, settle=50, host_pages=80)
    assert metrics["host_pages_written"] == 80
    assert metrics["requests"] == 2
    if timing == "event":
        assert metrics["write_latency_ns"]["count"] == 2
        assert metrics["write_latency_ns"]["exact"]


def test_duration__is_simulated_time_since_the_reset() -> None:
    """Two pages of one die in turn: transfer of 41 ns and program of 600 ns each."""
    sim = Simulator(device({"channels": 1}, {"timing": "event"}))
    assert sim.run(writes([0, 1]))["duration_ns"] == 2 * 641
    sim.reset_metrics()
    assert sim.metrics()["duration_ns"] == 0
    assert sim.now_ns == 2 * 641
