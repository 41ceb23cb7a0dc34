"""The trials of a sweep: plan them, check all of them before any of them runs, run and measure one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from ssdgym.agents.training.config import TrainConfig, check_arguments, default_of
from ssdgym.config.device import load_device, with_ftl
from ssdgym.config.fields import dotted, with_changes
from ssdgym.config.loading import load_config
from ssdgym.envs.decisions import SIZES
from ssdgym.envs.sources import named_workloads
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.report.comparison import score_matrix
from ssdgym.experiments.results import Result, read_results, write_results
from ssdgym.experiments.runs.config import closed_loop, numbered
from ssdgym.experiments.runs.evaluate import check_runs, run_all
from ssdgym.experiments.runs.spec import RunSpec, ftl_changes, ftl_label, source_name
from ssdgym.experiments.statistics import geometric_mean_over_tasks, stratified_bootstrap
from ssdgym.experiments.sweeps.config import (
    FIRST_HELD_OUT_SEED,
    AgentTrialConfig,
    Parameters,
    PolicyTrialConfig,
    RuleTrialConfig,
    SweepConfig,
)
from ssdgym.files import writable_folder, write_atomically
from ssdgym.own_code import named_modules
from ssdgym.policy import get_policy
from ssdgym.simulator import Simulator
from ssdgym.workloads.stream import load_workload

#: Percentage of its work that a finished trial has done.
ALL = 100
RESULTS = "results.parquet"


@dataclass(frozen=True)
class Trial:
    """One trial of a sweep.

    Attributes:
        parameters: value of each field of the space, by dotted name.
        runs: one run for each held-out workload and seed. The path of a trained agent is set by `run_trial`.
        training: configuration of the agent's training; `None` for a heuristic or a rule.
    """

    parameters: Parameters
    runs: tuple[RunSpec, ...]
    training: TrainConfig | None = None

    @property
    def measured_runs(self) -> list[RunSpec]:
        """The runs with the queue depth that `evaluate` and `leaderboard` set; see `closed_loop`."""
        return [replace(run, ftl=closed_loop(run.ftl, load_workload(run.workload))) for run in self.runs]

    def command(self, agent: Path | None, seeds: Sequence[int], suite: str | None = None) -> str:
        """Return the shell command that measures this trial on `seeds`, or on a suite's validation split."""
        first = self.runs[0]
        player = agent or first.agent
        who = ["--agent", str(player)] if player else ["--policy", first.policy]
        who += [f"--import={module}" for module in named_modules()]
        if suite is not None:
            return shlex.join(["ssdgym", "leaderboard", suite, "--split", "validation", *who])
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


def plan_trial(sweep: SweepConfig, parameters: Parameters) -> Trial:
    """Return the trial of a sweep with the given parameters."""
    with _naming(parameters):
        if isinstance(sweep.trial, AgentTrialConfig):
            return _agent_trial(sweep, sweep.trial, parameters)
        if isinstance(sweep.trial, RuleTrialConfig):
            return _rule_trial(sweep, sweep.trial, parameters)
        return _policy_trial(sweep, sweep.trial, parameters)


def in_words(parameters: Parameters) -> str:
    """Return parameters as text for one line."""
    return ", ".join(f"{name}={shown(value)}" for name, value in parameters.items())


