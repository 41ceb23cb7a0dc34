"""Training by gradients on tasks that are drawn around a suite."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from ssdgym.agents.config import TrainConfig
from ssdgym.config.fields import with_changes
from ssdgym.experiments.suites.config import SuiteConfig, load_suite
from ssdgym.experiments.suites.ranges import RangesConfig, devices_of, draw_device
from ssdgym.experiments.suites.splits import split_digest, training_workloads

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
