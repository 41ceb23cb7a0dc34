"""Run a sweep on Ray Tune: many trials at a time, on this machine or on a cluster.

Ray starts and stops trials and remembers which ones have ended. All other state of a trial is in its own
folder (`ssdgym.experiments.tuning.trial`); a trial that Ray runs again goes on there, and no finished run is
repeated.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.config import AshaConfig, SweepConfig
from ssdgym.experiments.tuning.folder import begin, require_same_sweep, trial_folder
from ssdgym.experiments.tuning.outcome import SweepOutcome, outcome_of
from ssdgym.experiments.tuning.plan import Trial, plan_trial, plan_trials
from ssdgym.experiments.tuning.trial import ALL, TrialReport, run_trial
from ssdgym.files import writable_folder, write_bytes

# Ray reads these as it is imported: no usage reports, no printing (its newer output prints a summary whatever
# its verbosity), no handler of SIGINT, no logs beside our results, and a state of the trials that have ended
# which is written every second.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
for _name, _value in _SETTINGS.items():
    os.environ.setdefault(_name, _value)

try:
    import ray
    from ray import tune
except ModuleNotFoundError as error:
    raise SsdgymError(
        f"a sweep needs the package {error.name}: install it with pip install 'ssdgym[tune]'"
    ) from error

_RAY_FOLDER = "ray"
#: Trials pass reports, not arrays; this is the least that Ray takes.
_OBJECT_STORE_BYTES = 80 << 20


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        trials: in all.
        done: trials that have ended.
        failed: those of them that failed.
        running: trials that run now.
        share: of the work, in trials, those that run counted by what they have done.
        best: the best metric so far; `None` before the first report.
    """

    trials: int
    done: int
    failed: int
    running: int
    share: float
    best: float | None


Watcher = Callable[[SweepProgress], None]


def run_sweep(
    sweep: SweepConfig,
    folder: Path,
    *,
    resume: bool = False,
    address: str | None = None,
    watch: Watcher | None = None,
) -> SweepOutcome:
    """Run all trials of a sweep, or those that have not ended yet, and write what came of them.

    Under a FIFO scheduler the outcome depends on the sweep alone, not on how often it was killed and resumed.
    ASHA compares trials as they happen to run, and after a resumption with those only that run from then on.

    Args:
        sweep: what to run.
        folder: for all its files, made where missing; on a cluster, one that all nodes share. Nobody else may
            be able to write to it: Ray keeps pickles there.
        resume: go on with the sweep in `folder`.
        address: of a Ray cluster; by default, a local one for the duration of the sweep.
        watch: called as trials get on.

    Returns:
        The outcome, whose files have been written. Trials that failed are in it and end nothing else.

    Raises:
        SsdgymError: the sweep is wrongly configured; `folder` cannot be written, holds a sweep that is not
            to be resumed, or not the one that is; there is no such cluster.
    """
    trials = plan_trials(sweep)
    folder = folder.resolve()
    if resume:
        require_same_sweep(sweep, folder)
    else:
        begin(sweep, folder)
    with _cluster(sweep, address):
        grid = _tuner(sweep, folder, trials, watch).fit()
    try:
        errors = _errors(grid, folder)
    except EOFError as error:
        raise SsdgymError(
            f"{folder}: what Ray kept of a failed trial is cut short, most likely for want of space; free "
            f"some, then go on with --resume {folder}"
        ) from error
    outcomes = [outcome_of(trial, sweep.metric, folder, errors.get(trial.number, "")) for trial in trials]
    outcome = SweepOutcome(sweep, folder, outcomes)
    outcome.write()
    return outcome


def _errors(grid: tune.ResultGrid, folder: Path) -> dict[int, str]:
    """Return the error of every failed trial by number, and write its traceback into the trial's folder."""
    errors = {}
    for ended in (grid[i] for i in range(len(grid))):
        number = (ended.config or {})["trial"]
        traceback = trial_folder(folder, number) / "error.txt"
        if ended.error is None:
            traceback.unlink(missing_ok=True)
            continue
        text = str(ended.error)
        writable_folder(traceback.parent)
        write_bytes(traceback, text.encode())
        errors[number] = f"{_sentence(ended.error)} (traceback in {traceback})"
    return errors