def shown(value: Any) -> str:
    """Return a value as text; a fraction has at most six digits."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.6g}"


@contextmanager
def _naming(parameters: Parameters) -> Iterator[None]:
    """Put the parameters of a trial in front of the messages of errors in the `with` block."""
    try:
        yield
    except SsdgymError as error:
        raise SsdgymError(f"trial with {in_words(parameters)}: {error}") from None


def _agent_trial(sweep: SweepConfig, common: AgentTrialConfig, parameters: Parameters) -> Trial:
    from ssdgym.experiments.leaderboard.training import SuiteTrainConfig, training_of  # imports torch

    own = load_config(SuiteTrainConfig, common.agent, "training")
    fields = training_of(own)[0].model_dump()
    # applied one after the other, because a swept field may be inside a field that all trials change
    fields = with_changes(with_changes(fields, common.changes), parameters)
    training = load_config(TrainConfig, fields, "training")
    kwargs = training.environment.kwargs
    device, ftl = argument(training, kwargs, "device"), kwargs.get("ftl") or {}
    if sweep.evaluation.suite is not None:
        device, ftl = None, {}
    elif not isinstance(device, str):
        raise SsdgymError("the training's device is not the name of one; set evaluation.suite.")
    objective = kwargs.get("objective")
    text = "" if objective is None else str(objective)
    runs = _runs(sweep, device, ftl, policy=in_words(parameters), agent=Path("agent.zip"), objective=text)
    return Trial(parameters, runs, training)


def _rule_trial(sweep: SweepConfig, common: RuleTrialConfig, parameters: Parameters) -> Trial:
    text = f"{common.rule}({', '.join(f'{name}={value}' for name, value in parameters.items())})"
    return Trial(parameters, _runs(sweep, None, {}, policy=text, agent=text))


def _policy_trial(sweep: SweepConfig, common: PolicyTrialConfig, parameters: Parameters) -> Trial:
    of_policy: dict[str, Any] = {}
    top: dict[str, Any] = {"policy": common.policy, "device": common.device}
    # all names are dotted, so that a swept option replaces the common one
    ftl = dict(dotted(common.ftl))
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
    fields = {} if common.preconditioning is None else {"preconditioning": common.preconditioning}
    return Trial(parameters, _runs(sweep, top["device"], ftl, policy=policy.label, agent=None, **fields))


def _runs(
    sweep: SweepConfig,
    device: Any,
    ftl: Mapping[str, Any],
    *,
    policy: str,
    agent: Path | str | None,
    **fields: Any,
) -> tuple[RunSpec, ...]:
    evaluation = sweep.evaluation
    if evaluation.suite is not None:
        suite = load_suite(evaluation.suite)
        device, ftl = device or suite.devices[0], {**suite.ftls[0], **ftl}
        fields = {"preconditioning": suite.preconditioning, "environment": suite.environment, **fields}
    labels = numbered([source_name(workload) for workload in evaluation.workloads])
    if not isinstance(ftl, Mapping):
        raise SsdgymError(f"ftl must be a mapping of fields to values, not {ftl!r:.60}.")
    return tuple(
        RunSpec(
            device=device or "demo",
            workload=workload,
            policy=policy,
            seed=seed,
            ftl=dotted(ftl),
            host_pages=evaluation.host_pages,
            warmup=evaluation.warmup,
            agent=agent,
            label=label,
            **fields,
        )
        for seed in evaluation.all_seeds
        for label, workload in zip(labels, evaluation.workloads, strict=True)
    )


def argument(training: TrainConfig, kwargs: dict[str, Any], name: str) -> Any:
    """Return `kwargs[name]`, or if it is missing the default of the training's environment."""
    return kwargs[name] if name in kwargs else default_of(training.environment.id, name)


#: Fields of a workload that do not change which pages it writes in which order.
_NOT_WRITES = {
    "requests",
    "interarrival_ns",
    "arrivals",
    "burst_requests",
    "burst_interarrival_ns",
    "read_fraction",
}


def check_sweep(sweep: SweepConfig) -> None:
    """Check the configurations with all listed values and limits of the space, without running them."""
    trials = [plan_trial(sweep, parameters) for parameters in sweep.points()]
    for trial in trials:
        with _naming(trial.parameters):
            check_runs(trial.runs)
            if trial.training is not None:
                _check_training(trial.training)
                _check_held_out(trial.training, sweep)
    _check_metric(sweep, trials[0].runs[0])


def _check_training(training: TrainConfig) -> None:
    """Check the environments of training and validation: arguments, devices, FTL options and workloads."""
    learning = training.environment.kwargs
    for workload in named_workloads(training.evaluation.workloads):
        load_workload(workload)
    for kwargs in (learning, {**learning, **training.evaluation.kwargs}):
        check_arguments(training.environment.id, kwargs)
        devices = argument(training, kwargs, "device")
        sized = isinstance(devices, Mapping) and set(devices) == set(SIZES)
        several = devices if isinstance(devices, list | tuple) else [devices]
        for device in devices.values() if sized else several:
            with_ftl(load_device(device), kwargs.get("ftl"))


