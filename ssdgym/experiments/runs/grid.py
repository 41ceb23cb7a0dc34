"""Run a grid (many runs) that can be interrupted at any time and resumed."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result, write_csv, write_results
from ssdgym.experiments.runs.evaluate import Jobs, Outcome, Progress, check_runs, jobs_of
from ssdgym.experiments.runs.run import result_of
from ssdgym.experiments.runs.spec import RunSpec, run_key, spec_of, spec_text
from ssdgym.experiments.runs.store import Finished, Store

#: Runs jobs and yields their outcomes, as `ssdgym.experiments.runs.evaluate.run_locally` does.
Runner = Callable[[Jobs], Generator[Outcome, None, None]]

TIMINGS_NAME = "timings.csv"
SERIES_NAME = "series.csv"
#: The columns that identify a run in `timings.csv` and `series.csv`.
_NAMES = ("device", "ftl", "workload", "policy", "seed")


@dataclass(frozen=True)
class Failure:
    """A failed run, and its error as one sentence."""

    run: RunSpec
    sentence: str

    def __str__(self) -> str:
        """Return a sentence with the run and the reason."""
        run = self.run
        return f"{run.policy} on {run.workload_name} ({run.device_name}, seed {run.seed}): {self.sentence}"

    def as_dict(self) -> dict[str, Any]:
        """Return the run and the reason, ready for JSON."""
        run = self.run
        names = {"device": run.device_name, "workload": run.workload_name, "policy": run.policy}
        return {**names, "seed": run.seed, "error": self.sentence}


@dataclass(frozen=True)
class Grid:
    """The runs of a grid, their specs and keys, and their division into jobs.

    Attributes:
        runs: the runs, in the order in which their results are returned.
        specs: specification of each run, as text (`ssdgym.experiments.runs.spec`).
        keys: key of each run in the store (`run_key`). Runs that differ only in names share a key.
        jobs: indices of the runs of each job. Of several runs with the same key, only the first is in a job.
    """

    runs: Sequence[RunSpec]
    specs: Sequence[str]
    keys: Sequence[str]
    jobs: Sequence[list[int]]

    @classmethod
    def of(cls, runs: Sequence[RunSpec]) -> Grid:
        """Check the runs, and compute their specs, keys and jobs, without running anything."""
        check_runs(runs)
        specs, keys = [""] * len(runs), [""] * len(runs)
        jobs, seen = [], set()
        for job in jobs_of(runs):
            seeds = [runs[index].seed for index in job]
            for index in job:
                spec = spec_of(runs[index], seeds if runs[index].agent else ())
                specs[index], keys[index] = spec_text(spec), run_key(spec)
            if keys[job[0]] not in seen:
                jobs.append(job)
            seen |= {keys[index] for index in job}
        return cls(runs, specs, keys, jobs)


@dataclass(frozen=True)
class GridReport:
    """The outcome of a grid: its finished and its failed runs, both in the order of the grid."""

    results: list[Result]
    failures: list[Failure]


def run_grid(grid: Grid, store: Store, runner: Runner, progress: Progress | None = None) -> GridReport:
    """Carry out the runs that are not in the store, in any order, and store the runs of a job when it ends.

    Call `progress` with (finished and failed runs, all runs) before the first job and after every job.
    """
    finished = store.finished(grid.keys)
    # The seeds of an agent are played together, so a job is finished only as a whole.
    waiting = [job for job in grid.jobs if any(grid.keys[index] not in finished for index in job)]
    errors: dict[str, str] = {}

    def report() -> None:
        if progress:
            known = finished.keys() | errors.keys()
            progress(sum(key in known for key in grid.keys), len(grid.keys))

    report()
    if waiting:
        # Runs with the same requests follow each other, so `ssdgym.workloads.kept` generates them only once.
        waiting.sort(key=lambda job: (repr(grid.runs[job[0]].workload), grid.runs[job[0]].seed))
        jobs = [[grid.runs[index] for index in job] for job in waiting]
        with closing(runner(jobs)) as outcomes:
            for number, results in outcomes:
                keys = [grid.keys[index] for index in waiting[number]]
                specs = [grid.specs[index] for index in waiting[number]]
                if isinstance(results, Exception):
                    store.keep_error(list(zip(keys, specs, strict=True)), _details(results))
                    errors |= dict.fromkeys(keys, _sentence(results))
                else:
                    done = [Finished(dict(one.metrics), one.wall_seconds, one.series) for one in results]
                    store.keep(list(zip(keys, specs, done, strict=True)))
                    finished |= zip(keys, done, strict=True)
                report()
    found = GridReport([], [])
    for run, key, spec in zip(grid.runs, grid.keys, grid.specs, strict=True):
        if key in errors:
            found.failures.append(Failure(run, errors[key]))
        else:
            one = finished[key]
            found.results.append(result_of(run, one.metrics, one.wall_seconds, spec=spec, series=one.series))
    return found


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, SsdgymError) else f"{type(error).__name__}: {text}"


def _details(error: Exception) -> str:
    """Return the text of an error for the store, with the traceback unless it is an `SsdgymError`."""
    if isinstance(error, SsdgymError):
        return _sentence(error)
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def write_grid(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write `results.parquet`, `results.csv`, `timings.csv` and, if samples were taken, `series.csv`.

    Equal grids give equal results files, because wall-clock times are only in `timings.csv`. Each row of
    `series.csv` is one sample. Return the paths.
    """
    parquet, table = write_results(results, folder / "results")
    paths = [table, parquet, write_timings(results, folder)]
    sampled = [pd.DataFrame({**_names(one), **one.series}, dtype=object) for one in results if one.series]
    return [*paths, write_csv(folder / SERIES_NAME, pd.concat(sampled))] if sampled else paths


def write_timings(results: Sequence[Result], folder: Path) -> Path:
    """Write the wall-clock time of every run, in seconds, to `timings.csv`."""
    rows = [_names(result) | {"wall_seconds": result.wall_seconds} for result in results]
    return write_csv(folder / TIMINGS_NAME, pd.DataFrame(rows, columns=[*_NAMES, "wall_seconds"]))


def _names(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in _NAMES}
