"""The configuration of an evolution, and the tasks that its members are judged by."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from ssdgym.agents.card import AgentCard, InputConfig, OrdinalConfig, ScorerConfig
from ssdgym.agents.compiled.loading import register_recorder
from ssdgym.agents.networks import OrdinalNetwork, WeightVectors
from ssdgym.agents.training.lifetimes import Lifetimes, fit_lifetimes, record_lifetimes
from ssdgym.agents.training.progress import metric_of
from ssdgym.agents.training.stages import Stage
from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import (
    RangesConfig,
    SuiteConfig,
    devices_of,
    draw_device,
    training_workloads,
)
from ssdgym.experiments.runs.config import closed_loop
from ssdgym.experiments.runs.run import PRECONDITIONING_SEED
from ssdgym.experiments.runs.spec import ftl_changes
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import Recording
from ssdgym.simulator.future import BEYOND
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload, open_on

_CHUNK = 1 << 14
#: What errors begin with.
WHERE = "evolution"
_SEEDS = 2**31 - 1
#: Stands for the agent in `policy`.
AGENT = "{agent}"


class TasksConfig(RangesConfig):
    """What members are judged by: runs drawn once from the training split and from ranges of devices."""

    count: PositiveInt = Field(48, description="tasks in all, each drawn with a seed of its own")
    per_generation: PositiveInt = Field(10, description="of them, for all members of a generation the same")
    overwrites: PositiveFloat = Field(2.0, description="how often a run writes the logical pages, measured")
    warmup_overwrites: float = Field(2.0, ge=0, description="and before that, not measured")


class ValidationConfig(Config):
    """Runs on the devices and the validation split of the suite, by which the weights to keep are chosen."""

    every: PositiveInt = Field(10, description="generations between them")
    seeds: tuple[NonNegativeInt, ...] = Field((9000,), min_length=1)
    host_pages: PositiveInt | None = Field(None, description="null: those of the suite")
    warmup: NonNegativeInt | None = Field(None, description="null: that of the suite")


class LifetimesConfig(Config):
    """How the network is fitted to lifetimes before the search, by least squares with Adam."""

    pages: PositiveInt = Field(8192, description="drawn of each task")
    epochs: PositiveInt = 8
    learning_rate: PositiveFloat = 3e-3


class EvolutionConfig(Config):
    """One evolution: covariance matrix adaptation (Hansen, Ostermeier, 2001), by the package `cmaes`.

    A member is a weight vector. Its score on a task is `r = ln(metric / metric of the baseline)` on the same
    device, requests and seed; its fitness is the mean of `r + loss_weight * max(r - loss_above, 0)`, and less
    is better.
    """

    algorithm: Literal["evolution"] = "evolution"
    description: str = ""
    suite: str = Field(description="name or file of the suite; its test split is not looked at")
    policy: str = Field(description=f"what is run: {AGENT} stands for the agent")
    baseline: str | None = Field(None, description="null: that of the suite")
    environment: str = Field(description="the environment whose decisions the agent takes")
    candidates: dict[str, InputConfig] = Field({}, description="features of candidates")
    context: dict[str, InputConfig] = Field(min_length=1, description="features of the decision")
    scorer: ScorerConfig | None = None
    ordinal: OrdinalConfig | None = None
    lifetimes: LifetimesConfig | None = Field(
        None, description="begin with a placement fitted to lifetimes; {}: as usual; null: with `start`"
    )
    fixed: tuple[str, ...] = Field((), description="weights that are not searched, by name")
    generations: PositiveInt = 60
    members: int = Field(16, ge=4, description="of a generation")
    spread: PositiveFloat = Field(0.3, description="of weights in the first generation")
    loss_above: float = Field(0.02, ge=0)
    loss_weight: float = Field(1.0, ge=0)
    cap: str | None = Field(None, description="a metric that should not be above that of the baseline")
    cap_weight: float = Field(10.0, ge=0, description="what ln(cap / cap of the baseline) adds above 0")
    tasks: TasksConfig = TasksConfig()
    validation: ValidationConfig = ValidationConfig()
    seed: int = Field(0, ge=0, lt=2**32)

    @model_validator(mode="after")
    def _is_whole(self) -> EvolutionConfig:
        if (self.scorer is None) == (self.ordinal is None):
            raise ValueError("give either scorer or ordinal, the shape of the network")
        if self.policy.count(AGENT) != 1:
            raise ValueError(f"policy: has to name {AGENT} once, as in cost_benefit+{AGENT}")
        heads = 1 if self.ordinal is None else self.ordinal.heads
        for name, one in {**self.candidates, **self.context}.items():
            if len(one.start) not in (0, heads):
                raise ValueError(f"{name}: start has {len(one.start)} weights for {heads} heads")
        for name, one in (self.candidates if self.ordinal else self.context).items():
            if one != InputConfig():
                raise ValueError(f"{name}: centre, spread and start have no effect here; leave them out")
        return self

    def card(self) -> AgentCard:
        """Return the card of the untrained agent."""
        return AgentCard(
            algorithm="none",
            decisions=0,
            environment=self.environment,
            candidate_features=tuple(self.candidates),
            context_features=tuple(self.context),
            scorer=self.scorer,
            ordinal=self.ordinal,
        )


@dataclass(frozen=True)
class Play:
    """A run without its policy.

    Attributes:
        device: fields.
        ftl: changes of its FTL.
        workload: as `load_workload` takes it.
        seed: of the device and the requests.
        host_pages: measured.
        warmup: before that.
    """

    device: Mapping[str, Any]
    ftl: Mapping[str, Any]
    workload: Any
    seed: int
    host_pages: int
    warmup: int

    @cached_property
    def _loaded(self) -> WorkloadConfig:
        return load_workload(self.workload)

    @cached_property
    def _ftl(self) -> Any:
        return ftl_changes(closed_loop(tuple(sorted(self.ftl.items())), self._loaded))

    def simulator(self, policy: str, *, cache: bool) -> Simulator:
        """Return a device in its steady state, as in the runs of a suite.

        Args:
            policy: that it runs.
            cache: whether the steady state is kept for others.
        """
        # A device is restored as a whole: records of latencies are short, and none are kept without time.
        timed = self.ftl.get("timing") != "none"
        simulator = Simulator(
            dict(self.device),
            ftl=self._ftl,
            policy=policy,
            seed=self.seed,
            recording=Recording(1 << 17, 1 << 10) if timed else Recording(0, 0),
        )
        simulator.precondition(self._loaded, seed=PRECONDITIONING_SEED, cache=cache)
        return simulator

    def requests(self, host_pages: int) -> np.ndarray:
        """Return requests that write so many host pages and some more, array of REQUEST.

        Args:
            host_pages: the number.

        Raises:
            SsdgymError: the workload does not write.
        """
        simulator = Simulator(dict(self.device), ftl=self._ftl, seed=self.seed)
        stream = open_on(self._loaded, simulator.device, self.seed)
        chunks, left = [], host_pages + _CHUNK
        while left > 0:
            chunk = stream.next(_CHUNK)
            if not len(chunk):
                break
            chunks.append(np.array(chunk))
            written = int(chunk["pages"][chunk["op"] == WRITE].sum())
            if not written:
                raise SsdgymError(
                    f"{WHERE}: workload {self._loaded.kind} writes nothing in {_CHUNK} requests; choose "
                    "another one."
                )
            left -= written
        return np.concatenate(chunks) if chunks else np.zeros(0, REQUEST)


def training_plays(config: EvolutionConfig, suite: SuiteConfig) -> list[list[Play]]:
    """Draw what members are judged by.

    Args:
        config: of the evolution.
        suite: its suite.

    Returns:
        The plays of each training workload.

    Raises:
        SsdgymError: a workload is of another split, or a device cannot be made so.
    """
    rng = np.random.default_rng([config.seed, 0x7A5C])
    workloads = training_workloads(suite, config.tasks.workloads, WHERE)
    plays: list[list[Play]] = [[] for _ in workloads]
    for number in range(config.tasks.count):
        which = number % len(workloads)
        device, ftl = draw_device(suite, config.tasks, rng)
        pages = Simulator(dict(device), ftl=ftl_changes(tuple(sorted(ftl.items())))).logical_pages
        play = Play(
            device,
            ftl,
            workloads[which],
            int(rng.integers(_SEEDS)),
            int(config.tasks.overwrites * pages),
            int(config.tasks.warmup_overwrites * pages),
        )
        plays[which].append(play)
    return plays


def validation_plays(config: EvolutionConfig, suite: SuiteConfig) -> list[Play]:
    """Return the runs of the suite's validation split, on its own devices.

    Args:
        config: of the evolution.
        suite: its suite.

    Raises:
        SsdgymError: a device cannot be made so.
    """
    given = config.validation
    return [
        Play(
            device,
            ftl,
            workload,
            seed,
            given.host_pages or suite.host_pages,
            suite.warmup if given.warmup is None else given.warmup,
        )
        for device, ftl in devices_of(suite)
        for workload in suite.splits["validation"]
        for seed in given.seeds
    ]


class FittedStart(NamedTuple):
    """How the start of an evolution was fitted.

    Attributes:
        explained: share of the variance of lifetimes that the network explains on the training tasks.
        stage: what it took; its decisions are the pages that were fitted to.
    """

    explained: float
    stage: Stage


def begin_with_lifetimes(
    members: WeightVectors, config: EvolutionConfig, given: LifetimesConfig, suite: SuiteConfig
) -> FittedStart:
    """Fit the network of an evolution to lifetimes on its training tasks; its first weights place the pages.

    Args:
        members: whose start is replaced.
        config: of the evolution.
        given: how to fit.
        suite: of the evolution.

    Returns:
        What came of it.

    Raises:
        SsdgymError: the agent is no placement.
    """
    begun = time.process_time()
    name, recorder = register_recorder(members.card, members.weights(members.start))
    rng = np.random.default_rng([config.seed, 0x11FE])
    parts: list[Lifetimes] = []
    for play in [play for plays in training_plays(config, suite) for play in plays]:
        simulator = play.simulator(config.policy.replace(AGENT, name), cache=False)
        beyond = BEYOND * simulator.logical_pages
        requests = play.requests(play.warmup + play.host_pages + beyond)
        pages = record_lifetimes(simulator, recorder, requests, play.host_pages, play.warmup)
        parts.append(pages.sample(given.pages, rng))
    assert isinstance(members.network, OrdinalNetwork), "what places pages is one"
    joined = Lifetimes.joined(parts)
    explained = fit_lifetimes(members.network, joined, given.epochs, given.learning_rate, config.seed)
    seconds = round(time.process_time() - begun, 1)
    return FittedStart(explained, Stage(method="lifetimes", decisions=len(joined.lives), cpu_seconds=seconds))


class Score(NamedTuple):
    """What a run is worth beside that of the baseline; less is better.

    Attributes:
        metric: `ln(metric / metric of the baseline)`.
        cap: the same of the metric that should not be above the baseline's; 0 without one.
        pages: written by the run, relocated ones included.
    """

    metric: float
    cap: float
    pages: int

    def judged(self, cap_weight: float) -> float:
        """Return the metric's part, and what the cap adds where it is above 0."""
        return self.metric + cap_weight * max(self.cap, 0.0)


