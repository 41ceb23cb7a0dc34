"""The trials of a sweep, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import check_runs
from ssdgym.experiments.runs.run_spec import ftl_changes, ftl_label
from ssdgym.experiments.tuning.config import FIRST_HELD_OUT_SEED, SweepConfig
from ssdgym.experiments.tuning.ranges import Parameters
from ssdgym.experiments.tuning.trials import Trial, about, argument, plan_trial

if TYPE_CHECKING:
    from ssdgym.agents.config import TrainConfig

#: Fields of a workload that leave what it writes as it is.
_NOT_WRITES = {
    "requests",
    "interarrival_ns",
    "arrivals",
    "burst_requests",
    "burst_interarrival_ns",
    "flush_every",
    "read_fraction",
}


def plan_trials(sweep: SweepConfig) -> list[Trial]:
    """Return the trials that are known before anything runs, each of them checked.

    Of a search, which chooses as results come in, there are none yet. Where values are chosen on the way, all
    that are listed and all limits are checked, too.

    Raises:
        SsdgymError: a swept field does not exist or a value does not fit, naming the trial; the evaluation
            uses a workload or a seed of the training; the metric does not exist; a population is to change
            what cannot change on the way.
    """
    searched = sweep.search.kind == "optuna"
    population = sweep.scheduler.kind == "pbt"
    trials = _plan_all(sweep, sweep.parameters())
    probes = _plan_all(sweep, sweep.probes()) if searched or population else []
    for trial in [*trials, *probes]:
        _check(trial, sweep)
    _check_metric(sweep, trials)
    return [] if searched else trials


def _plan_all(sweep: SweepConfig, points: Sequence[Parameters]) -> list[Trial]:
    return [plan_trial(sweep, number, parameters) for number, parameters in enumerate(points)]


def _check(trial: Trial, sweep: SweepConfig) -> None:
    """Check everything that a trial's configuration names."""
    try:
        check_runs(trial.runs)
        if trial.training is not None:
            _check_training(trial.training)
            _check_held_out(trial.training, sweep)
    except SsdgymError as error:
        raise about(trial.number, trial.parameters, error) from None


def _check_training(training: TrainConfig) -> None:
    """Check the environment's arguments, and that there are its device and its FTL options."""
    from ssdgym.agents.environments import check_arguments
    from ssdgym.config.device import load_device, with_ftl
    from ssdgym.workloads.stream import load_workload

    learning = training.environment.kwargs
    for workload in training.evaluation.workloads:
        load_workload(workload)
    for kwargs in (learning, {**learning, **training.evaluation.kwargs}):
        check_arguments(training.environment.id, kwargs)
        for device in _several(argument(training, kwargs, "device")):
            with_ftl(load_device(device), kwargs.get("ftl"))


def _check_held_out(training: TrainConfig, sweep: SweepConfig) -> None:
    """Raise if an agent is judged by workloads or seeds that it is trained or validated on."""
    used = [argument(training, training.environment.kwargs, "workload")]
    used += [training.evaluation.kwargs["workload"]] if "workload" in training.evaluation.kwargs else []
    used += list(training.evaluation.workloads)
    trained_on = [_writes(workload) for several in used for workload in _several(several)]
    for workload in sweep.evaluation.workloads:
        if _writes(workload) in trained_on:
            raise SsdgymError(
                f"evaluation.workloads has {workload}, whose writes the agent is trained on; choose others."
            )
    seeds, validation = sweep.evaluation.all_seeds, training.evaluation
    if seeds[0] < FIRST_HELD_OUT_SEED:
        raise SsdgymError(
            f"evaluation.first_seed is {seeds[0]}, and training draws seeds from below "
            f"{FIRST_HELD_OUT_SEED}; begin at that number."
        )
    if seeds[0] < validation.first_seed + validation.episodes and validation.first_seed <= seeds[-1]:
        raise SsdgymError(
            f"evaluation has the seeds {seeds[0]} to {seeds[-1]}, and the training validates on "
            f"{validation.first_seed} to {validation.first_seed + validation.episodes - 1}; choose others."
        )


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _writes(workload: Any) -> dict[str, Any]:
    """Return the fields of a workload that determine its writes."""
    from ssdgym.workloads.stream import load_workload

    fields: dict[str, Any] = load_workload(workload).model_dump(exclude=_NOT_WRITES)
    return fields


def _check_metric(sweep: SweepConfig, trials: Sequence[Trial]) -> None:
    """Raise if the metric does not exist, or needs time that the device does not simulate."""
    from ssdgym.simulator import Simulator

    first = trials[0].runs[0]
    simulator = Simulator(first.device, ftl=ftl_changes(first.ftl), policy=None)
    names = list(_metric_names(simulator.metrics()))
    if sweep.metric not in names:
        raise SsdgymError(
            f"there is no metric {sweep.metric!r}; correct metric to one of {', '.join(names)}."
        )
    timed = "latency" in sweep.metric or sweep.metric == "duration_ns"
    if timed and simulator.device.ftl.timing == "none":
        raise SsdgymError(
            f"the metric {sweep.metric} needs time, and the evaluation's FTL has timing none "
            f"({ftl_label(first.ftl)}); set timing event."
        )


def _metric_names(metrics: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Yield the names of metrics, nested ones joined with `/`."""
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            yield from _metric_names(value, f"{before}{name}/")
        else:
            yield before + name
