"""Hints: what the host says of the lifetime of its data."""

from __future__ import annotations

import numpy as np

from ssdgym.simulator import Simulator
from ssdgym.workloads import load_workload, open_workload
from ssdgym.workloads.traces.record import RECORD, to_pages


def test_tenants__one_with_a_hint_and_one_with_those_of_its_workload() -> None:
    log = {"kind": "log", "interarrival_ns": 1000}
    tenants = {"kind": "tenants", "tenants": [{"workload": log, "hint": 9}, {"workload": log}]}
    requests = open_workload(load_workload(tenants), logical_pages=1000, page_size=4096, seed=1).next(4000)
    first = requests["lpn"] < 500
    assert set(requests["hint"][first]) == {9}
    assert set(requests["hint"][~first]) == {0, 1}


def test_trace__the_hint_is_the_number_of_the_volume() -> None:
    records = np.zeros(4, RECORD)
    records["volume"], records["size_bytes"], records["op"] = [0, 2, 1, 2], 4096, 1
    requests = to_pages(records, 4096, np.array([0, 10, 20]))
    assert requests["hint"].tolist() == [0, 2, 1, 2]


def test_placement_by_hints__relocates_less_than_one_that_cannot_see_them() -> None:
    config = {"base": "suite", "geometry.blocks_per_plane": 400, "ftl.timing": "none"}
    # One part in five gets four in five of the writes.
    hot, cold = ({"kind": "uniform", "interarrival_ns": gap} for gap in (1000, 4000))
    tenants = [{"workload": hot, "share": 1, "hint": 0}, {"workload": cold, "share": 4, "hint": 1}]
    rates = {}
    for placement in ("sep_gc", "hints_isolated"):
        sim = Simulator(
            config, policy=f"cost_benefit(since_close=1)+{placement}", ftl={"gc": {"free_blocks": 2}}
        )
        sim.fill()
        pages = 3 * sim.logical_pages
        metrics = sim.run({"kind": "tenants", "tenants": tenants}, warmup=pages, host_pages=pages, seed=2)
        rates[placement] = metrics["write_amplification"]
    assert rates["hints_isolated"] < rates["sep_gc"]
