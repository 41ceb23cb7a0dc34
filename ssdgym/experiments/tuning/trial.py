"""Run one trial of a sweep in a folder of its own, from wherever it was left.

The store in `held_out/` keeps the held-out runs of the trial as that of a grid keeps its runs. The folder of
an agent holds the files of its training, too, and in `evaluated/` the agent of each report, called
PERCENT-DECISIONS.zip. Reports are not kept, since they follow from the runs. Files are replaced atomically,
the checkpoint of a training before the agent that is then evaluated; so a trial that was killed goes on with
its last checkpoint, and one that was not killed goes the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.grid import Grid
from ssdgym.experiments.runs.run import result_of
from ssdgym.experiments.runs.run_spec import RunSpec
from ssdgym.experiments.runs.store import Store
from ssdgym.experiments.tuning.measuring import ALL, HELD_OUT, Listener, Stage, TrialReport, measure
from ssdgym.experiments.tuning.population import stages_of
from ssdgym.experiments.tuning.trials import Trial
from ssdgym.files import writable_folder, write_bytes

if TYPE_CHECKING:
    from ssdgym.agents.train import TrainingRun

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
    return [_stage(trial, path) for path, _, _ in _evaluated(folder)]


def _stage(trial: Trial, agent: Path) -> Stage:
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
        listener(measure(_stage(trial, agent), metric, folder, {}))

    resume = folder / FILE_NAME
    train(training, folder, resume=resume if resume.exists() else None, progress=False, report=at_checkpoint)
