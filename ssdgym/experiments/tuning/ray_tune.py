"""Run a sweep on Ray Tune: many trials at a time, on this machine or on a cluster.

Ray starts and stops trials. All state of a trial is in its own folder (`tuning/measuring.py`), and all
decisions about trials follow from the sweep and from what trials report. A sweep that is resumed therefore
begins anew: what has been finished is reported again, and only the rest is run.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.config import AshaConfig, SweepConfig
from ssdgym.experiments.tuning.measuring import ALL, TrialReport, records_of, run_member, run_trial
from ssdgym.experiments.tuning.on_ray import Audience, SweepProgress, Watch, Watcher, cluster, last_line, tune
from ssdgym.experiments.tuning.outcome import (
    SweepOutcome,
    TrialOutcome,
    begin,
    begin_trial,
    outcome_of,
    require_same_sweep,
    trial_folder,
)
from ssdgym.experiments.tuning.trials import Trial, plan_trial, plan_trials
from ssdgym.files import writable_folder, write_bytes

__all__ = ["SweepProgress", "Watcher", "run_sweep"]

_RAY_FOLDER = "ray"
_CHECKPOINT = "stage.json"


def run_sweep(
    sweep: SweepConfig,
    folder: Path,
    *,
    resume: bool = False,
    address: str | None = None,
    watch: Watcher | None = None,
    say: Callable[[str], None] | None = None,
) -> SweepOutcome:
    """Run all trials of a sweep, or those that have not ended yet, and write what came of them.

    The outcome depends on the sweep alone, not on how often it was killed and resumed. ASHA is the exception,
    since it compares trials as they happen to report.

    Args:
        sweep: what to run.
        folder: for all its files, made where missing; on a cluster, one that all nodes share.
        resume: go on with the sweep in `folder`.
        address: of a Ray cluster; by default, a local one for the duration of the sweep.
        watch: called as trials get on.
        say: called with a line when a trial begins, ends or copies another one.

    Returns:
        The outcome, whose files have been written. Trials that failed are in it and end nothing else.

    Raises:
        SsdgymError: the sweep is wrongly configured; `folder` cannot be written, holds a sweep that is not
            to be resumed, or not the one that is; there is no such cluster; Optuna is missing.
    """
    trials = plan_trials(sweep)
    search = _search(sweep)
    folder = folder.resolve()
    if resume:
        require_same_sweep(sweep, folder)
    else:
        begin(sweep, folder)
    Watch.audience = Audience(sweep, len(trials) or sweep.trials, watch, say)
    try:
        with cluster(sweep, address):
            grid = _tuner(sweep, folder, trials, search).fit()
    finally:
        Watch.audience = None
    outcome = SweepOutcome(sweep, folder, _outcomes(sweep, grid, folder))
    outcome.write()
    return outcome


def _outcomes(sweep: SweepConfig, grid: tune.ResultGrid, folder: Path) -> list[TrialOutcome]:
    """Return how every trial has ended, in order, and write tracebacks into the folders of failed ones."""
    found = []
    try:
        ended = [grid[i] for i in range(len(grid))]
    except EOFError as error:
        raise SsdgymError(
            f"{folder}: what Ray kept of a failed trial is cut short, most likely for want of space; free "
            f"some, then go on with --resume {folder}"
        ) from error
    for one in ended:
        number, parameters = (one.config or {})["trial"].values()
        own = trial_folder(folder, number)
        if sweep.scheduler.kind == "pbt" and (records := records_of(own)):
            parameters = records[-1].parameters
        trial = plan_trial(sweep, number, parameters)
        found.append(outcome_of(trial, sweep.metric, folder, _keep_error(one.error, own)))
    return sorted(found, key=lambda outcome: outcome.trial.number)


def _keep_error(error: Exception | None, own: Path) -> str:
    """Return an error in a sentence, and keep its traceback in the folder of its trial."""
    traceback = own / "error.txt"
    if error is None:
        traceback.unlink(missing_ok=True)
        return ""
    writable_folder(own)
    write_bytes(traceback, str(error).encode())
    return f"{last_line(error)} (traceback in {traceback})"


def _run_trial(config: dict[str, Any], sweep: dict[str, Any], folder: str) -> None:
    """Run one trial in a worker of Ray."""
    model = SweepConfig.model_validate(sweep)
    number, parameters = config["trial"]["number"], config["trial"]["parameters"]
    trial = plan_trial(model, number, parameters)
    own = trial_folder(Path(folder), number)
    if trial.in_population:
        run_member(trial, model.metric, own, _begin_with(), _report_stage)
        return

    def tell(report: TrialReport) -> None:
        tune.report({"metric": report.metric, "percent": report.percent})

    begin_trial(own, parameters)
    run_trial(trial, model.metric, own, tell)


def _begin_with() -> Path | None:
    """Return the folder of the stage that a member goes on with: its own, or that of the one it copies."""
    checkpoint = tune.get_checkpoint()
    if checkpoint is None:
        return None
    with checkpoint.as_directory() as folder:
        return Path(json.loads(Path(folder, _CHECKPOINT).read_text(encoding="utf-8"))["folder"])


def _report_stage(report: TrialReport, own: Path) -> None:
    """Report a stage of a member to Ray.

    What Ray copies as a checkpoint is the name of the stage's folder, which all nodes share; the network, the
    optimiser and the replay buffer stay there.
    """
    result = {"metric": report.metric, "percent": report.percent}
    if report.percent >= ALL:
        tune.report(result)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_bytes(Path(folder, _CHECKPOINT), json.dumps({"folder": str(own)}).encode())
        checkpoint = tune.Checkpoint.from_directory(folder)
        tune.report({**result, "stage": int(own.name)}, checkpoint=checkpoint)


def _tuner(sweep: SweepConfig, folder: Path, trials: list[Trial], search: Any) -> tune.Tuner:
    trainable = tune.with_resources(
        tune.with_parameters(_run_trial, sweep=sweep.model_dump(mode="json"), folder=str(folder)),
        {"cpu": sweep.cpus_per_trial},
    )
    state = folder / _RAY_FOLDER
    shutil.rmtree(state, ignore_errors=True)  # of a sweep that was killed; trials have their own folders
    points: list[dict[str, Any]] = [
        {"number": trial.number, "parameters": trial.parameters} for trial in trials
    ]
    return tune.Tuner(
        trainable,
        param_space={} if search else {"trial": tune.grid_search(points)},
        tune_config=tune.TuneConfig(
            search_alg=search,
            num_samples=sweep.trials if search else 1,
            scheduler=_scheduler(sweep),
            # members that wait for others count as concurrent, too
            max_concurrent_trials=None if sweep.scheduler.kind == "pbt" else sweep.concurrent,
            reuse_actors=True,
            trial_dirname_creator=_folder_name,
        ),
        run_config=tune.RunConfig(name=_RAY_FOLDER, storage_path=str(folder), callbacks=[Watch()], verbose=0),
    )


def _folder_name(trial: Any) -> str:
    """Return the name of a trial's folder within that of Ray."""
    return f"{trial.config['trial']['number']:04d}-{trial.trial_id}"


def _search(sweep: SweepConfig) -> Any:
    if sweep.search.kind == "draws":
        return None
    from ssdgym.experiments.tuning.on_ray import OptunaRounds

    return OptunaRounds(sweep)


def _scheduler(sweep: SweepConfig) -> Any:
    from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

    from ssdgym.experiments.tuning.on_ray import Population

    if sweep.scheduler.kind == "pbt":
        return Population(sweep)
    if not isinstance(sweep.scheduler, AshaConfig):
        return FIFOScheduler()
    return ASHAScheduler(
        time_attr="percent",
        metric="metric",
        mode=sweep.mode,
        max_t=ALL,
        grace_period=sweep.scheduler.grace_percent,
        reduction_factor=sweep.scheduler.reduction_factor,
    )