def _run_trial(config: dict[str, Any], sweep: dict[str, Any], folder: str) -> None:
    """Run one trial in a worker of Ray."""
    model = SweepConfig.model_validate(sweep)
    trial = plan_trial(model, config["trial"])

    def tell(report: TrialReport) -> None:
        tune.report({"metric": report.metric, "percent": report.percent})

    run_trial(trial, model.metric, trial_folder(Path(folder), trial.number), tell)


def _tuner(sweep: SweepConfig, folder: Path, trials: list[Trial], watch: Watcher | None) -> tune.Tuner:
    trainable = tune.with_resources(
        tune.with_parameters(_run_trial, sweep=sweep.model_dump(mode="json"), folder=str(folder)),
        {"cpu": sweep.cpus_per_trial},
    )
    _Watch.watcher, _Watch.mode, _Watch.trials = watch, sweep.mode, len(trials)
    state = folder / _RAY_FOLDER
    # Killed early, Ray has left a tuner and no state of an experiment; all trials go on from their folders.
    if tune.Tuner.can_restore(str(state)) and any(state.glob("experiment_state-*.json")):
        return tune.Tuner.restore(str(state), trainable=trainable, resume_errored=True)
    return tune.Tuner(
        trainable,
        param_space={"trial": tune.grid_search([trial.number for trial in trials])},
        tune_config=tune.TuneConfig(
            metric="metric",
            mode=sweep.mode,
            scheduler=_scheduler(sweep),
            max_concurrent_trials=sweep.concurrent,
        ),
        run_config=tune.RunConfig(
            name=_RAY_FOLDER, storage_path=str(folder), callbacks=[_Watch()], verbose=0
        ),
    )


def _scheduler(sweep: SweepConfig) -> Any:
    from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

    if not isinstance(sweep.scheduler, AshaConfig):
        return FIFOScheduler()
    return ASHAScheduler(
        time_attr="percent",
        max_t=ALL,
        grace_period=sweep.scheduler.grace_percent,
        reduction_factor=sweep.scheduler.reduction_factor,
    )


class _Watch(tune.Callback):
    """Pass progress on to a watcher.

    Ray pickles callbacks, and unpickles them to restore a sweep; the class keeps what cannot be pickled.
    """

    watcher: ClassVar[Watcher | None] = None
    mode: ClassVar[str] = "min"
    trials: ClassVar[int] = 0  # Ray makes them as it goes

    def on_step_end(self, iteration: int, trials: list[Any], **_: Any) -> None:
        """Tell the watcher how far the trials are."""
        watcher = type(self).watcher
        if watcher is None:
            return
        states = [trial.status for trial in trials]
        ended = [state in ("TERMINATED", "ERROR") for state in states]
        shares = [
            1.0 if over else (trial.last_result or {}).get("percent", 0) / ALL
            for trial, over in zip(trials, ended, strict=True)
        ]
        metrics = [trial.last_result["metric"] for trial in trials if "metric" in (trial.last_result or {})]
        best = (min if self.mode == "min" else max)(metrics, default=None)
        running, failed = states.count("RUNNING"), states.count("ERROR")
        watcher(SweepProgress(self.trials, sum(ended), failed, running, sum(shares), best))


@contextmanager
def _cluster(sweep: SweepConfig, address: str | None) -> Iterator[None]:
    """Connect to a cluster or start one for the block; use one that is there already, and leave it."""
    if ray.is_initialized():
        yield
        return
    common: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    try:
        if address is None:
            cores = len(os.sched_getaffinity(0))
            wanted = min(sweep.concurrent * sweep.cpus_per_trial, cores)
            ray.init(
                address="local",  # never one that happens to run on this machine
                num_cpus=max(wanted, sweep.cpus_per_trial),
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                **common,
            )
        else:
            ray.init(address=address, **common)
    except (ConnectionError, ValueError, RuntimeError) as error:
        what = address or "local"
        raise SsdgymError(f"the Ray cluster {what} cannot be used ({_sentence(error)})") from error
    try:
        yield
    finally:
        ray.shutdown()


def _sentence(error: BaseException) -> str:
    """Return the last line of an error; Ray puts the traceback of the worker in front of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix(f"{SsdgymError.__module__}.SsdgymError: ") if lines else repr(error)
