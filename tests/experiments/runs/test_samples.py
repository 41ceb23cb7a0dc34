"""Runs that note their free pages as they go on, and are otherwise the same runs."""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import read_results
from ssdgym.experiments.runs.config import with_fields
from ssdgym.experiments.runs.evaluate import check_runs, run_locally
from ssdgym.experiments.runs.grid import Grid, run_grid, write_grid
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.experiments.runs.store import Store

RUN = RunSpec(
    device="tiny",
    workload={"kind": "uniform", "interarrival_ns": 2_000_000},
    policy="greedy",
    seed=1,
    host_pages=3_000,
    warmup=700,
    preconditioning="fill",
    sample_pages=100,
)
#: With room for the open blocks of many streams.
ROOMY = with_fields(load_device("tiny"), {"capacity.over_provisioning": 1.5}, "roomy", "test")
#: What only a sampled run has, besides its series.
ADDED = {"free_pages", "collecting_planes"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ftl": (("queue_depth", 4),)},
        {"ftl": (("timing", "none"),)},
        {"device": ROOMY, "policy": "greedy+oracle_rate", "ftl": (("timing", "none"),)},
        {"host_pages": None, "workload": {"kind": "uniform", "requests": 2_500}, "warmup": 0},
        {"device": "pen-tiny", "policy": "merge", "warmup": 0},
        {
            "device": "subftl-tiny",
            "workload": {
                "kind": "small_writes",
                "r_small": 0.5,
                "r_synch": 1.0,
                "theta": 0.0,
                "footprint": 0.1,
            },
        },
    ],
    ids=["open", "closed", "untimed", "oracle", "requests", "blocks", "subpages"],
)
def test_samples_change_nothing_else(changes: dict[str, Any]) -> None:
    """Every metric of the run without them is there, bit for bit."""
    run = replace(RUN, **changes)
    sampled, plain = run_policy(run), run_policy(replace(run, sample_pages=None))
    assert {name: value for name, value in sampled.metrics.items() if name not in ADDED} == plain.metrics
    assert not plain.series and len(sampled.series["host_pages"]) > 20


def test_samples_come_after_so_many_pages_and_say_how_many_are_free() -> None:
    result = run_policy(RUN)
    series, free = result.series, result.metrics["free_pages"]
    pages = series["host_pages"]
    assert pages[-1] == RUN.host_pages
    # Pages under way are not written yet, so that samples lie a little before the multiples of 100.
    assert all(50 <= after - before <= 150 for before, after in itertools.pairwise(pages[:-1]))
    assert sorted(series["time_ns"]) == series["time_ns"]
    assert series["erases"][-1] == result.metric("erases") > 0
    columns = series["free_pages/fewest"], series["free_pages/mean"]
    assert all(0 <= fewest <= mean for fewest, mean in zip(*columns, strict=True))
    late = [value for value, erases in zip(columns[0], series["erases"], strict=True) if erases]
    assert free["fewest"] == pytest.approx(sum(late) / len(late))
    assert free["threshold"] == 0  # collecting starts by blocks here


def test_samples_do_not_depend_on_the_requests_handed_over_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_policy(RUN).series
    monkeypatch.setattr("ssdgym.experiments.runs.run.CHUNK_REQUESTS", 7)
    assert run_policy(RUN).series == whole


def test_a_run_that_erases_nothing_has_samples_and_no_means() -> None:
    result = run_policy(replace(RUN, preconditioning="none", warmup=0, host_pages=500))
    assert set(result.series["erases"]) == {0} and len(result.series["erases"]) >= 5
    assert not result.measured("free_pages/fewest") and result.measured("free_pages/threshold")


def test_the_store_keeps_samples_and_the_tables_stay_flat(tmp_path: Path) -> None:
    runs = [RUN, replace(RUN, sample_pages=None)]
    for _ in range(2):  # the second time from the store
        with Store(tmp_path) as store:
            report = run_grid(Grid.of(runs), store, lambda jobs: run_locally(jobs, 1))
        sampled, plain = report.results
        assert sampled.series == run_policy(RUN).series and not plain.series
    paths = write_grid(report.results, tmp_path)
    assert [path.name for path in paths] == ["results.csv", "results.parquet", "timings.csv", "series.csv"]
    assert [path.name for path in write_grid([plain], tmp_path / "..")][3:] == []
    with paths[3].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(sampled.series["erases"])
    assert rows[-1]["host_pages"] == "3000" and rows[-1]["policy"] == "greedy"
    assert read_results(paths[1]) == report.results
    assert "series" in sampled.as_dict() and "series" not in plain.as_dict()


@pytest.mark.parametrize(
    "changes",
    [
        {"agent": "random_action"},
        {"day_requests": 10},
        {"preconditioning": "repeat"},
        {"preconditioning": "reads_repeat"},
    ],
)
def test_no_samples_are_taken_where_a_run_is_no_single_play(changes: dict[str, Any]) -> None:
    with pytest.raises(SsdgymError, match="leave out sample_pages"):
        check_runs([replace(RUN, **changes)])