def _check_held_out(training: TrainConfig, sweep: SweepConfig) -> None:
    """Raise if a held-out workload or seed is used in training or validation."""
    used = [argument(training, training.environment.kwargs, "workload")]
    used += [training.evaluation.kwargs["workload"]] if "workload" in training.evaluation.kwargs else []
    used += list(training.evaluation.workloads)
    trained_on = [_writes(workload) for several in used for workload in named_workloads(several)]
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


def _writes(workload: Any) -> dict[str, Any]:
    """Return the fields of a workload that determine which pages it writes."""
    fields: dict[str, Any] = load_workload(workload).model_dump(exclude=_NOT_WRITES)
    return fields


def _check_metric(sweep: SweepConfig, first: RunSpec) -> None:
    """Raise if the metric does not exist, or if it is a time and the device simulates no time."""
    simulator = Simulator(first.device, ftl=ftl_changes(first.ftl), policy=None)
    names = [*pd.json_normalize(simulator.metrics(), sep="/")]
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


#: A measurement of a trial: `metric`, the limits `low` and `high` of its 95 % interval (NaN with one seed),
#: the `percent` of the trial done, and for an agent the number of `decisions` of its training (0: untrained).
Measurement = dict[str, float]
Report = Callable[[Measurement], None]


def run_trial(trial: Trial, metric: str, folder: Path, agent: Path, report: Report) -> None:
    """Run a trial to its end, from the beginning or from the state in `folder`; store the state there.

    The trained agent is written to the file `agent`. `report` is called with a measurement after every seed
    of a heuristic or rule, or after every checkpoint of a training run.
    """
    if trial.training is not None:
        _train_agent(trial, trial.training, metric, folder, agent, report)
        return
    seeds = [list(runs) for _, runs in groupby(trial.measured_runs, key=lambda run: run.seed)]
    results = read_results(folder / RESULTS) if (folder / RESULTS).exists() else []
    done = len(results) // len(seeds[0])
    for number, runs in enumerate(seeds[done:], start=done + 1):
        results += run_all(runs, workers=1)
        report({**_measured(results, metric, folder), "percent": ALL * number // len(seeds)})


def _train_agent(
    trial: Trial, training: TrainConfig, metric: str, folder: Path, agent: Path, report: Report
) -> None:
    """Train an agent; at every checkpoint, measure the agent that was best in validation so far."""
    from ssdgym.agents.training.checkpoint import FILE_NAME
    from ssdgym.agents.training.train import train
    from ssdgym.agents.training.validation import BEST_AGENT

    writable_folder(agent.parent)
    runs = [replace(run, agent=agent) for run in trial.measured_runs]
    started = False

    def at_checkpoint(run: Any) -> None:
        nonlocal started
        # the first checkpoint has an untrained network, or is the one from which the trial is resumed
        if started:
            write_atomically(agent, (folder / BEST_AGENT).read_bytes())
            found = _measured(run_all(runs, workers=1), metric, folder)
            done = {"percent": min(ALL, int(ALL * run.share)), "decisions": run.best_decisions}
            report({**found, **done})
        started = True

    resume = folder if (folder / FILE_NAME).exists() else None
    train(training, folder, resume=resume, progress=False, report=at_checkpoint)


def _measured(results: Sequence[Result], metric: str, folder: Path) -> Measurement:
    """Write the results into the folder; return the geometric mean over workloads of the metric."""
    unmeasured = next((result for result in results if not result.measured(metric)), None)
    if unmeasured is not None:
        raise SsdgymError(f"the metric {metric} was not measured on {unmeasured.workload}; choose another")
    write_results(results, (folder / RESULTS).with_suffix(""))
    scores = score_matrix(results, results[0].policy, metric)
    if scores.min() <= 0:
        raise SsdgymError(f"the metric {metric} is not above 0 in every run; choose another")
    # In an arithmetic mean, workloads with long latencies would dominate.
    estimate = stratified_bootstrap(scores, geometric_mean_over_tasks)
    return {"metric": estimate.value, "low": estimate.low, "high": estimate.high}
