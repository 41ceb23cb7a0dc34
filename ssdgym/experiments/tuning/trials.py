"""One trial of a sweep: what it varies, and the configuration that makes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdgym.config.fields import dotted, with_changes
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import check_runs
from ssdgym.experiments.runs.spec import RunSpec, ftl_changes, ftl_label
from ssdgym.experiments.tuning.config import (
    FIRST_HELD_OUT_SEED,
    AgentBaseConfig,
    Parameters,
    PbtConfig,
    PolicyBaseConfig,
    SweepConfig,
)

if TYPE_CHECKING:
    from ssdgym.agents.training.config import TrainConfig


@dataclass(frozen=True)
class Trial:
    """One trial: what the sweep varies, and what that makes.

    Attributes:
        number: from 0 on.
        parameters: the swept fields.
        label: what results call its policy.
        runs: one for each held-out workload and seed; the agent's file is filled in when there is one.
        training: how the agent is trained; `None` where a heuristic is measured.
        in_population: whether its parameters change while it is trained.
    """

    number: int
    parameters: Parameters
    label: str
    runs: tuple[RunSpec, ...]
    training: TrainConfig | None = None
    in_population: bool = False

    def command(self, agent: Path | None, seeds: Sequence[int]) -> str:
        """Return the `ssdgym evaluate` that measures this trial on other seeds.

        Args:
            agent: file of the trained agent; `None` for a heuristic.
            seeds: consecutive ones.
        """
        first = self.runs[0]
        who = ["--agent", str(agent)] if agent else ["--policy", first.policy]
        words = ["ssdgym", "evaluate", *who, "--device", first.device]
        for name, value in first.ftl:
            words += ["--ftl", f"{name}={value}"]
        for workload in dict.fromkeys(run.workload for run in self.runs):
            words += ["--workload", workload]
        words += ["--seeds", f"{seeds[0]}-{seeds[-1]}", "--host-pages", str(first.host_pages)]
        words += ["--warmup", str(first.warmup)]
        if first.preconditioning != "workload":
            words += ["--preconditioning", first.preconditioning]
        return shlex.join(words)


def plan_trial(sweep: SweepConfig, number: int, parameters: Parameters) -> Trial:
    """Return one trial of a sweep.

    Args:
        sweep: which.
        number: of the trial, from 0 on.
        parameters: the swept fields.

    Raises:
        SsdgymError: a field does not exist or a value does not fit, naming the trial.
    """
    try:
        if isinstance(sweep.base, AgentBaseConfig):
            return _agent_trial(sweep, sweep.base, number, parameters)
        return _policy_trial(sweep, sweep.base, number, parameters)
    except SsdgymError as error:
        raise about(number, parameters, error) from None


def about(number: int, parameters: Parameters, error: SsdgymError) -> SsdgymError:
    """Return an error that names its trial.

    Args:
        number: of the trial.
        parameters: the swept fields.
        error: what is wrong with it.
    """
    return SsdgymError(f"{_label(number, parameters)}: {error}")


def _label(number: int, parameters: Parameters) -> str:
    return f"trial {number} ({', '.join(f'{name}={value}' for name, value in parameters.items())})"


def _agent_trial(sweep: SweepConfig, base: AgentBaseConfig, number: int, parameters: Parameters) -> Trial:
    from ssdgym.agents.training.config import TrainConfig
    from ssdgym.config.loading import load_config

    fields = load_config(TrainConfig, base.agent, "agents").model_dump()
    # one after the other, since a swept field may lie inside of one that all trials change
    fields = with_changes(with_changes(fields, base.changes), parameters)
    training = load_config(TrainConfig, fields, "agents")
    label = _label(number, parameters)
    population = isinstance(sweep.scheduler, PbtConfig)
    if population:
        _check_changeable(training, parameters)
        # members that copy each other would otherwise see the same episodes
        training = load_config(TrainConfig, {**fields, "seed": training.seed + number}, "agents")
        label = f"trial {number}"  # its parameters change on the way
    kwargs = training.environment.kwargs
    evaluation = sweep.evaluation
    device = argument(training, kwargs, "device") if evaluation.device is None else evaluation.device
    ftl = kwargs.get("ftl") or {} if evaluation.ftl is None else evaluation.ftl
    if not isinstance(device, str):
        raise SsdgymError("the training's device is not the name of one; set evaluation.device.")
    runs = _runs(
        sweep, device, ftl, policy=label, agent=Path("agent.zip"), objective=_text(kwargs.get("objective"))
    )
    return Trial(number, parameters, label, runs, training, in_population=population)


def _check_changeable(training: TrainConfig, parameters: Parameters) -> None:
    """Raise if a swept field cannot change between two checkpoints of a training."""
    allowed = training.changeable()
    for name in parameters:
        if name not in allowed:
            raise SsdgymError(
                f"scheduler pbt cannot change {name} while an agent is trained; it can change "
                f"{', '.join(sorted(allowed))}."
            )


def _policy_trial(sweep: SweepConfig, base: PolicyBaseConfig, number: int, parameters: Parameters) -> Trial:
    from ssdgym.policy import get_policy

    of_policy: dict[str, Any] = {}
    top: dict[str, Any] = {"policy": base.policy, "device": base.device}
    # all names dotted, so that a swept option replaces that of the base
    ftl = dict(dotted(base.ftl))
    for name, value in parameters.items():
        first, _, rest = name.partition(".")
        if name in top:
            top[name] = value
        elif first == "policy" and rest:
            of_policy[rest] = value
        elif first == "ftl" and rest:
            ftl[rest] = value
        else:
            raise SsdgymError(
                f"there is no field {name} to sweep; there are policy, policy.PARAMETER, device and "
                "ftl.OPTION."
            )
    policy = get_policy(top["policy"]).with_parameters(of_policy)
    runs = _runs(
        sweep, top["device"], ftl, policy=policy.label, agent=None, preconditioning=base.preconditioning
    )
    return Trial(number, parameters, policy.label, runs)


def _runs(
    sweep: SweepConfig, device: str, ftl: Mapping[str, Any], *, policy: str, agent: Path | None, **fields: Any
) -> tuple[RunSpec, ...]:
    evaluation = sweep.evaluation
    if not isinstance(ftl, Mapping):
        raise SsdgymError(f"ftl must be a mapping of fields to values, not {ftl!r:.60}.")
    return tuple(
        RunSpec(
            device=device,
            workload=workload,
            policy=policy,
            seed=seed,
            ftl=dotted(ftl),
            host_pages=evaluation.host_pages,
            warmup=evaluation.warmup,
            agent=agent,
            **fields,
        )
        for seed in evaluation.all_seeds
        for workload in evaluation.workloads
    )


def argument(training: TrainConfig, kwargs: dict[str, Any], name: str) -> Any:
    """Return an argument of the training's environment: as given, or its default.

    Args:
        training: has the environment.
        kwargs: arguments that are given.
        name: of the argument.
    """
    from ssdgym.agents.training.config import default_of

    return kwargs[name] if name in kwargs else default_of(training.environment.id, name)


def _text(objective: Any) -> str:
    return "" if objective is None else str(objective)


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
    from ssdgym.agents.training.config import check_arguments
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
