"""Hints: what the host says of the lifetime of its data."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from ssdgym.workloads import load_workload, open_workload
from ssdgym.workloads.generators.base import hints_by_rate
from ssdgym.workloads.traces.record import RECORD, to_pages


def drawn(workload: dict, pages: int = 1000) -> np.ndarray:
    return open_workload(load_workload(workload), logical_pages=pages, page_size=4096, seed=1).next(4000)


def test_hints__a_further_one_for_every_quarter_of_the_rate() -> None:
    assert hints_by_rate(np.array([1.0, 0.26, 0.25, 0.06, 0.01, 0.0]), 3).tolist() == [0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize(
    "kind", [{"kind": "zipf"}, {"kind": "zipf", "scrambled": False}, {"kind": "hot_cold"}]
)
def test_pattern__pages_with_lower_hints_are_accessed_more_often(kind: dict) -> None:
    plain, hinted = drawn(kind), drawn({**kind, "hints": 3})
    assert (plain["lpn"] == hinted["lpn"]).all() and not plain["hint"].any()
    means = [
        np.mean(np.bincount(hinted["lpn"])[np.unique(hinted["lpn"][hinted["hint"] == hint])])
        for hint in np.unique(hinted["hint"])
    ]
    assert len(means) > 1 and means == sorted(means, reverse=True)


@pytest.mark.parametrize(
    "kind",
    [
        {"kind": "uniform"},
        {"kind": "sequential"},
        {"kind": "drifting", "shift_every_pages": 1, "shift_pages": 1},
    ],
)
def test_pattern__that_knows_no_rates__has_no_field_for_hints(kind: dict) -> None:
    with pytest.raises(SsdgymError, match="field hints is unknown"):
        load_workload({**kind, "hints": 2})


def test_tenants__one_with_a_hint_and_one_with_those_of_its_workload() -> None:
    zipf = {"kind": "zipf", "interarrival_ns": 1000, "hints": 4}
    requests = drawn({"kind": "tenants", "tenants": [{"workload": zipf, "hint": 9}, {"workload": zipf}]})
    first = requests["lpn"] < 500
    assert set(requests["hint"][first]) == {9}
    assert {0, 1, 2, 3} == set(requests["hint"][~first])


def test_trace__the_hint_is_the_number_of_the_volume() -> None:
    records = np.zeros(4, RECORD)
    records["volume"], records["size_bytes"], records["op"] = [0, 2, 1, 2], 4096, 1
    requests = to_pages(records, 4096, np.array([0, 10, 20]))
    assert requests["hint"].tolist() == [0, 2, 1, 2]


def test_placement_by_hints__relocates_less_than_one_that_cannot_see_them() -> None:
    config = {"base": "suite", "geometry.blocks_per_plane": 400, "ftl.timing": "none"}
    rates = {}
    for placement in ("sep_gc", "hints_isolated"):
        sim = Simulator(
            config, policy=f"cost_benefit(since_close=1)+{placement}", ftl={"gc": {"free_blocks": 2}}
        )
        sim.fill()
        pages = 3 * sim.logical_pages
        metrics = sim.run({"kind": "hot_cold", "hints": 8}, warmup=pages, host_pages=pages, seed=2)
        rates[placement] = metrics["write_amplification"]
    assert rates["hints_isolated"] < rates["sep_gc"]
