"""What a trial has found: its held-out runs, kept in its folder, and the report that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ssdgym.errors import SsdgymError
from ssdgym.experiments.analysis.comparison import summarize
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.grid import Grid, run_grid
from ssdgym.experiments.runs.run_spec import RunSpec
from ssdgym.experiments.runs.store import Store
from ssdgym.experiments.runs.workers import run_locally

HELD_OUT = "held_out"
#: A trial that has got so far is finished.
ALL = 100


@dataclass(frozen=True)
class TrialReport:
    """What a trial had found when it was so far.

    Attributes:
        percent: of the trial that is done, from 1 to 100, rounded down.
        metric: the mean over the held-out workloads of its interquartile mean over seeds.
        low, high: its 95 % interval; NaN with a single seed.
        results: of the held-out runs.
        agent: the file of the agent that they are about; `None` for a heuristic.
        trained_for: decisions that had trained that agent, 0 where it is the untrained start; `None` for a
            heuristic.
    """

    percent: int
    metric: float
    low: float
    high: float
    results: Sequence[Result] = ()
    agent: Path | None = field(default=None, compare=False)
    trained_for: int | None = None


#: Called with every report of a trial; may end the trial by raising.
Listener = Callable[[TrialReport], None]


@dataclass(frozen=True)
class Stage:
    """One point of a trial at which it is measured.

    Attributes:
        percent: of the trial that is done by then.
        runs: the held-out runs that tell what it has found by then.
        trained_for: as in `TrialReport`.
    """

    percent: int
    runs: Sequence[RunSpec]
    trained_for: int | None = None

    def report(self, metric: str, results: Sequence[Result]) -> TrialReport:
        """Return what the results of the runs say.

        Args:
            metric: name of what is reported.
            results: one for each run.

        Raises:
            SsdgymError: a workload does not have the metric.
        """
        unmeasured = next((result for result in results if not result.measured(metric)), None)
        if unmeasured is not None:
            raise SsdgymError(
                f"the metric {metric} was not measured on {unmeasured.workload}; choose another"
            )
        agent = None if self.runs[0].agent is None else Path(self.runs[0].agent)
        estimate = summarize(results, results[0].policy, metric)
        return TrialReport(
            self.percent, estimate.value, estimate.low, estimate.high, results, agent, self.trained_for
        )


def measure(stage: Stage, metric: str, folder: Path, known: dict[RunSpec, Result]) -> TrialReport:
    """Run in this process those held-out runs that are not known, and report on all of them.

    Args:
        stage: what is measured.
        metric: name of what is reported.
        folder: that of the trial, where the runs are kept.
        known: results of runs that are known; those of the others are added.

    Raises:
        SsdgymError: a run fails, or does not have the metric.
    """
    missing = [run for run in stage.runs if run not in known]
    # The store is closed again before the listener is called, which may end this process.
    with Store(folder / HELD_OUT) as store:
        report = run_grid(Grid.of(missing), store, partial(run_locally, workers=1))
    if report.failures:
        raise SsdgymError(str(report.failures[0]))
    known.update(zip(missing, report.results, strict=True))
    return stage.report(metric, [known[run] for run in stage.runs])
