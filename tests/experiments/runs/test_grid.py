"""Grids: every finished run is kept as it ends, nothing is run twice, and one failure is one failure."""

from __future__ import annotations

import csv
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents.zoo import find_agent
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import Jobs, Outcome, run_all, run_locally
from ssdgym.experiments.runs.grid import Grid, GridReport, run_grid, write_grid
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.experiments.runs.store import Store


def spec(policy: str, seed: int, **changes: Any) -> RunSpec:
    values = {"device": "tiny", "workload": "uniform", "ftl": (("timing", "none"),), "host_pages": 2_000}
    return RunSpec(policy=policy, seed=seed, **({"preconditioning": "none"} | values | changes))


RUNS = [spec(policy, seed) for policy in ("greedy", "fifo") for seed in (1, 2)]


class Counting:
    """Runs jobs in this process, remembers which, and gives up before a given job."""

    def __init__(self, stop_before: int | None = None) -> None:
        self.ran: list[tuple[str, int]] = []
        self.stop_before = stop_before

    def __call__(self, jobs: Jobs) -> Generator[Outcome, None, None]:
        for number, job in enumerate(jobs):
            if number == self.stop_before:
                raise KeyboardInterrupt
            self.ran += [(one.policy, one.seed) for one in job]
            for _, found in run_locally([job], 1):
                yield number, found


def run(runs: list[RunSpec], folder: Path, runner: Counting) -> GridReport:
    with Store(folder) as store:
        return run_grid(Grid.of(runs), store, runner)


def test_grid__finds_what_a_plain_evaluation_does_in_its_order(tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    with Store(tmp_path) as store:
        found = run_grid(Grid.of(RUNS), store, Counting(), lambda done, total: progress.append((done, total)))
    assert found.results == run_all(RUNS, workers=1) and not found.failures
    assert progress == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_grid__goes_on_after_an_interruption_without_repeating_anything(tmp_path: Path) -> None:
    interrupted, rest, nothing = Counting(stop_before=3), Counting(), Counting()
    with pytest.raises(KeyboardInterrupt):
        run(RUNS, tmp_path / "a", interrupted)
    found = run(RUNS, tmp_path / "a", rest)
    assert interrupted.ran == [("greedy", 1), ("fifo", 1), ("greedy", 2)] and rest.ran == [("fifo", 2)]
    assert run(RUNS, tmp_path / "a", nothing) == found and not nothing.ran
    assert found.results == run(RUNS, tmp_path / "b", Counting()).results


def test_grid__another_one_in_the_same_folder_runs_only_what_is_new(tmp_path: Path) -> None:
    run(RUNS[:2], tmp_path, Counting())
    runner = Counting()
    found = run([spec("random", 1), *RUNS[1:3]], tmp_path, runner)
    assert runner.ran == [("random", 1), ("fifo", 1)]
    assert [result.policy for result in found.results] == ["random", "greedy", "fifo"]


def test_grid__runs_that_differ_only_in_names_run_once(tmp_path: Path) -> None:
    runner = Counting()
    found = run([spec("d_choices", 1), spec("d_choices(d=10)", 1, label="mine")], tmp_path, runner)
    assert runner.ran == [("d_choices", 1)]
    assert [(result.policy, result.workload) for result in found.results] == [
        ("d_choices", "uniform"),
        ("d_choices(d=10)", "mine"),
    ]
    assert found.results[0].metrics == found.results[1].metrics


def test_grid__a_failing_run_is_told_kept_as_failed_and_tried_again(tmp_path: Path) -> None:
    trace = tmp_path / "short.csv"
    trace.write_text("128166372003061629,hm,0,Write,0,4096,100\n")
    runs = [spec("greedy", 1, workload=str(trace), host_pages=50), *RUNS[:2]]
    runner = Counting()
    for expected in (3, 1):
        found = run(runs, tmp_path / "out", runner)
        assert [result.seed for result in found.results] == [1, 2]
        assert len(runner.ran) == expected
        runner.ran.clear()
    (failure,) = found.failures
    assert str(failure).startswith(f"greedy on {trace} (tiny, seed 1): the workload ended after")


def test_grid__a_fault_of_the_code_is_a_failure_with_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(runs: list[RunSpec]) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("ssdgym.experiments.runs.evaluate.run_job", broken)
    (failure,) = run(RUNS[:1], tmp_path, Counting()).failures
    assert failure.sentence == "ZeroDivisionError: by zero"


def test_grid__an_agent_s_seeds_are_one_job_for_ever() -> None:
    agent = find_agent("victim-v1-seed1")
    learned = [spec("mine", seed, agent=agent, preconditioning="workload") for seed in (1, 2, 3)]
    grid = Grid.of([*learned, *RUNS])
    assert [len(job) for job in grid.jobs] == [3, 1, 1, 1, 1]
    assert set(grid.keys[:3]).isdisjoint(Grid.of(learned[:2]).keys)


def test_files__of_results_know_no_clock_and_timings_know_little_else(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        found = run(RUNS, folder, Counting())
        write_grid(found.results, folder)
    for name in ("results.parquet", "results.csv"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    with (folders[0] / "timings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["policy"], int(row["seed"])) for row in rows] == [(one.policy, one.seed) for one in RUNS]
    assert all(float(row["wall_seconds"]) > 0 for row in rows)


class Deadly:
    """Ends the process that unpickles it, as the kernel does when memory runs out."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (9,)


@pytest.mark.slow
def test_workers__one_that_dies_takes_only_its_own_run_along() -> None:
    jobs = [[RUNS[0]], [spec("greedy", 1, device=Deadly())], *([one] for one in RUNS[1:])]
    outcomes = dict(run_locally(jobs, 2))
    error = outcomes.pop(1)
    assert isinstance(error, SsdgymError) and "worker process died" in str(error)
    assert [outcomes[number] for number in (0, 2, 3, 4)] == [[one] for one in run_all(RUNS, workers=1)]
