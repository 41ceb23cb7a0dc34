"""Metrics by hand: energy, wear, latencies, and what a reset clears."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.config.device import load_device
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import COUNTERS, SUMMED_COUNTERS
from ssdgym.requests import PARTIAL_HEAD, READ, WRITE
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator import metrics as metrics_module
from ssdgym.simulator.build import make_state
from ssdgym.simulator.metrics import tail_latency_ns
from tests.engine.devices import device, full_device, mixed_requests, random_writes, requests, writes


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


def test_energy__of_a_device_that_gives_none__is_none() -> None:
    metrics = Simulator(device(energy={})).run(random_writes(50, 40))
    assert metrics["energy_uj"] is metrics["gc_energy_uj"] is None


def test_moved_bytes_and_rmw_share__are_of_relocated_pages_and_of_pages_read_before_they_are_written() -> (
    None
):
    sim = Simulator(full_device())
    sim.fill()
    requests = random_writes(2000, sim.logical_pages)
    requests["flags"][::4] = PARTIAL_HEAD
    metrics = sim.run(requests)
    assert metrics["moved_bytes"] == metrics["relocated_pages"] * sim.device.geometry.page_size_bytes > 0
    assert metrics["rmw_share"] == 500 / 2000
    sim.reset_metrics()
    metrics = sim.metrics()
    assert metrics["moved_bytes"] == 0 and metrics["rmw_share"] is None


def test_requests_per_s__of_simulated_time__where_any_has_passed() -> None:
    metrics = Simulator(full_device(ftl={"timing": "event"})).run(random_writes(200, 40))
    assert metrics["requests_per_s"] == pytest.approx(200e9 / metrics["duration_ns"])
    untimed = Simulator(full_device(ftl={"timing": "none"}))
    assert untimed.run(random_writes(200, 40))["requests_per_s"] is None


def test_victims__moved_pages_per_block_and_the_most_of_one() -> None:
    sim = Simulator(full_device())
    metrics = sim.run(random_writes(2000, sim.logical_pages))
    assert metrics["mean_victim_valid_pages"] == metrics["relocated_pages"] / metrics["erases"]
    assert metrics["mean_victim_valid_pages"] < metrics["max_victim_valid_pages"] <= 7
    assert 0 < metrics["clustered_share"] <= 1
    assert metrics["joined_moves"] == metrics["joined_writes"] == 0
    sim.reset_metrics()
    metrics = sim.metrics()
    assert metrics["max_victim_valid_pages"] == 0
    assert metrics["mean_victim_valid_pages"] is metrics["clustered_share"] is None


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


def test_write_amplification_and_lifetime__count_pages_that_are_padded() -> None:
    ftl = {"timing": "event", "multi_plane_writes": True, "multi_plane_rows": "pad", "pad_limit": 3}
    cells = {"endurance": {"mean": 1000}}
    config = device({"planes_per_die": 2}, ftl, multi_plane="relaxed", cells=cells)
    sim = Simulator(config, policy="greedy+sep_gc")
    metrics = sim.run(mixed_requests(1500, sim.logical_pages, gap_ns=900))
    programs = sum(metrics[name] for name in ("host_pages_written", "relocated_pages", "padded_pages"))
    assert metrics["padded_pages"] > 0
    assert metrics["write_amplification"] == programs / metrics["host_pages_written"]
    assert metrics["lifetime"]["pages_programmed"] == programs


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


def test_latencies__together__and_of_few_recorded_the_tail_is_exact_and_the_rest_near() -> None:
    sim = Simulator(full_device(ftl={"timing": "event"}))
    metrics = sim.run(mixed_requests(3000, sim.logical_pages))
    kept = sim.state.latency[0]
    latencies = np.sort(kept["ns"][(kept["op"] == READ + 1) | (kept["op"] == WRITE + 1)])
    together, parts = metrics["latency_ns"], (metrics["read_latency_ns"], metrics["write_latency_ns"])
    assert together["count"] == len(latencies) == sum(part["count"] for part in parts) < 3000
    assert together["mean"] == pytest.approx(latencies.mean())
    assert together["p99.9"] == latencies[-(-len(latencies) * 999 // 1000) - 1]
    assert together["max"] == max(part["max"] for part in parts)
    # Fewer than 100,000 requests: the slowest one alone.
    assert metrics["tail_latency_ns"] == latencies[-1]
    few = Simulator(sim.device, recording=Recording(latencies=10, slowest=100))
    near = few.run(mixed_requests(3000, sim.logical_pages))
    for kind in ("latency_ns", "write_latency_ns"):
        assert not near[kind]["exact"]
        for name in ("count", "mean", "max", "p99", "p99.9", "p99.99"):
            assert near[kind][name] == metrics[kind][name], name
        for name in ("p50", "p95"):
            assert near[kind][name] == pytest.approx(metrics[kind][name], rel=1 / 128)
    assert near["tail_latency_ns"] == metrics["tail_latency_ns"]


def with_latencies(reads: list[int], writes: list[int], kept: int, slowest: int, more: int = 0) -> State:
    """The state of a device that has served these requests, and so many writes more of 1 ns."""
    state = make_state([device(ftl={"timing": "event"})], [0], Recording(kept, slowest))
    for op, latencies in ((READ, reads), (WRITE, writes)):
        held = sorted(latencies, reverse=True)[:slowest]
        state.histogram[0, op, 1] += len(latencies)
        state.tail[0, op, 0] = len(held)
        state.tail[0, op, 1 : 1 + len(held)] = held
    state.histogram[0, WRITE, 1] += more
    return state


def test_tail__the_slowest_of_a_hundred_thousand_rounded_up_of_both_kinds() -> None:
    def tail(more: int, slowest: int = 4) -> float | None:
        return tail_latency_ns(with_latencies([50, 90, 70], [80, 60, 20, 10], 1, slowest, more), 0)

    assert tail(0) == tail(99_993) == 90
    assert tail(99_994) == 85, "100,001 requests: two of them"
    assert tail(299_994) == (90 + 80 + 70 + 60) / 4
    # A fifth might be one that is not among the four slowest of its kind.
    assert tail(399_994) is None
    assert tail(399_994, slowest=5) == (90 + 80 + 70 + 60 + 50) / 5
    assert tail_latency_ns(with_latencies([], [], 1, 4), 0) is None


def test_tail__what_one_kind_has_dropped_is_not_taken_for_absent() -> None:
    """Of ten slow reads two are known; the writes, all known, are faster than those that are not."""
    reads = list(range(1001, 1011))
    state = with_latencies(reads, [1, 2], 1, 2)
    state.histogram[0, READ, 1] += 200_000
    assert tail_latency_ns(state, 0) is None, "three of 200,012 are asked for"


def test_tail__exact_where_every_request_was_kept() -> None:
    state = with_latencies([50, 90], [80], 3, 0)
    state.latency["ns"][0] = [50, 80, 90]
    state.latency["op"][0] = [READ + 1, WRITE + 1, READ + 1]
    state.control["serial"][0] = 3
    assert tail_latency_ns(state, 0) == 90


def test_latencies__none_yet__zero() -> None:
    summary = Simulator(device()).metrics()["read_latency_ns"]
    assert summary["count"] == 0
    assert set(summary) == {"count", "exact", "mean", "p50", "p95", "p99", "p99.9", "p99.99", "max"}
    assert summary["p99"] == summary["max"] == 0
    metrics = Simulator(device()).metrics()
    assert metrics["latency_ns"] == summary
    served = Simulator(device(ftl={"timing": "event"})).run(writes(range(4)))["write_latency_ns"]
    assert {name: type(value) for name, value in summary.items()} == {
        name: type(value) for name, value in served.items()
    }, "in a column of results all numbers are of one kind"
    assert metrics["tail_latency_ns"] is None


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


def test_clustering__a_page_from_before_a_reset_is_nobodys_neighbour() -> None:
    sim = Simulator(device(ftl={"placement": "sep_gc"}, logical_pages=100))
    sim.run(random_writes(2000, sim.logical_pages))
    alone = 0
    for page in np.random.default_rng(1).integers(0, sim.logical_pages, 300):
        sim.reset_metrics()
        metrics = sim.run(writes([page]))
        if metrics["relocated_pages"] == 1:
            alone += 1
            assert (metrics["clustered_share"], metrics["mean_relocated_run"]) == (0, 1)
    assert alone > 3


@pytest.mark.parametrize("timing", ["none", "event"])
def test_requests__those_finished_since_the_reset(timing: str) -> None:
    """Four requests of 40 pages; the first 50 pages are not measured, and the fourth request is cut."""
    sim = Simulator(full_device(ftl={"timing": timing}))
    metrics = sim.run(requests(*[(WRITE, 0, 40)] * 4), warmup=50, host_pages=80)
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


# -- counters -------------------------------------------------------------------------------------


def test_counters__are_metrics_of_their_names_in_the_order_of_the_record() -> None:
    metrics = list(Simulator(device()).metrics())
    assert metrics[0] == "write_amplification" and metrics[-1] == "policy_bytes_per_logical_page"
    counters = [name for name in COUNTERS.names if name not in SUMMED_COUNTERS]
    assert metrics[1 : 1 + len(counters)] == counters


def test_counters__that_only_enter_other_metrics__are_these() -> None:
    """They are told by their place: one appended to the record would be no metric, in silence."""
    moved = {"clustered_pages", "relocated_runs", "victim_valid_pages", "levelling_rounds", "levelling_moves"}
    sums = {f"{op}_{part}_sum_ns" for op in ("read", "write") for part in ("latency", "service", "gc_wait")}
    assert moved | sums | {"erase_square_rise", "met_gc_requests"} == SUMMED_COUNTERS, (
        "name it here, or before"
    )


def test_counters__a_new_one__is_a_metric_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulator(device())
    wider = np.dtype([*((name, "i8") for name in COUNTERS.names), ("merges", "i8")], align=True)
    counters = np.zeros(sim.state.counters.shape, wider)
    counters["merges"] = 7
    monkeypatch.setattr(metrics_module, "COUNTERS", wider)
    found = metrics_module.metrics_of(sim.state._replace(counters=counters), 0, sim.device)
    assert found["merges"] == 7
    assert SUMMED_COUNTERS.isdisjoint(found)


# -- what latencies are made of


def one_die(**ftl: object) -> Simulator:
    """One die: 50 us to read, 400 us to program, 10 us to transfer a page, 1 ms to erase."""
    return Simulator(
        load_device(
            {
                "name": "die",
                "geometry": {"blocks_per_plane": 8, "pages_per_block": 4, "page_size_bytes": 1000},
                "capacity": {"over_provisioning": 1.0},
                "timing": {
                    "read_ns": 50_000,
                    "program_ns": 400_000,
                    "erase_ns": 1_000_000,
                    "transfer_ns_per_byte": 10.0,
                },
                "ftl": {"placement": "single", "gc": {"free_blocks": 2}, **ftl},
            }
        )
    )


def test_parts__of_writes_behind_each_other() -> None:
    """The second of two writes of 410 us that come together waits for the first."""
    parts = one_die().run(writes([0, 1]))["write_parts_ns"]
    assert parts == {"service": 410_000, "queue_wait": 205_000, "gc_wait": 0, "gc_wait_p99": 0}


def test_parts__writes_complete_with_their_transfer__are_over_after_it() -> None:
    metrics = one_die(write_completes="transfer").run(writes([0, 1]))
    assert metrics["write_latency_ns"]["max"] == 410_000 + 10_000
    assert metrics["write_parts_ns"]["service"] == 10_000
    assert metrics["duration_ns"] == 420_000


def test_parts__with_garbage_collection__add_up_and_say_who_met_it() -> None:
    sim = one_die()
    metrics = sim.run(random_writes(300, sim.logical_pages))
    parts = metrics["write_parts_ns"]
    assert parts["service"] == 410_000
    assert parts["gc_wait"] > 0
    assert parts["gc_wait_p99"] > parts["gc_wait"]
    assert 0 < metrics["met_gc_share"] <= 1
    mean = metrics["write_latency_ns"]["mean"]
    assert sum(parts[name] for name in ("service", "queue_wait", "gc_wait")) == pytest.approx(mean)
    assert metrics["read_parts_ns"]["service"] is None
    sim.reset_metrics()
    assert sim.metrics()["met_gc_share"] is None


def test_deferred_gc__waits_for_a_pause_of_the_host() -> None:
    """Collection that waits for the host lengthens fewer writes, and takes no fewer rounds than it needs."""
    requests = random_writes(400, one_die().logical_pages)
    requests["arrival_ns"] = np.repeat(np.arange(50), 8) * 20_000_000  # eight at a time, then a pause
    found = {}
    for start in ("at_once", "queue_empty"):
        sim = one_die(gc={"free_blocks": 3, "start": start})
        found[start] = sim.run(requests)
    assert found["queue_empty"]["met_gc_share"] < found["at_once"]["met_gc_share"]
    assert found["queue_empty"]["gc_episodes"] < found["at_once"]["gc_episodes"]
    assert found["queue_empty"]["lost_pages"] == 0


def test_gc_wait_p99__requests_that_did_not_wait__are_the_first_and_the_rank_is_rounded_up() -> None:
    def p99(waited: int, count: int) -> float:
        state = with_latencies([], [1] * count, 1, 1)
        state.gc_histogram[0, WRITE, 40] = waited
        timed = device(ftl={"timing": "event"})
        return metrics_module.metrics_of(state, 0, timed)["write_parts_ns"]["gc_wait_p99"]

    assert p99(1, 10) == p99(1, 99) == p99(2, 100) == p99(2, 199) == 40
    assert p99(0, 10) == p99(1, 100) == p99(2, 200) == 0
