"""Train agents for a suite, on its training split and on drawn devices; validate on its validation split."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter

from ssdgym.agents.agent import Agent
from ssdgym.agents.training import evolution
from ssdgym.agents.training.checkpoint import Checkpoint
from ssdgym.agents.training.config import EvolutionConfig, TasksConfig, TrainConfig
from ssdgym.agents.training.tasks import WHERE, Play
from ssdgym.agents.training.validation import BEST_AGENT, training_bar
from ssdgym.config.device import load_device
from ssdgym.config.fields import with_changes
from ssdgym.config.loading import Source, load_config
from ssdgym.envs.sources import named_workloads
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import Split, SuiteConfig, load_suite, split_digest
from ssdgym.experiments.runs.config import EachOnce, Named, Scalar, closed_loop, combinations
from ssdgym.experiments.runs.run import PRECONDITIONING_SEED
from ssdgym.experiments.runs.spec import ftl_changes
from ssdgym.files import writable_folder
from ssdgym.simulator import Simulator
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload


class DrawnRunsConfig(TasksConfig):
    """The runs that determine fitness in an evolution. Their devices and workloads are drawn at the start."""

    shapes: tuple[dict[str, Scalar], ...] = Field(
        ({},), min_length=1, description="mappings of dotted device fields; each run draws one mapping"
    )
    vary: dict[str, Annotated[tuple[Scalar, ...], Field(min_length=1)]] = Field(
        {}, description="fields of the device and values to draw from; {}: those that the suite varies"
    )
    workloads: Annotated[tuple[Named, ...], EachOnce] = Field(
        (), description="workloads besides the training split; none may be in another split"
    )


def draw_device(
    suite: SuiteConfig, ranges: DrawnRunsConfig, rng: np.random.Generator
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Draw one of the suite's devices, vary it by `ranges`, and draw FTL options; return both as fields."""

    def draw(values: Sequence[Any]) -> Any:
        return values[int(rng.integers(len(values)))]

    shape = draw(ranges.shapes)
    drawn = {name: draw(values) for name, values in (ranges.vary or suite.vary).items()}
    return with_changes(_fields(draw(suite.devices)), {**shape, **drawn}), draw(suite.ftls)


def devices_of(suite: SuiteConfig) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Yield all pairs of a device, varied by the suite's `vary`, and FTL options, as `draw_device` does."""
    for source in suite.devices:
        for changes in combinations(suite.vary):
            for ftl in suite.ftls:
                yield with_changes(_fields(source), changes), ftl


def _fields(device: Any) -> dict[str, Any]:
    return load_device(device).model_dump(exclude_unset=True)


def training_workloads(suite: SuiteConfig, others: Sequence[Any], where: str) -> list[Any]:
    """Return the workloads of the training split and `others`; raise if one of these is in another split."""
    if "training" not in suite.splits or "validation" not in suite.splits:
        raise SsdgymError(f"{where}: the suite has no splits training and validation; choose another one.")
    trained = [*suite.splits["training"], *others]
    _refuse(suite, trained, ("validation", "test"), where)
    return trained


def _refuse(suite: SuiteConfig, workloads: Sequence[Any], splits: Sequence[Split], where: str) -> None:
    """Raise `SsdgymError`, beginning with `where`, if a workload or a part of it is in one of the splits."""
    for split in splits:
        kept = {repr(load_workload(one)) for one in suite.splits.get(split, ())}
        for one in workloads:
            if kept & {repr(part) for part in _with_parts(load_workload(one))}:
                raise SsdgymError(
                    f"{where}: plays {one!r:.60}, which is, or has a part, of the split {split} of the "
                    "suite; leave it out."
                )


def _with_parts(workload: WorkloadConfig) -> Iterator[WorkloadConfig]:
    """Yield a workload and, recursively, the workloads that it consists of."""
    yield workload
    for part in workload.parts():
        yield from _with_parts(part)


_SEEDS = 2**31 - 1


class SuiteTrainConfig(TrainConfig):
    """A training run. If `suite` is set, the run must keep to the splits of the suite (`training_of`)."""

    suite: str | None = Field(
        None, description="name or file of a suite whose test workloads may not be used; null: none"
    )


def training_of(config: SuiteTrainConfig) -> tuple[TrainConfig, dict[str, str]]:
    """Return the configuration of a training run, and fields for the card (description) in the agent's file.

    Raises:
        SsdgymError: the run trains on the suite's validation or test split, or validates on the test split.
    """
    found = TrainConfig.model_validate(config.model_dump(exclude={"suite"}))
    if config.suite is None:
        return found, {}
    suite, evaluation = load_suite(config.suite), config.evaluation
    trained = named_workloads(config.environment.kwargs.get("workload", ()))
    validated = named_workloads(evaluation.kwargs.get("workload", evaluation.workloads))
    _refuse(suite, trained, ("validation", "test"), "environment")
    _refuse(suite, validated, ("test",), "evaluation")
    return found, {"suite": config.suite, "split_digest": split_digest(suite)}


