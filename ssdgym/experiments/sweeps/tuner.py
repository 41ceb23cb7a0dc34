"""Run a sweep on Ray Tune: many trials at a time, on this machine or on a cluster."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import ssdgym
from ssdgym.errors import SsdgymError, needing
from ssdgym.experiments.runs.evaluate import Progress
from ssdgym.experiments.runs.ray_runner import cluster
from ssdgym.experiments.sweeps.config import OptunaConfig, SpaceConfig, SweepConfig
from ssdgym.experiments.sweeps.outcome import SweepOutcome, last_line, outcome_of
from ssdgym.experiments.sweeps.trials import ALL, Measurement, check_sweep, in_words, plan_trial, run_trial
from ssdgym.files import writable_folder, write_atomically
from ssdgym.own_code import import_modules, named_modules

# Ray reads these settings when it is imported: it sends no usage statistics, prints in its old style (the new
# one always prints a summary), does not handle SIGINT, and keeps the working folder of this process.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
for _name, _setting in _SETTINGS.items():
    os.environ.setdefault(_name, _setting)

with needing("tune", "a sweep needs"):
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler
    from ray.tune.search.basic_variant import BasicVariantGenerator
    from ray.tune.search.optuna import OptunaSearch

_RECORD = "sweep.json"
_RAY_FOLDER = "ray"
_AGENTS = "agents"

Say = Callable[[str], None]


def run_sweep(
    sweep: SweepConfig,
    folder: Path,
    *,
    resume: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> SweepOutcome:
    """Run the trials of a sweep; write and return the outcome. A failed trial does not end the sweep.

    Args:
        sweep: configuration of the sweep.
        folder: folder for all files, created if missing; on a cluster, a folder that all nodes share.
        resume: whether to resume the sweep in `folder`: only trials that failed or have not ended are run.
        address: address of a Ray cluster; None: a cluster is started on this machine for the sweep.
        progress: function to call with (trials ended, trials in all).
        say: function to call with a line of text when a trial ends.

    Raises:
        SsdgymError: the sweep is wrongly configured; `folder` cannot be written; `folder` is not empty,
            or for `resume` does not contain this sweep; there is no such cluster; Optuna is missing.
    """
    check_sweep(sweep)
    search = _search(sweep)
    folder = folder.resolve()
    _begin(sweep, folder, resume=resume)
    trainable = tune.with_resources(
        tune.with_parameters(
            _run_trial, sweep=sweep.model_dump(mode="json"), folder=str(folder), modules=named_modules()
        ),
        {"cpu": sweep.cpus_per_trial},
    )
    state = str(folder / _RAY_FOLDER)
    _Lines.say, _Lines.progress, _Lines.trials = say, progress, sweep.number_of_trials
    try:
        cores = min(sweep.concurrent * sweep.cpus_per_trial, len(os.sched_getaffinity(0)))
        with cluster(address, max(cores, sweep.cpus_per_trial)):
            if resume and tune.Tuner.can_restore(state):
                tuner = tune.Tuner.restore(state, trainable, resume_errored=True)
            else:
                tuner = _tuner(sweep, folder, trainable, search)
            grid = tuner.fit()
    finally:
        _Lines.say = _Lines.progress = None
    outcome = SweepOutcome(
        sweep, folder, [outcome_of(sweep, number, grid[number]) for number in range(len(grid))]
    )
    outcome.write()
    return outcome


def _begin(sweep: SweepConfig, folder: Path, *, resume: bool) -> None:
    """Write the configuration of a sweep into its folder; for a resumed sweep, raise if it has changed."""
    from ssdgym.engine.compiler.cache import engine_hash

    path = folder / _RECORD
    record = {
        **sweep.model_dump(mode="json", exclude={"sizes", "description"}),
        "version": ssdgym.__version__,
        "engine_hash": engine_hash(),
    }
    if not resume:
        writable_folder(folder)
        if path.exists():
            raise SsdgymError(
                f"{folder}: already holds a sweep; go on with it by --resume {folder}, or choose another "
                "folder"
            )
        if any(folder.iterdir()):
            raise SsdgymError(f"{folder}: holds other files; choose a new or an empty folder with --out")
        write_atomically(path, json.dumps(record, indent=2).encode())
        return
    try:
        saved = dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise SsdgymError(
            f"{folder}: holds no sweep to go on with; correct --resume or leave it out"
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise SsdgymError(
            f"{path}: not the record of a sweep, or a damaged one; begin a new sweep"
        ) from error
    for name, value in record.items():
        if saved.get(name) != value:
            raise SsdgymError(
                f"{folder}: holds a sweep with another {name}; resume it as it was begun, or choose another "
                "folder with --out"
            )
    writable_folder(folder)


def _tuner(sweep: SweepConfig, folder: Path, trainable: Any, search: Any) -> tune.Tuner:
    return tune.Tuner(
        trainable,
        param_space={name: _domain(field) for name, field in sweep.space.items()},
        tune_config=tune.TuneConfig(
            metric="metric",
            mode=sweep.mode,
            search_alg=search,
            num_samples=sweep.trials,
            scheduler=_scheduler(sweep),
            max_concurrent_trials=sweep.concurrent,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            name=_RAY_FOLDER,
            storage_path=str(folder),
            stop={"percent": ALL},
            callbacks=[_Lines()],
            verbose=0,
        ),
    )


def _domain(field: SpaceConfig) -> Any:
    """Return the domain from which Ray draws a field."""
    if field.grid:
        return tune.grid_search(list(field.grid))
    return tune.choice(list(field.choice)) if field.choice else getattr(tune, field.kind)(*field.values)


def _search(sweep: SweepConfig) -> Any:
    """Return Ray's search algorithm, which chooses the parameters of trials."""
    if not isinstance(sweep.search, OptunaConfig):
        return BasicVariantGenerator(random_state=sweep.seed)
    with needing("tune", "search optuna needs"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return OptunaSearch(
        sampler=optuna.samplers.TPESampler(
            n_startup_trials=sweep.search.startup_trials, seed=sweep.seed % 2**32
        )
    )


def _scheduler(sweep: SweepConfig) -> Any:
    """Return Ray's scheduler, which may stop trials early; None: no trial stops early."""
    scheduler = sweep.scheduler
    if scheduler is None:
        return None
    return ASHAScheduler(
        time_attr="percent",
        max_t=ALL,
        grace_period=scheduler.grace_percent,
        reduction_factor=scheduler.reduction_factor,
    )


def _run_trial(
    parameters: dict[str, Any], sweep: dict[str, Any], folder: str, modules: Sequence[str]
) -> None:
    """Run one trial in a worker of Ray."""
    import_modules(modules)
    model = SweepConfig.model_validate(sweep)
    trial_id = tune.get_context().get_trial_id()
    trial = plan_trial(model, parameters)
    with tempfile.TemporaryDirectory() as own:
        if checkpoint := tune.get_checkpoint():
            checkpoint.to_directory(own)

        def report(found: Measurement) -> None:
            tune.report(found, checkpoint=tune.Checkpoint.from_directory(own))

        run_trial(trial, model.metric, Path(own), Path(folder, _AGENTS, f"{trial_id}.zip"), report)


class _Lines(tune.Callback):
    """Report the end of each trial by `say` and `progress`.

    These are attributes of the class, because Ray pickles the object and they cannot be pickled.
    """

    say: ClassVar[Say | None] = None
    progress: ClassVar[Progress | None] = None
    trials: ClassVar[int] = 0

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Report that a trial has finished or was stopped early."""
        percent, metric = trial.last_result.get("percent", 0), trial.last_result.get("metric", float("nan"))
        how = "finished" if percent >= ALL else f"stopped early at {percent} %"
        self._ended(trials, trial, f"{how}, {in_words({'metric': metric})}")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Report why a trial has failed."""
        try:
            reason = last_line(Path(trial.error_file).read_text(encoding="utf-8"))
        except (OSError, TypeError):
            reason = "Ray has kept no error"
        self._ended(trials, trial, f"failed: {reason}")

    def _ended(self, trials: list[Any], trial: Any, text: str) -> None:
        done, total = sum(one is trial or one.is_finished() for one in trials), _Lines.trials
        if _Lines.say:
            _Lines.say(
                f"{done} of {total} trials: trial {trials.index(trial)} ({in_words(trial.config)}) {text}"
            )
        if _Lines.progress:
            _Lines.progress(done, total)
