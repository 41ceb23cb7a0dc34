"""Measure trials: heuristics by runs, agents by training in stages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.comparison import summarize
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.evaluate import run_locally
from ssdgym.experiments.runs.grid import Grid, run_grid
from ssdgym.experiments.runs.run import result_of
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.experiments.runs.store import Store
from ssdgym.experiments.tuning.config import Parameters
from ssdgym.experiments.tuning.trials import Trial
from ssdgym.files import file_hash, writable_folder, write_bytes

if TYPE_CHECKING:
    from ssdgym.agents.training.train import TrainingRun


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


_STAGES = "stages"
_RECORD = "stage.json"


@dataclass(frozen=True)
class StageRecord:
    """A finished stage.

    Attributes:
        number: from 1 on.
        parameters: that it was trained with.
        parent: folder of the stage that it began with, below that of the sweep; empty for the first stage.
        parent_agent: hash of the agent that it began with.
        percent: of the training that was done at its end.
        decisions: that had trained its network by then.
    """

    number: int
    parameters: Parameters
    parent: str
    parent_agent: str
    percent: int
    decisions: int

    def copied(self, own: int) -> int | None:
        """Return the number of the trial that has been copied, if that is not the own one."""
        other = int(Path(self.parent).parts[1]) if self.parent else own
        return other if other != own else None


#: Called with the report of a stage and its folder.
StageListener = Callable[[TrialReport, Path], None]


def run_member(
    trial: Trial, metric: str, folder: Path, begin_with: Path | None, listener: StageListener
) -> None:
    """Run a member to its end, unless the listener ends it before.

    Args:
        trial: the member, with the parameters that it has now.
        metric: name of what is reported.
        folder: of this member alone, made where missing.
        begin_with: folder of the finished stage to go on with, its own or another member's; `None` at first.
        listener: called after every stage; may end the member by raising.

    Raises:
        SsdgymError: a stage fails.
    """
    percent = 0
    while percent < ALL:
        own = _stage_folder(folder, 1 if begin_with is None else read_record(begin_with).number + 1)
        stage = _stage(trial, own, _finished(trial, own, begin_with) or _train(trial, own, begin_with))
        report = measure(stage, metric, folder, {})
        percent, begin_with = report.percent, own
        listener(report, own)


def stages_of(trial: Trial, folder: Path) -> list[Stage]:
    """Return the finished stages of a member in order.

    Args:
        trial: the member.
        folder: that of the member.
    """
    return [_stage(trial, _stage_folder(folder, one.number), one) for one in records_of(folder)]


def records_of(folder: Path) -> list[StageRecord]:
    """Return the records of a member's finished stages in order."""
    return [read_record(path.parent) for path in sorted((folder / _STAGES).glob(f"*/{_RECORD}"))]


