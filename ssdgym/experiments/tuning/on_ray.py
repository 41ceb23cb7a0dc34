"""Ray's side of a sweep: cluster, search, population-based training, and what is watched."""

from __future__ import annotations

import logging
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.config import OptunaConfig, Parameters, PbtConfig, RangeConfig, SweepConfig
from ssdgym.experiments.tuning.measuring import ALL

# Ray reads these as it is imported: no usage reports, no printing (its newer output prints a summary whatever
# its verbosity), no handler of SIGINT, and no logs beside our results.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
for _name, _setting in _SETTINGS.items():
    os.environ.setdefault(_name, _setting)

try:
    import ray
    from ray import tune
    from ray.tune.schedulers import PopulationBasedTraining
    from ray.tune.search.optuna import OptunaSearch
except ModuleNotFoundError as error:
    raise SsdgymError(
        f"a sweep needs the package {error.name}: install it with pip install 'ssdgym[tune]'"
    ) from error

__all__ = ["cluster", "last_line", "ray", "tune"]

#: Trials pass reports, not arrays; this is the least that Ray takes.
_OBJECT_STORE_BYTES = 80 << 20


@contextmanager
def cluster(sweep: SweepConfig, address: str | None) -> Iterator[None]:
    """Connect to a cluster or start one for the block; use one that is there already, and leave it.

    Args:
        sweep: says how many cores a local cluster needs.
        address: of a cluster that runs; None: a local one.

    Raises:
        SsdgymError: the cluster cannot be used.
    """
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
        what, hint = address or "local", ""
        if address is not None and "RAY_AUTH_MODE" not in os.environ:
            hint = "; see that it runs, and set RAY_AUTH_MODE=token if it asks for a token"
        raise SsdgymError(f"the Ray cluster {what} cannot be used ({last_line(error)}){hint}") from error
    try:
        yield
    finally:
        ray.shutdown()


def last_line(error: object) -> str:
    """Return the last line of an error; Ray puts the traceback of the worker in front of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix(f"{SsdgymError.__module__}.SsdgymError: ") if lines else repr(error)


try:
    import optuna
except ModuleNotFoundError as error:
    raise SsdgymError(
        f"search optuna needs the package {error.name}: install it with pip install 'ssdgym[tune]'"
    ) from error


class OptunaRounds(OptunaSearch):
    """Suggests in rounds of as many trials as run at a time, the next round when all results are there.

    Otherwise suggestions would depend on which of two trials has ended first, and no two sweeps, and no sweep
    that was killed and resumed, would have the same trials.

    Args:
        sweep: one with this search.
    """

    def __init__(self, sweep: SweepConfig) -> None:
        assert isinstance(sweep.search, OptunaConfig)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=sweep.search.startup_trials,
            seed=int(np.random.SeedSequence(sweep.seed).generate_state(1)[0]),
        )
        super().__init__(
            space=partial(_suggest, space=sweep.space), metric="metric", mode=sweep.mode, sampler=sampler
        )
        self._size = sweep.concurrent
        self._round: list[str] = []
        self._ended: dict[str, tuple[dict[str, Any] | None, bool]] = {}

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        """Return the parameters of the next trial; `None` while the round before is under way."""
        if len(self._round) == self._size:
            if len(self._ended) < self._size:
                return None
            for one in self._round:
                super().on_trial_complete(one, *self._ended[one])
            self._round, self._ended = [], {}
        self._round.append(trial_id)
        return super().suggest(trial_id)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Keep a result until its round is over."""
        self._ended[trial_id] = (result, error)


def _suggest(trial: Any, space: dict[str, RangeConfig]) -> dict[str, Any]:
    """Return the configuration of a trial of Optuna's."""
    parameters = {name: _value(trial, name, values) for name, values in space.items()}
    return {"trial": {"number": trial.number, "parameters": parameters}}