class Task:
    """A task whose requests are drawn and whose device is preconditioned once, as in the runs of a suite.

    Args:
        play: the run.
        policy: with the agent, whose weights are replaced between runs.
        baseline: that every run is compared with.
        metric: less is better.
        cap: a metric that should not be above the baseline's; None: none.
    """

    def __init__(self, play: Play, policy: str, baseline: str, metric: str, cap: str | None) -> None:
        self.play, self.metric, self.cap = play, metric, cap
        self._requests = play.requests(play.warmup + play.host_pages)
        self.baseline = self._measure(play.simulator(baseline, cache=True))
        # The agent's steady state is that of its first weights, which no name or file stands for.
        self._simulator = play.simulator(policy, cache=False)
        self._begin = self._simulator.snapshot()

    def run(self) -> dict[str, Any]:
        """Run the policy with the weights that its agent has now; return all metrics."""
        self._simulator.restore(self._begin)
        return self._run(self._simulator)

    def score(self) -> Score:
        """Run the policy with the weights that its agent has now, and hold it against the baseline."""
        metrics = self.run()
        return Score(
            math.log(metric_of(metrics, self.metric, WHERE) / self.baseline[0]),
            0.0 if self.cap is None else math.log(metric_of(metrics, self.cap, WHERE) / self.baseline[1]),
            int(metrics["host_pages_written"] + metrics["relocated_pages"]),
        )

    def _measure(self, simulator: Simulator) -> tuple[float, float]:
        metrics = self._run(simulator)
        capped = self.cap or self.metric
        return metric_of(metrics, self.metric, WHERE), metric_of(metrics, capped, WHERE)

    def _run(self, simulator: Simulator) -> dict[str, Any]:
        return simulator.run(iter([self._requests]), host_pages=self.play.host_pages, warmup=self.play.warmup)


