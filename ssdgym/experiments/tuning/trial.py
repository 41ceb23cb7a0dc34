"""Run one trial of a sweep in a folder of its own, from wherever it was left.

The store in `held_out/` keeps the held-out runs of the trial as that of a grid keeps its runs. The folder of
an agent holds the files of its training, too, and in `evaluated/` the agent of each report, called
PERCENT-DECISIONS.zip. Reports are not kept, since they follow from the runs. Files are replaced atomically,
the checkpoint of a training before the agent that is then evaluated; so a trial that was killed goes on with
its last checkpoint, and one that was not killed goes the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ssdgym.errors import SsdgymError
from ssdgym.experiments.analysis.comparison import summarize
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.grid import Grid, run_grid
from ssdgym.experiments.runs.run import result_of
from ssdgym.experiments.runs.run_spec import RunSpec
from ssdgym.experiments.runs.store import Store
from ssdgym.experiments.runs.workers import run_locally
from ssdgym.experiments.tuning.plan import Trial
from ssdgym.files import writable_folder, write_bytes

if TYPE_CHECKING:
    from ssdgym.agents.train import TrainingRun

HELD_OUT = "held_out"
EVALUATED = "evaluated"
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
        best_at: decisions that had trained that agent, 0 where it is the untrained start; `None` for a
            heuristic.
    """

    percent: int
    metric: float
    low: float
    high: float
    results: Sequence[Result] = ()
    agent: Path | None = field(default=None, compare=False)
    best_at: int | None = None


#: Called with every report of a trial; may end the trial by raising.
Listener = Callable[[TrialReport], None]
#: How much of a trial is done, in percent, and the held-out runs that tell what it has found by then.
Stage = tuple[int, Sequence[RunSpec]]


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
    writable_folder(folder)
    known: dict[RunSpec, Result] = {}
    percent = 0
    for percent, runs in _stages(trial, folder):
        listener(_report(percent, runs, metric, _run(runs, folder, known)))
    if trial.training is not None and percent < ALL:
        _train_agent(trial, metric, folder, listener)


def last_report(trial: Trial, metric: str, folder: Path) -> TrialReport | None:
    """Return the last report of a trial without running anything; `None` if there is none.

    Args:
        trial: as it was planned.
        metric: name of what is reported.
        folder: that of the trial.

    Raises:
        SsdgymError: its store is damaged.
    """
    if not (folder / HELD_OUT).exists():
        return None
    stages = _stages(trial, folder)
    grid = Grid.of(list(dict.fromkeys(run for _, runs in stages for run in runs)))
    with Store(folder / HELD_OUT) as store:
        finished = store.finished(grid.keys)
    known = {
        run: result_of(run, finished[key].metrics, finished[key].wall_seconds, spec=spec)
        for run, key, spec in zip(grid.runs, grid.keys, grid.specs, strict=True)
        if key in finished
    }
    for percent, runs in reversed(stages):
        if all(run in known for run in runs):
            return _report(percent, runs, metric, [known[run] for run in runs])
    return None


def _stages(trial: Trial, folder: Path) -> list[Stage]:
    """Return the stages of a trial: of a heuristic one after each seed, of an agent those trained so far."""
    if trial.training is None:
        seeds = [list(runs) for _, runs in groupby(trial.runs, key=lambda run: run.seed)]
        return [(ALL * number // len(seeds), runs) for number, runs in enumerate(accumulate(seeds), start=1)]
    return [
        (percent, [replace(run, agent=path) for run in trial.runs]) for path, percent, _ in _evaluated(folder)
    ]


def _evaluated(folder: Path) -> list[tuple[Path, int, int]]:
    """Return the evaluated agents, each with the percent and the decisions in its name, in order."""
    return [(path, *_numbers(path)) for path in sorted((folder / EVALUATED).glob("*-*.zip"))]


def _numbers(path: Path) -> tuple[int, int]:
    """Return the percent and the decisions in the name of an evaluated agent."""
    percent, decisions = path.stem.split("-")
    return int(percent), int(decisions)


def _train_agent(trial: Trial, metric: str, folder: Path, listener: Listener) -> None:
    """Train, and report on the best agent so far at every checkpoint.

    The training's own validation chooses the best, so that the held-out runs judge it and do not choose it.
    """
    from ssdgym.agents.checkpoint import FILE_NAME
    from ssdgym.agents.train import BEST_AGENT, train

    training = trial.training
    assert training is not None
    writable_folder(folder / EVALUATED)

    def at_checkpoint(run: TrainingRun) -> None:
        percent = min(ALL, int(ALL * run.share))
        last, told, decisions = (_evaluated(folder) or [(folder / BEST_AGENT, 0, -1)])[-1]
        # the untrained agent says nothing of the trial, and a resumed run begins at what has been reported
        if percent <= told:
            return
        # Two files of the same agent differ, and its runs are found again by the content of the file.
        best = last if run.best_decisions == decisions else folder / BEST_AGENT
        agent = folder / EVALUATED / f"{percent:03}-{run.best_decisions}.zip"
        write_bytes(agent, best.read_bytes())
        runs = [replace(one, agent=agent) for one in trial.runs]
        listener(_report(percent, runs, metric, _run(runs, folder, {})))

    resume = folder / FILE_NAME
    train(training, folder, resume=resume if resume.exists() else None, progress=False, report=at_checkpoint)


def _run(runs: Sequence[RunSpec], folder: Path, known: dict[RunSpec, Result]) -> list[Result]:
    """Return the results of held-out runs, and run in this process those that are not known."""
    missing = [run for run in runs if run not in known]
    # The store is closed again before the listener is called, which may end this process.
    with Store(folder / HELD_OUT) as store:
        report = run_grid(Grid.of(missing), store, partial(run_locally, workers=1))
    if report.failures:
        raise SsdgymError(str(report.failures[0]))
    known.update(zip(missing, report.results, strict=True))
    return [known[run] for run in runs]


def _report(percent: int, runs: Sequence[RunSpec], metric: str, results: Sequence[Result]) -> TrialReport:
    unmeasured = next((result for result in results if not result.measured(metric)), None)
    if unmeasured is not None:
        raise SsdgymError(f"the metric {metric} was not measured on {unmeasured.workload}; choose another")
    agent = None if runs[0].agent is None else Path(runs[0].agent)
    best_at = None if agent is None else _numbers(agent)[1]
    estimate = summarize(results, results[0].policy, metric)
    return TrialReport(percent, estimate.value, estimate.low, estimate.high, results, agent, best_at)