def read_record(folder: Path) -> StageRecord:
    """Return the record in the folder of a finished stage.

    Raises:
        SsdgymError: it is missing or damaged.
    """
    try:
        return StageRecord(**json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise SsdgymError(
            f"{folder / _RECORD}: is missing or damaged; remove {folder}, then resume the sweep"
        ) from error


def _stage_folder(folder: Path, number: int) -> Path:
    return folder / _STAGES / f"{number:04}"


def _stage(trial: Trial, own: Path, record: StageRecord) -> Stage:
    from ssdgym.agents.training.train import LAST_AGENT

    # what goes on is the agent of now, and not the best one that its validation has seen
    runs = [replace(run, agent=own / LAST_AGENT) for run in trial.runs]
    return Stage(record.percent, runs, record.decisions)


def _finished(trial: Trial, own: Path, begin_with: Path | None) -> StageRecord | None:
    if not (own / _RECORD).exists():
        return None
    record = read_record(own)
    same = record.parameters == trial.parameters and record.parent_agent == _agent_hash(begin_with)
    return record if same else None


def _agent_hash(stage: Path | None) -> str:
    from ssdgym.agents.training.train import LAST_AGENT

    return "" if stage is None else file_hash(stage / LAST_AGENT)


def _train(trial: Trial, own: Path, begin_with: Path | None) -> StageRecord:
    """Train until the next checkpoint, and write the record of that."""
    from ssdgym.agents.training.train import train

    assert trial.training is not None
    shutil.rmtree(own, ignore_errors=True)  # a stage that was killed, or one of other parameters
    writable_folder(own)
    done: list[tuple[float, int]] = []

    def at_checkpoint(run: TrainingRun) -> None:
        done.append((run.share, run.decisions))

    train(
        trial.training,
        own,
        resume=begin_with,
        progress=False,
        report=at_checkpoint,
        checkpoints=1,
        branch=begin_with is not None,
    )
    share, decisions = done[-1]
    record = StageRecord(
        number=int(own.name),
        parameters=trial.parameters,
        parent="" if begin_with is None else "/".join(begin_with.parts[-4:]),
        parent_agent=_agent_hash(begin_with),
        percent=min(ALL, int(ALL * share)),
        decisions=decisions,
    )
    write_bytes(own / _RECORD, json.dumps(asdict(record), indent=2).encode())
    return record


EVALUATED = "evaluated"


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
    for stage in _stages(trial, folder):
        listener(measure(stage, metric, folder, known))
        percent = stage.percent
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
    stages = _stages(trial, folder)
    known = _known(stages, folder)
    for stage in reversed(stages):
        if all(run in known for run in stage.runs):
            return stage.report(metric, [known[run] for run in stage.runs])
    return None


def stage_reports(trial: Trial, metric: str, folder: Path) -> list[TrialReport | None]:
    """Return the report of every stage that a trial has been through, `None` where it was not measured.

    Args:
        trial: as it was planned.
        metric: name of what is reported.
        folder: that of the trial.

    Raises:
        SsdgymError: its store is damaged.
    """
    stages = _stages(trial, folder)
    known = _known(stages, folder)
    return [
        stage.report(metric, [known[run] for run in stage.runs])
        if all(run in known for run in stage.runs)
        else None
        for stage in stages
    ]


def _known(stages: Sequence[Stage], folder: Path) -> dict[RunSpec, Result]:
    """Return the results of those runs of the stages that are in the store."""
    if not (folder / HELD_OUT).exists():
        return {}
    grid = Grid.of(list(dict.fromkeys(run for stage in stages for run in stage.runs)))
    with Store(folder / HELD_OUT) as store:
        finished = store.finished(grid.keys)
    return {
        run: result_of(run, finished[key].metrics, finished[key].wall_seconds, spec=spec)
        for run, key, spec in zip(grid.runs, grid.keys, grid.specs, strict=True)
        if key in finished
    }


def _stages(trial: Trial, folder: Path) -> list[Stage]:
    """Return the stages of a trial: of a heuristic one after each seed, of an agent those trained so far."""
    if trial.training is None:
        seeds = [list(runs) for _, runs in groupby(trial.runs, key=lambda run: run.seed)]
        return [
            Stage(ALL * number // len(seeds), runs) for number, runs in enumerate(accumulate(seeds), start=1)
        ]
    if trial.in_population:
        return stages_of(trial, folder)
    return [_evaluated_stage(trial, path) for path, _, _ in _evaluated(folder)]


def _evaluated_stage(trial: Trial, agent: Path) -> Stage:
    percent, decisions = _numbers(agent)
    return Stage(percent, [replace(run, agent=agent) for run in trial.runs], decisions)


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
    from ssdgym.agents.training.checkpoint import FILE_NAME
    from ssdgym.agents.training.train import BEST_AGENT, train

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
        listener(measure(_evaluated_stage(trial, agent), metric, folder, {}))

    resume = folder / FILE_NAME
    train(training, folder, resume=resume if resume.exists() else None, progress=False, report=at_checkpoint)
