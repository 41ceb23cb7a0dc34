"""Expand the configuration of an experiment to its runs."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdgym.agents.playing.source import Source
from ssdgym.agents.playing.sources import source_of
from ssdgym.config.device import DeviceConfig, load_device, load_fields
from ssdgym.config.device_fields import DeviceFields
from ssdgym.config.fields import with_changes
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.config import FTL_PREFIX, ExperimentConfig
from ssdgym.experiments.runs.run_spec import FtlOptions, RunSpec, source_name
from ssdgym.policy.own import import_rules
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload

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


def expand(config: ExperimentConfig, *, trusted: Collection[str] = ()) -> list[RunSpec]:
    """Return the runs of an experiment, in the order of its results.

    From the slowest to the fastest: device, varied device fields, FTL, varied FTL fields, workload, agents
    before policies, seed.

    Args:
        config: of the experiment.
        trusted: those of its agents, and of its policies that name modules, whose code may be executed.

    Raises:
        SsdgymError: a device, a workload, an agent or a module does not exist, or a varied field does not
            fit.
    """
    for policy in config.policies:
        import_rules(policy, trust=policy in trusted)
    sources = agent_labels(config.agents, trusted=trusted)
    deciders: list[tuple[str, Source | None]] = [
        *sources.items(),
        *((name, None) for name in config.policies),
    ]
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
            sample_pages=config.sample_pages,
            preconditioning=config.preconditioning,
            agent=source.text if source else None,
            environment=config.environment if source else None,
            trust=(source.text if source else policy) in trusted,
            objective=source.objective if source else "",
            label=label,
            device_label=device.label,
        )
        for device in _devices(config)
        for ftl in _ftls(config)
        for label, workload in workloads
        for policy, source in deciders
        for seed in config.seeds
    ]


def agent_labels(agents: Sequence[str | Path], *, trusted: Collection[str] = ()) -> dict[str, Source]:
    """Return where agents come from, by their names in tables.

    Args:
        agents: files, `module:callable`, or names of baselines.
        trusted: those whose code may be executed.

    Raises:
        SsdgymError: there is no such agent, or two would have the same name.
    """
    labels: dict[str, Source] = {}
    for agent in agents:
        source = source_of(agent, trust=str(agent) in trusted)
        source.digest()  # tells what is missing
        if source.label in labels:
            other = labels[source.label].text
            raise SsdgymError(f"{agent}: {other} goes by the name {source.label}, too; rename one of them")
        labels[source.label] = source
    return labels


@dataclass(frozen=True)
class _Device:
    label: str
    model: DeviceFields


def _devices(config: ExperimentConfig) -> Iterator[_Device]:
    varied = {name: values for name, values in config.vary.items() if not name.startswith(FTL_PREFIX)}
    for source in config.devices:
        own = load_fields(source)
        for values in itertools.product(*varied.values()):
            changes = dict(zip(varied, values, strict=True))
            label = source_name(source) + _in_brackets(changes)
            yield _Device(label, with_fields(own, changes, label, "vary") if changes else own)


def _in_brackets(changes: dict[str, Any]) -> str:
    return "(" + ", ".join(f"{name}={value}" for name, value in changes.items()) + ")" if changes else ""


def with_fields(device: DeviceFields, changes: dict[str, Any], label: str, where: str) -> DeviceConfig:
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
