"""Run one trial of a sweep in a folder of its own, from wherever it was left.

The folder holds `trial.json` with the reports so far and the results of the last one, and for an agent the
files of its training and `evaluated.zip`, the agent that the last report is about. Each file is replaced
atomically, a training's checkpoint before the report that follows it; so a trial that was killed goes on
with its last checkpoint, and one that was not killed goes the same way.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.analysis.comparison import summarize
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.jobs import jobs_of, run_job
from ssdgym.experiments.runs.run_spec import RunSpec
from ssdgym.experiments.tuning.plan import Trial
from ssdgym.files import write_atomically

if TYPE_CHECKING:
    from ssdgym.agents.train import TrainingRun

RECORD = "trial.json"
EVALUATED_AGENT = "evaluated.zip"
#: A trial that has got so far is finished.
ALL = 100


@dataclass(frozen=True)
class Report:
    """What a trial had found when it was so far.

    Attributes:
        percent: of the trial that is done, from 1 to 100, rounded down.
        metric: the mean over the held-out workloads of its interquartile mean over seeds.
        low, high: its 95 % interval; NaN with a single seed.
    """

    percent: int
    metric: float
    low: float
    high: float


#: Called with every report of a trial; may end the trial by raising.
Listener = Callable[[Report], None]


@dataclass
class Record:
    """How far a trial is, as its folder says.

    Attributes:
        path: of the file.
        reports: so far.
        results: of the held-out runs that the last report is about.
        decisions: that the agent of the last report had taken in training; 0 for a heuristic.
    """

    path: Path
    reports: list[Report] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    decisions: int = 0

    @classmethod
    def load(cls, folder: Path) -> Record:
        """The record in a folder; an empty one where there is none.

        Raises:
            SsdgymError: there is one that cannot be read.
        """
        path = folder / RECORD
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            reports = [Report(**_with_nan(report)) for report in data["reports"]]
            results = [Result.from_row(row) for row in data["results"]]
            return cls(path, reports, results, data["decisions"])
        except FileNotFoundError:
            return cls(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SsdgymError(
                f"{path}: not the record of a trial, or a damaged one ({error}); remove its folder, and the "
                "trial begins anew."
            ) from error

    @property
    def percent(self) -> int:
        """How far the trial is."""
        return self.reports[-1].percent if self.reports else 0

    def add(self, percent: int, metric: str, results: list[Result], decisions: int = 0) -> Report:
        """Keep a report on these results, on disk, too, and return it."""
        unmeasured = next((result for result in results if not result.measured(metric)), None)
        if unmeasured is not None:
            raise SsdgymError(
                f"the metric {metric} was not measured on {unmeasured.workload}; choose another"
            )
        estimate = summarize(results, results[0].policy, metric)
        report = Report(percent, estimate.value, estimate.low, estimate.high)
        self.reports.append(report)
        self.results, self.decisions = results, decisions
        data = {
            "reports": [_without_nan(asdict(one)) for one in self.reports],
            "decisions": self.decisions,
            "results": [result.as_row() for result in self.results],
        }
        text = json.dumps(data, allow_nan=False)
        write_atomically(self.path, lambda file: _write(file, text))
        return report


def run_trial(trial: Trial, metric: str, folder: Path, listener: Listener) -> None:
    """Run a trial to its end, or from where it was left.

    Args:
        trial: as it was planned.
        metric: name of what is reported.
        folder: of this trial alone, made where missing.
        listener: called with the reports of before, too.

    Raises:
        SsdgymError: the trial fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = Record.load(folder)
    for report in record.reports:
        listener(report)
    if record.percent >= ALL:
        return
    if trial.training is None:
        _measure_policy(trial, metric, record, listener)
    else:
        _train_agent(trial, metric, folder, record, listener)


def _measure_policy(trial: Trial, metric: str, record: Record, listener: Listener) -> None:
    """Measure seed by seed, and report on all seeds so far after each."""
    by_seed = [list(runs) for _, runs in groupby(trial.runs, key=lambda run: run.seed)]
    done = len({result.seed for result in record.results})
    for number, runs in enumerate(by_seed[done:], start=done + 1):
        results = [*record.results, *_run(runs)]
        listener(record.add(ALL * number // len(by_seed), metric, results))


def _train_agent(trial: Trial, metric: str, folder: Path, record: Record, listener: Listener) -> None:
    """Train, and report on the best agent so far at every checkpoint; the best by the training's own
    validation, so that the held-out runs judge it and do not choose it."""
    from ssdgym.agents.checkpoint import FILE_NAME
    from ssdgym.agents.train import BEST_AGENT, train

    training = trial.training
    assert training is not None
    evaluated = folder / EVALUATED_AGENT

    def at_checkpoint(run: TrainingRun) -> None:
        percent = min(ALL, ALL * run.decisions // training.total_decisions)
        # the untrained agent says nothing of the trial, and a resumed run begins at what has been reported
        if percent <= record.percent:
            return
        results = record.results
        if not results or run.best_decisions != record.decisions:
            _copy(folder / BEST_AGENT, evaluated)
            results = _run([replace(run, agent=evaluated) for run in trial.runs])
        listener(record.add(percent, metric, results, run.best_decisions))

    checkpoint = folder / FILE_NAME
    resume = checkpoint if checkpoint.exists() else None
    train(training, folder, resume=resume, progress=False, report=at_checkpoint)


def _run(runs: Sequence[RunSpec]) -> list[Result]:
    """Results of the runs, in this process, in their order."""
    found: dict[int, Result] = {}
    for job in jobs_of(runs):
        found.update(zip(job, run_job([runs[index] for index in job]), strict=True))
    return [found[index] for index in range(len(runs))]


def _write(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8"))


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as original:
        write_atomically(target, lambda file: shutil.copyfileobj(original, file))


def _without_nan(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: None if math.isnan(value) else value for name, value in fields.items()}


def _with_nan(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in fields.items()}