class SuiteEvolutionConfig(EvolutionConfig):
    """An evolution that trains on a suite's training split and validates on its validation split."""

    suite: str = Field(description="name or file of the suite; its test split is not used")
    baseline: str | None = Field(None, description="baseline policy; null: the suite's")
    tasks: DrawnRunsConfig = DrawnRunsConfig()


def load_training(source: Source) -> SuiteTrainConfig | SuiteEvolutionConfig:
    """Load a training run from a name (`configs/training`), a YAML path, a mapping or a model."""
    fields = load_config(TypeAdapter(dict), source, "training")
    if fields.get("algorithm") == "evolution":
        return load_config(SuiteEvolutionConfig, source, "training")
    return load_config(SuiteTrainConfig, source, "training")


def run_of(
    source: str | None, folder: Path | None
) -> tuple[SuiteTrainConfig | SuiteEvolutionConfig, list[str]]:
    """Return a training configuration, and the words of the command that repeats it (none if unknown).

    Args:
        source: name or YAML path; None: `ppo-demo`, or the configuration of the run in `folder`.
        folder: folder of the run to resume; None: a new run.

    Raises:
        SsdgymError: there is no such configuration, or `folder` has no checkpoint or no agent.
    """
    if source is None and folder is not None:
        fields, card = json.loads(Checkpoint.load(folder).config), Agent.load(folder / BEST_AGENT).card
        return SuiteTrainConfig(**fields, suite=card.suite or None), shlex.split(card.command)
    name = source or "ppo-demo"
    return load_training(name), ["ssdgym", "train", name]


def evolution_tasks(config: SuiteEvolutionConfig, suite: SuiteConfig) -> evolution.Tasks:
    """Draw the training tasks of an evolution; its validation tasks are the suite's validation split."""
    rng = np.random.default_rng([config.seed, 0x7A5C])
    workloads = training_workloads(suite, config.tasks.workloads, WHERE)
    training: list[list[Play]] = [[] for _ in workloads]
    for number in range(config.tasks.count):
        which = number % len(workloads)
        device, ftl = draw_device(suite, config.tasks, rng)
        pages = Simulator(dict(device), ftl=ftl_changes(tuple(sorted(ftl.items())))).logical_pages
        lengths = int(config.tasks.overwrites * pages), int(config.tasks.warmup_overwrites * pages)
        training[which].append(_play(device, ftl, workloads[which], int(rng.integers(_SEEDS)), *lengths))
    given = config.validation
    host_pages = given.host_pages or suite.host_pages
    warmup = suite.warmup if given.warmup is None else given.warmup
    validation = [
        _play(device, ftl, workload, seed, host_pages, warmup)
        for device, ftl in devices_of(suite)
        for workload in suite.splits["validation"]
        for seed in given.seeds
    ]
    return evolution.Tasks(training, validation, config.baseline or suite.baseline, suite.metric)


def _play(
    device: dict[str, Any], ftl: Mapping[str, Any], workload: Any, seed: int, host_pages: int, warmup: int
) -> Play:
    """Return a run of an evolution, with the FTL options and preconditioning seed of a suite's runs."""
    loaded = load_workload(workload)
    changes = ftl_changes(closed_loop(tuple(sorted(ftl.items())), loaded))
    return Play(device, changes, loaded, seed, host_pages, warmup, PRECONDITIONING_SEED)


def evolve(
    config: SuiteEvolutionConfig, out: Path, progress: bool = True, overwrite: bool = False, command: str = ""
) -> Path:
    """Search the weights of an agent for a suite by CMA-ES; return the file of the best agent.

    Args:
        config: configuration of the evolution.
        out: folder for the results, created if missing.
        progress: whether to show a bar and a line for each validation.
        overwrite: whether an agent that is already in `out` may be replaced.
        command: the shell command that repeats the search, for the agent's card.

    Raises:
        SsdgymError: `out` cannot be written or holds an agent, or the configuration does not fit the tasks.
    """
    suite = load_suite(config.suite)
    about = {"command": command, "suite": config.suite, "split_digest": split_digest(suite)}
    tasks = evolution_tasks(config, suite)
    writable_folder(out)
    if not overwrite and (out / BEST_AGENT).exists():
        raise SsdgymError(f"{out}: already holds an agent; choose another folder, or give --overwrite.")
    with training_bar(progress) as bar:
        evolution.Evolution(config, tasks, out, about, bar).run()
    return out / BEST_AGENT