def training_tasks(config: EvolutionConfig, suite: SuiteConfig, policy: str) -> list[list[Task]]:
    """Draw the tasks that members are judged by.

    Args:
        config: of the evolution.
        suite: its suite.
        policy: with the name of the agent.

    Returns:
        The tasks of each training workload.

    Raises:
        SsdgymError: a workload is of another split, or a device cannot be made so.
    """
    return [[_task(play, config, suite, policy) for play in plays] for plays in training_plays(config, suite)]


def validation_tasks(config: EvolutionConfig, suite: SuiteConfig, policy: str) -> list[Task]:
    """Return the tasks of the suite's validation split, on its own devices.

    Args:
        config: of the evolution.
        suite: its suite.
        policy: with the name of the agent.

    Raises:
        SsdgymError: a device cannot be made so.
    """
    return [_task(play, config, suite, policy) for play in validation_plays(config, suite)]


def _task(play: Play, config: EvolutionConfig, suite: SuiteConfig, policy: str) -> Task:
    return Task(play, policy, config.baseline or suite.baseline, suite.metric, config.cap)


def mean_fitness(scores: Sequence[float] | np.ndarray, above: float, weight: float) -> float:
    """Return the mean of `r + weight * max(r - above, 0)`.

    Args:
        scores: r of each task.
        above: from where a loss counts again.
        weight: how much.
    """
    found = np.asarray(scores, np.float64)
    return float((found + weight * np.maximum(found - above, 0.0)).mean())
