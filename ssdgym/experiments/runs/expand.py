"""Expand the configuration of an experiment to its runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.fields import with_changes
from ssdgym.deprecation import warn_renamed
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.config import FTL_PREFIX, ExperimentConfig
from ssdgym.experiments.runs.run_spec import FtlOptions, RunSpec, source_name
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.load import load_workload

#: Requests kept outstanding by a workload that has no pace of its own.
CLOSED_LOOP_DEPTH = 32


def closed_loop(options: FtlOptions, workload: WorkloadConfig) -> FtlOptions:
    """Return the options with a queue depth, where otherwise all requests would arrive at the same instant.

    A generated workload without a pace has all arrivals at zero. Played as an open loop its latencies would
    only depend on its length.

    Args:
        options: of the FTL.
        workload: what is played.
    """
    paced = getattr(workload, "interarrival_ns", None) != 0
    given = dict(options)
    if paced or "queue_depth" in given or given.get("timing") == "none":
        return options
    return tuple(sorted({**given, "queue_depth": CLOSED_LOOP_DEPTH}.items()))


def expand(config: ExperimentConfig) -> list[RunSpec]:
    """Return the runs of an experiment, in the order of its results.

    From the slowest to the fastest: device, varied device fields, FTL, varied FTL fields, workload, agents
    before policies, seed.

    Raises:
        SsdgymError: a device, a workload or an agent does not exist, or a varied field does not fit.
    """
    learned = agent_labels(config.agents)
    deciders: list[tuple[str, Path | None]] = [*learned.items(), *((name, None) for name in config.policies)]
    workloads = [(source_name(source), load_workload(source)) for source in config.workloads]
    return [
        RunSpec(
            device=device.model,
            workload=workload,
            policy=policy,
            seed=seed,
            ftl=closed_loop(ftl, workload),
            host_pages=config.host_pages,
            requests=config.requests,
            warmup=config.warmup,
            preconditioning=config.preconditioning,
            agent=agent,
            objective=_objective(agent),
            label=label,
            device_label=device.label,
        )
        for device in _devices(config)
        for ftl in _ftls(config)
        for label, workload in workloads
        for policy, agent in deciders
        for seed in config.seeds
    ]


def agent_labels(paths: Sequence[Path]) -> dict[str, Path]:
    """Return names for agents in tables: the file's, after the folder's where the file is called `agent`.

    Raises:
        SsdgymError: a file does not exist, or two would have the same name.
    """
    labels: dict[str, Path] = {}
    for path in paths:
        if not path.is_file():
            raise SsdgymError(f"{path}: there is no such agent; train one first or correct the path")
        stem = path.stem
        label = f"{path.resolve().parent.name}/{stem}" if stem.startswith("agent") else stem
        if label in labels:
            raise SsdgymError(f"{path}: {labels[label]} goes by the name {label}, too; rename one of them")
        labels[label] = path
    return labels


@dataclass(frozen=True)
class _Device:
    label: str
    model: DeviceConfig


def _devices(config: ExperimentConfig) -> Iterator[_Device]:
    varied = {name: values for name, values in config.vary.items() if not name.startswith(FTL_PREFIX)}
    for source in config.devices:
        own = load_device(source)
        for values in itertools.product(*varied.values()):
            changes = dict(zip(varied, values, strict=True))
            label = source_name(source) + _in_brackets(changes)
            yield _Device(label, with_fields(own, changes, label, "vary") if changes else own)


def _in_brackets(changes: dict[str, Any]) -> str:
    return "(" + ", ".join(f"{name}={value}" for name, value in changes.items()) + ")" if changes else ""


def with_fields(device: DeviceConfig, changes: dict[str, Any], label: str, where: str) -> DeviceConfig:
    """Return a device with other values in some fields.

    Args:
        device: which.
        changes: values by dotted names of fields.
        label: the new name of the device.
        where: begins the sentences of errors.

    Raises:
        SsdgymError: there is no such field, or the values do not fit.
    """
    data = {**device.model_dump(exclude_unset=True), "name": label}
    for old in DeviceConfig.old_fields.keys() & changes.keys():
        warn_renamed(f"field {old}", DeviceConfig.old_fields[old])
    changes = {DeviceConfig.old_fields.get(name, name): value for name, value in changes.items()}
    if any(name.startswith("capacity.") for name in changes):
        data["capacity"] = {}  # given either way, and the changes say which
    for name, value in changes.items():
        try:
            data = with_changes(data, {name: value})
        except SsdgymError:
            raise SsdgymError(f"{where}: a device has no field {name}; correct its spelling") from None
    return load_device(data, f"{where}, {label}")


def _ftls(config: ExperimentConfig) -> Iterator[FtlOptions]:
    varied = {
        name.removeprefix(FTL_PREFIX): values
        for name, values in config.vary.items()
        if name.startswith(FTL_PREFIX)
    }
    fixed = {} if config.queue_depth is None else {"queue_depth": config.queue_depth}
    for own in config.ftls:
        for values in itertools.product(*varied.values()):
            yield tuple(sorted({**own, **fixed, **dict(zip(varied, values, strict=True))}.items()))


def _objective(agent: Path | None) -> str:
    """Return what an agent was trained for, as its card has it."""
    if agent is None:
        return ""
    try:
        from ssdgym.agents.agent import Agent
    except ModuleNotFoundError as error:
        raise SsdgymError(
            f"{agent}: an agent needs the package {error.name}: install it with pip install 'ssdgym[agents]'"
        ) from error
    kwargs = Agent.load(agent).card.training.get("environment", {}).get("kwargs", {})
    return str(kwargs.get("objective", ""))