def _value(trial: Any, name: str, values: RangeConfig) -> Any:
    if values.choice:
        # by place, since Optuna takes only plain values as categories
        return values.choice[trial.suggest_categorical(name, list(range(len(values.choice))))]
    low, high, *_ = values.limits
    return values.nearest(trial.suggest_float(name, low, high, log=values.logarithmic))


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        trials: in all.
        done: trials that have ended.
        failed: those of them that failed.
        running: trials that run now.
        waiting: members of a population that wait for the others.
        share: of the work, in trials, those that run counted by what they have done.
        best: the best metric so far; `None` before the first report.
    """

    trials: int
    done: int
    failed: int
    running: int
    waiting: int
    share: float
    best: float | None


Watcher = Callable[[SweepProgress], None]


@dataclass
class Audience:
    """Who is told what.

    Attributes:
        sweep: the one that runs.
        trials: how many it has in all; Ray makes them as it goes.
        watch: called as trials get on.
        say: called with a line when a trial begins, ends or copies another one.
        begun: when each trial has begun, in seconds of a monotonic clock.
    """

    sweep: SweepConfig
    trials: int
    watch: Watcher | None
    say: Callable[[str], None] | None
    begun: dict[int, float] = field(default_factory=dict)


class Watch(tune.Callback):
    """Pass on what Ray tells.

    Ray pickles callbacks and schedulers; the class keeps what cannot be pickled.
    """

    audience: ClassVar[Audience | None] = None

    @classmethod
    def say(cls, text: str) -> None:
        """Pass a line on."""
        if cls.audience and cls.audience.say:
            cls.audience.say(text)

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Tell once that a trial begins; members of a population are started at every stage."""
        number = number_of(trial)
        if self.audience and number not in self.audience.begun:
            self.audience.begun[number] = time.monotonic()
            self.say(f"trial {number} begins: {in_words(trial.config['trial']['parameters'])}")

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Tell how a trial has ended."""
        result = trial.last_result or {}
        percent = result.get("percent", 0)
        how = "finished" if percent >= ALL else f"stopped early at {percent} %"
        self._tell_end(trial, f"{how}: {self._metric_name()} {result.get('metric', math.nan):.6g}")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Tell why a trial has failed."""
        self._tell_end(trial, f"failed: {_error_of(trial)}")

    def on_step_end(self, iteration: int, trials: list[Any], **_: Any) -> None:
        """Tell the watcher how far the trials are."""
        if self.audience is None or self.audience.watch is None:
            return
        states = [trial.status for trial in trials]
        ended = [state in ("TERMINATED", "ERROR") for state in states]
        results = [trial.last_result or {} for trial in trials]
        shares = [
            1.0 if over else result.get("percent", 0) / ALL
            for result, over in zip(results, ended, strict=True)
        ]
        metrics = [result["metric"] for result in results if "metric" in result]
        best = (min if self.audience.sweep.mode == "min" else max)(metrics, default=None)
        self.audience.watch(
            SweepProgress(
                trials=self.audience.trials,
                done=sum(ended),
                failed=states.count("ERROR"),
                running=states.count("RUNNING"),
                waiting=states.count("PAUSED"),
                share=sum(shares),
                best=best,
            )
        )

    def _tell_end(self, trial: Any, text: str) -> None:
        number = number_of(trial)
        begun = self.audience.begun.get(number) if self.audience else None
        seconds = "" if begun is None else f" ({time.monotonic() - begun:.0f} s)"
        self.say(f"trial {number} {text}{seconds}")

    def _metric_name(self) -> str:
        return self.audience.sweep.metric if self.audience else "metric"


def _error_of(trial: Any) -> str:
    """Return the last line of the error that Ray has written to a file."""
    try:
        return last_line(Path(trial.error_file).read_text(encoding="utf-8"))
    except (OSError, TypeError):
        return "Ray has kept no error"


def number_of(trial: Any) -> int:
    """Return the number of one of Ray's trials."""
    return int(trial.config["trial"]["number"])


def in_words(parameters: Parameters) -> str:
    """Return parameters as a line shows them."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


class Population(PopulationBasedTraining):
    """All members wait for each other at every stage, and then those that are worst copy those that are best.

    Args:
        sweep: one with this scheduler.
    """

    def __init__(self, sweep: SweepConfig) -> None:
        assert isinstance(sweep.scheduler, PbtConfig)
        super().__init__(
            time_attr="stage",
            metric="metric",
            mode=sweep.mode,
            perturbation_interval=1,
            hyperparam_mutations={
                "trial": {"parameters": {name: _mutation(values) for name, values in sweep.space.items()}}
            },
            quantile_fraction=sweep.scheduler.quantile,
            resample_probability=sweep.scheduler.resample_probability,
            perturbation_factors=sweep.scheduler.factors,
            custom_explore_fn=partial(_within_limits, space=sweep.space),
            log_config=False,
            # the last report has no stage, since nobody is to begin anything anew after it
            require_attrs=False,
            synch=True,
        )
        self._seed = sweep.seed

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Let the others go on where they have waited for this one.

        Ray compares the members when the last of them reports, which this one no longer does.
        """
        super().on_trial_error(tune_controller, trial)
        state: Any = self._trial_state[trial]
        state.last_train_time, state.last_score = self._next_perturbation_sync, math.nan
        others = [one for one in tune_controller.get_live_trials() if one is not trial]
        waiting = [self._trial_state[one].last_train_time >= self._next_perturbation_sync for one in others]
        if others and all(waiting):
            first: Any = self._trial_state[others[0]].last_result
            self.on_trial_result(tune_controller, others[0], first)

    def _checkpoint_or_exploit(self, trial: Any, *args: Any) -> None:
        # Ray draws from the global generator, which others use, too
        before = random.getstate()
        random.seed(f"{self._seed} {number_of(trial)} {self._trial_state[trial].last_train_time}")
        try:
            super()._checkpoint_or_exploit(trial, *args)
        finally:
            random.setstate(before)

    def _get_new_config(self, trial: Any, trial_to_clone: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        config, operations = super()._get_new_config(trial, trial_to_clone)
        config["trial"]["number"] = number_of(trial)
        stage = self._trial_state[trial].last_train_time
        parameters = in_words(config["trial"]["parameters"])
        Watch.say(
            f"trial {number_of(trial)} copies trial {number_of(trial_to_clone)} after stage {stage}: "
            f"{parameters}"
        )
        return config, operations


def _mutation(values: RangeConfig) -> Any:
    """Return what Ray needs to change a value: a list to move in, or a function that draws anew."""
    return list(values.choice) if values.choice else partial(_draw, values)


def _draw(values: RangeConfig) -> Any:
    return values.draw(np.random.default_rng(random.getrandbits(64)))


def _within_limits(config: dict[str, Any], space: dict[str, RangeConfig]) -> dict[str, Any]:
    """Put numbers that have been multiplied back into their ranges."""
    parameters = config["trial"]["parameters"]
    for name, values in space.items():
        if not values.choice:
            parameters[name] = values.nearest(parameters[name])
    return config
