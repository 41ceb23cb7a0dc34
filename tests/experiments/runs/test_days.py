"""Runs in which days pass between the requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import check_runs
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.spec import RunSpec

WRITES = {"kind": "small_writes", "r_small": 1.0, "r_synch": 1.0, "theta": 0.0, "footprint": 0.1}
RUN = RunSpec(
    device="subftl-tiny",
    workload=WRITES,
    policy="greedy",
    seed=1,
    host_pages=250,
    warmup=150,
    preconditioning="fill",
    day_requests=20,
)


def measured(run: RunSpec = RUN, **changes: Any) -> dict[str, Any]:
    return dict(run_policy(replace(run, **changes)).metrics)


def test_warm_up_and_run_end_with_a_day() -> None:
    metrics = measured(ftl=(("evict_after_days", 3),))
    # 150 pages are 8 days of 20 requests; of the 13 days after them all pages count.
    assert metrics["host_pages_written"] == 260
    assert metrics["retention_evictions"] > 0
    assert metrics == measured(ftl=(("evict_after_days", 3),))
    assert measured(ftl=(("evict_after_days", 3),), day_requests=None)["retention_evictions"] == 0


def test_a_day_has_all_of_its_requests_however_the_workload_hands_them_out() -> None:
    """Portions of a stream end where its chunks do."""
    days = measured(warmup=0, host_pages=15_000, day_requests=5_000)
    assert days["host_pages_written"] == 15_000


def test_days_behind_the_warm_up__are_measured_and_the_input_goes_on() -> None:
    run = replace(RUN, day_requests=None, warmup=150, host_pages=250)
    (none, two, three) = (measured(run, days=days, ftl=(("evict_after_days", 2),)) for days in (None, 2, 3))
    assert none["retention_evictions"] == two["retention_evictions"] == 0 < three["retention_evictions"]
    assert three["host_pages_written"] == none["host_pages_written"] == 250
    # A workload that ends has as many requests behind the days as without them.
    ending = replace(run, workload={**WRITES, "requests": 400}, host_pages=None)
    assert measured(ending, days=3)["host_pages_written"] == measured(ending)["host_pages_written"] == 250


def test_days_behind_the_warm_up__where_they_cannot_pass__refused() -> None:
    plain = replace(RUN, day_requests=None, days=3)
    with pytest.raises(SsdgymError, match="data does not age with ftl.mapping page"):
        check_runs([replace(plain, device="tiny")])
    for changes in ({"preconditioning": "repeat"}, {"day_requests": 5}):
        with pytest.raises(SsdgymError, match="plays a workload once: leave out days"):
            check_runs([replace(plain, **changes)])


def test_data_that_stays_in_the_region_too_long_cannot_be_read() -> None:
    reading = replace(RUN, workload={**WRITES, "read_fraction": 0.5}, host_pages=500, day_requests=8)
    assert measured(reading)["uncorrectable_reads"] == 0
    assert measured(reading, ftl=(("evict_after_days", 0),))["uncorrectable_reads"] > 0


def test_days_need_a_length_in_pages_and_a_policy() -> None:
    with pytest.raises(SsdgymError, match="a run over days ends by the pages written: set host_pages"):
        run_policy(replace(RUN, host_pages=None))
    with pytest.raises(SsdgymError, match="the workload ended before the run did"):
        run_policy(replace(RUN, workload={**WRITES, "requests": 100}))
    agent = replace(RUN, device="tiny", agent="random_action", preconditioning="workload")
    with pytest.raises(SsdgymError, match="leave out day_requests"):
        check_runs([agent])
