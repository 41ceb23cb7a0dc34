"""Suites: tasks of a kind, how they are scored, split and trained on."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from ssdgym.agents.training.config import TrainConfig
from ssdgym.config.device import load_device
from ssdgym.config.fields import with_changes
from ssdgym.config.loading import Config, Source, load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.config import (
    EachOnce,
    ExperimentConfig,
    FtlMapping,
    Named,
    Scalar,
    Seed,
    as_seeds,
    load_experiment,
)
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload

Split = Literal["training", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
Workloads = Annotated[tuple[Named, ...], Field(min_length=1), EachOnce]
Policies = Annotated[tuple[str, ...], EachOnce]


class LearnedEntry(Config):
    """Policies that one method has learned, each from another seed of the training, judged together."""

    name: str = Field(description="What tables call them.")
    policies: Annotated[Policies, Field(min_length=1)] = Field(
        description="One for each seed of the training."
    )


def _as_entry(value: Any) -> Any:
    return {"name": value, "policies": (value,)} if isinstance(value, str) else value


class SuiteConfig(Config):
    """Tasks, each a device with a workload, and what scores 0 and 1 on each of them."""

    description: str = ""
    metric: str = Field(
        "write_amplification", description="What is scored; less is better. Nested names with /."
    )
    devices: Annotated[tuple[Named, ...], Field(min_length=1), EachOnce] = Field(
        description="Names in configs/devices, paths of YAML files, or mappings."
    )
    vary: dict[str, Annotated[tuple[Scalar, ...], Field(min_length=1), EachOnce]] = Field(
        default_factory=dict, description="Dotted fields of the device, and the values they take."
    )
    ftls: Annotated[tuple[FtlMapping, ...], Field(min_length=1), EachOnce] = Field(
        ({},), description="FTL options in place of the device's own."
    )
    splits: dict[Split, Workloads] = Field(
        description="The workloads to train on, to choose among agents by, and to be judged on."
    )
    baseline: str = Field(description="The policy that scores 0 on every task.")
    ceilings: Annotated[Policies, Field(min_length=1)] = Field(
        description="Policies of which the best on a task scores 1 there."
    )
    policies: Policies = Field((), description="What is evaluated where no policy and no agent is named.")
    agents: tuple[Annotated[LearnedEntry, BeforeValidator(_as_entry)], ...] = Field(
        (),
        description="Policies that have learned, evaluated beside those: each a policy, or a name with the"
        " policies of several seeds of its training.",
    )
    rivals: Policies = Field(
        (), description="Policies of which the best on a task is compared with, too, on leaderboards."
    )
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), BeforeValidator(as_seeds), EachOnce] = Field(
        description="A list, or text such as 5, 1,2,9 or 100-104."
    )
    host_pages: PositiveInt = Field(description="Host pages of a run that are measured.")
    warmup: NonNegativeInt = Field(0, description="Host pages before them, under the policy itself.")

    @model_validator(mode="after")
    def _splits_are_apart(self) -> SuiteConfig:
        seen: dict[str, str] = {}
        for split, workloads in self.splits.items():
            for workload in workloads:
                mark = repr(workload)
                if mark in seen:
                    raise ValueError(f"has {workload!r:.60} in {seen[mark]} and in {split}; keep it in one")
                seen[mark] = split
        return self

    @model_validator(mode="after")
    def _kinds_are_apart(self) -> SuiteConfig:
        names = [entry.name for entry in self.agents]
        if len(set(names)) < len(names):
            raise ValueError("gives two entries of agents the same name; rename one of them")
        if len(set(self.learned)) < len(self.learned):
            twice = next(policy for policy in self.learned if self.learned.count(policy) > 1)
            raise ValueError(f"has {twice!r:.60} twice in agents; keep it in one entry")
        seen = {self.baseline: "baseline"}
        kinds = {"ceilings": self.ceilings, "policies": self.policies, "agents": self.learned}
        for kind, policies in kinds.items():
            for policy in policies:
                other = seen.setdefault(policy, kind)
                if other != kind and (other, kind) != ("baseline", "policies"):
                    raise ValueError(f"has {policy!r:.60} in {other} and in {kind}; keep it in one")
        for rival in self.rivals:
            if rival not in (self.baseline, *self.policies):
                raise ValueError(f"has {rival!r:.60} in rivals and not in policies; add it there")
        return self

    @property
    def learned(self) -> tuple[str, ...]:
        """All policies that have learned."""
        return tuple(policy for entry in self.agents for policy in entry.policies)

    def experiment(
        self, splits: Sequence[Split], deciders: dict[str, Any], changes: dict[str, Any]
    ) -> ExperimentConfig:
        """Return the runs of some splits: those that are scored, and those that the scores are made of.

        Args:
            splits: which.
            deciders: `policies`, `agents` and their `environment`, as experiments name them.
            changes: other values of `seeds`, `host_pages` or `warmup`.
        """
        own = {name: getattr(self, name) for name in ("seeds", "host_pages", "warmup", "vary")}
        policies = (self.baseline, *self.ceilings, *deciders.get("policies", ()))
        return load_experiment(
            {
                **own,
                **changes,
                "devices": list(self.devices),
                "ftls": list(self.ftls),
                "workloads": [workload for split in splits for workload in self.splits[split]],
                **deciders,
                "policies": tuple(dict.fromkeys(policies)),
            }
        )


def load_suite(source: Source) -> SuiteConfig:
    """Load a suite by name (`configs/suites`), YAML path, mapping or ready model.

    Raises:
        SsdgymError: as `ssdgym.config.loading.load_config`.
    """
    return load_config(SuiteConfig, source, "suites")


class RangesConfig(Config):
    """What devices and workloads of a training are drawn from, beside those of its suite."""

    shapes: tuple[dict[str, Scalar], ...] = Field(
        ({},), min_length=1, description="fields of the device, dotted, that are drawn together"
    )
    vary: dict[str, Annotated[tuple[Scalar, ...], Field(min_length=1)]] = Field(
        {}, description="fields of the device and values to draw from; {}: those that the suite varies"
    )
    workloads: Annotated[tuple[Named, ...], EachOnce] = Field(
        (), description="drawn besides the training split; none may be in another split"
    )


def draw_device(
    suite: SuiteConfig, ranges: RangesConfig, rng: np.random.Generator
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Draw a device, and one of the suite's changes of its FTL.

    Args:
        suite: whose devices are changed.
        ranges: by what.
        rng: draws.

    Returns:
        The fields of the device, and of its FTL those that are others.

    Raises:
        SsdgymError: the suite names a device that does not exist.
    """
    shape = ranges.shapes[int(rng.integers(len(ranges.shapes)))]
    vary = ranges.vary or suite.vary
    drawn = {name: values[int(rng.integers(len(values)))] for name, values in vary.items()}
    device = device_of(suite, int(rng.integers(len(suite.devices))), {**shape, **drawn})
    return device, suite.ftls[int(rng.integers(len(suite.ftls)))]


def devices_of(suite: SuiteConfig) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Yield every device that a suite plays, and changes of its FTL, as `draw_device` returns them.

    Args:
        suite: that has them.

    Raises:
        SsdgymError: a device does not exist.
    """
    for number in range(len(suite.devices)):
        for values in itertools.product(*suite.vary.values()):
            device = device_of(suite, number, dict(zip(suite.vary, values, strict=True)))
            for ftl in suite.ftls:
                yield device, ftl


def device_of(suite: SuiteConfig, number: int, changes: Mapping[str, Scalar]) -> dict[str, Any]:
    """Return the fields of a device of a suite with others in their places.

    Args:
        suite: that has it.
        number: of the device.
        changes: by dotted names.

    Raises:
        SsdgymError: the device does not exist.
    """
    fields = load_device(suite.devices[number]).model_dump(exclude_unset=True)
    return with_changes(fields, changes)


def split_digest(suite: SuiteConfig) -> str:
    """Return a hash of the workloads of all splits of a suite, the order of each included."""
    text = json.dumps(suite.model_dump(mode="json")["splits"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def training_workloads(suite: SuiteConfig, others: Sequence[Any], where: str) -> list[Any]:
    """Return what may be trained on: the training split, and others that are in no split.

    Args:
        suite: whose splits count.
        others: workloads beside the split.
        where: what errors start with.

    Raises:
        SsdgymError: there is no training split, or one of the others is in another split.
    """
    if "training" not in suite.splits or "validation" not in suite.splits:
        raise SsdgymError(f"{where}: the suite has no splits training and validation; choose another one.")
    trained = [*suite.splits["training"], *others]
    for split in ("validation", "test"):
        kept = {repr(load_workload(one)) for one in suite.splits.get(split, ())}
        for one in trained:
            if kept & {repr(part) for part in _with_parts(load_workload(one))}:
                raise SsdgymError(
                    f"{where}: trains on {one!r:.60}, which is, or has a part, of the split {split} of the "
                    "suite; leave it out."
                )
    return trained


def _with_parts(workload: WorkloadConfig) -> Iterator[WorkloadConfig]:
    """Yield a workload, what it is made of, and what that is made of."""
    yield workload
    for part in workload.parts():
        yield from _with_parts(part)


#: Arguments of environments that the tasks stand for.
_DRAWN = ("device", "workload")


class DrawnTasksConfig(RangesConfig):
    """What environments train on: devices drawn once, and for every episode a workload of the training split.

    Validation plays the validation split on the devices of the suite.
    """

    suite: str = Field(description="name or file of the suite; its test split is not looked at")
    devices: PositiveInt = Field(16, description="drawn; the environments take them in turn")


class SuiteTrainConfig(TrainConfig):
    """A training run, on a device and workloads that it names or on tasks around a suite."""

    tasks: DrawnTasksConfig | None = Field(None, description="null: what the environment's arguments say")

    @model_validator(mode="after")
    def _tasks_stand_alone(self) -> SuiteTrainConfig:
        if self.tasks is None:
            return self
        for place, kwargs in (
            ("environment", self.environment.kwargs),
            ("evaluation", self.evaluation.kwargs),
        ):
            for name in _DRAWN:
                if name in kwargs:
                    raise ValueError(f"{place}.kwargs.{name} is drawn from tasks; leave one of the two out.")
        if self.evaluation.workloads:
            raise ValueError(
                "evaluation.workloads are those of the validation split of the suite; leave them out."
            )
        if self.tasks.devices > self.n_envs:
            raise ValueError(
                f"tasks.devices is {self.tasks.devices}, but only n_envs = {self.n_envs} environments take "
                "one each; lower it or raise n_envs."
            )
        if self.cross_entropy.generations:
            raise ValueError(
                "cross_entropy compares weights on one device, and tasks have many; set generations to 0."
            )
        return self


def training_of(config: SuiteTrainConfig) -> tuple[TrainConfig, dict[str, str]]:
    """Draw the tasks of a training run.

    Args:
        config: the run.

    Returns:
        The run with its devices and workloads named one by one, and what the card of the agent says of them.

    Raises:
        SsdgymError: a workload of another split would be trained on, or there is no such suite or device.
    """
    fields = config.model_dump()
    tasks = fields.pop("tasks")
    if config.tasks is None or tasks is None:
        return TrainConfig.model_validate(fields), {}
    suite = load_suite(config.tasks.suite)
    evaluation = config.evaluation
    known = _devices_of(suite)
    changes = {
        "environment.kwargs.device": _drawn(config, config.tasks, suite),
        "environment.kwargs.workload": training_workloads(suite, config.tasks.workloads, "tasks"),
        "evaluation.kwargs": {
            "horizon": suite.host_pages,
            "warmup": suite.warmup,
            **evaluation.kwargs,
            "device": known,
        },
        "evaluation.episodes": evaluation.episodes * len(known),
        "evaluation.workloads": suite.splits["validation"],
        "evaluation.metric": evaluation.metric or suite.metric,
    }
    about = {"suite": config.tasks.suite, "split_digest": split_digest(suite)}
    return TrainConfig.model_validate(with_changes(fields, changes)), about


def _drawn(config: SuiteTrainConfig, tasks: DrawnTasksConfig, suite: SuiteConfig) -> list[dict[str, Any]]:
    rng = np.random.default_rng([config.seed, 0x7A5D])
    return [_with_ftl(*draw_device(suite, tasks, rng)) for _ in range(tasks.devices)]


def _devices_of(suite: SuiteConfig) -> list[dict[str, Any]]:
    """Return the fields of every device that the suite plays."""
    return [_with_ftl(device, ftl) for device, ftl in devices_of(suite)]


def _with_ftl(device: dict[str, Any], ftl: Any) -> dict[str, Any]:
    return with_changes(device, {f"ftl.{name}": value for name, value in ftl.items()})
