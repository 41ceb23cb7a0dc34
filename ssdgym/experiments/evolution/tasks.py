"""Tasks of an evolution: a device, requests and a seed, run with other weights again and again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ssdgym.agents.learning.metrics import metric_of
from ssdgym.errors import SsdgymError
from ssdgym.experiments.evolution.config import EvolutionConfig
from ssdgym.experiments.runs.expand import closed_loop
from ssdgym.experiments.runs.run import PRECONDITIONING_SEED
from ssdgym.experiments.runs.run_spec import ftl_changes
from ssdgym.experiments.suites.config import SuiteConfig
from ssdgym.experiments.suites.ranges import device_of, draw_device
from ssdgym.experiments.suites.splits import training_workloads
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import Recording
from ssdgym.workloads.load import load_workload
from ssdgym.workloads.stream import open_on

_CHUNK = 1 << 14
#: What errors begin with.
_WHERE = "evolution"
_SEEDS = 2**31 - 1


@dataclass(frozen=True)
class TaskSpec:
    """A run: a device as a mapping of its fields, and what it plays.

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
        spec: the run.
        policy: with the agent, whose weights are replaced between runs.
        baseline: that every run is compared with.
        metric: less is better.
        cap: a metric that should not be above the baseline's; None: none.
    """

    def __init__(self, spec: TaskSpec, policy: str, baseline: str, metric: str, cap: str | None) -> None:
        self.spec, self.metric, self.cap = spec, metric, cap
        self._workload = load_workload(spec.workload)
        options = closed_loop(tuple(sorted(spec.ftl.items())), self._workload)
        self._ftl = ftl_changes(options)
        self._requests = self._drawn()
        self.baseline = self._measure(self._ready(baseline, cache=True))
        # The agent's steady state is that of its first weights, which no name or file stands for.
        self._simulator = self._ready(policy, cache=False)
        self._begin = self._simulator.snapshot()

    def play(self) -> dict[str, Any]:
        """Run the policy with the weights that its agent has now; return all metrics."""
        self._simulator.restore(self._begin)
        return self._run(self._simulator)

    def score(self) -> Score:
        """Run the policy with the weights that its agent has now, and hold it against the baseline."""
        metrics = self.play()
        return Score(
            math.log(metric_of(metrics, self.metric, _WHERE) / self.baseline[0]),
            0.0 if self.cap is None else math.log(metric_of(metrics, self.cap, _WHERE) / self.baseline[1]),
            int(metrics["host_pages_written"] + metrics["relocated_pages"]),
        )

    def _measure(self, simulator: Simulator) -> tuple[float, float]:
        metrics = self._run(simulator)
        capped = self.cap or self.metric
        return metric_of(metrics, self.metric, _WHERE), metric_of(metrics, capped, _WHERE)

    def _ready(self, policy: str, *, cache: bool) -> Simulator:
        # A device is restored as a whole: records of latencies are short, and none are kept without time.
        timed = self.spec.ftl.get("timing") != "none"
        simulator = Simulator(
            dict(self.spec.device),
            ftl=self._ftl,
            policy=policy,
            seed=self.spec.seed,
            recording=Recording(1 << 17, 1 << 10) if timed else Recording(0, 0),
        )
        simulator.precondition(self._workload, seed=PRECONDITIONING_SEED, cache=cache)
        return simulator

    def _run(self, simulator: Simulator) -> dict[str, Any]:
        return simulator.run(iter([self._requests]), host_pages=self.spec.host_pages, warmup=self.spec.warmup)

    def _drawn(self) -> np.ndarray:
        """Return as many requests as a run needs."""
        simulator = Simulator(dict(self.spec.device), ftl=self._ftl, seed=self.spec.seed)
        stream = open_on(self._workload, simulator.device, self.spec.seed)
        chunks, left = [], self.spec.host_pages + self.spec.warmup + _CHUNK
        while left > 0:
            chunk = stream.next(_CHUNK)
            if not len(chunk):
                break
            chunks.append(np.array(chunk))
            written = int(chunk["pages"][chunk["op"] == WRITE].sum())
            if not written:
                raise SsdgymError(
                    f"evolution: workload {self._workload.kind} writes nothing in {_CHUNK} requests; choose "
                    "another one."
                )
            left -= written
        return np.concatenate(chunks) if chunks else np.zeros(0, REQUEST)


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
    rng = np.random.default_rng([config.seed, 0x7A5C])
    workloads = training_workloads(suite, config.tasks.workloads, _WHERE)
    tasks: list[list[Task]] = [[] for _ in workloads]
    for number in range(config.tasks.count):
        which = number % len(workloads)
        device, ftl = draw_device(suite, config.tasks, rng)
        pages = Simulator(dict(device), ftl=ftl_changes(tuple(sorted(ftl.items())))).logical_pages
        spec = TaskSpec(
            device,
            ftl,
            workloads[which],
            int(rng.integers(_SEEDS)),
            int(config.tasks.overwrites * pages),
            int(config.tasks.warmup_overwrites * pages),
        )
        baseline = config.baseline or suite.baseline
        tasks[which].append(Task(spec, policy, baseline, suite.metric, config.cap))
    return tasks


def validation_tasks(config: EvolutionConfig, suite: SuiteConfig, policy: str) -> list[Task]:
    """Return the tasks of the suite's validation split, on its own devices.

    Args:
        config: of the evolution.
        suite: its suite.
        policy: with the name of the agent.

    Raises:
        SsdgymError: a device cannot be made so.
    """
    given = config.validation
    return [
        Task(
            TaskSpec(
                device_of(suite, number, dict(zip(suite.vary, values, strict=True))),
                ftl,
                workload,
                seed,
                given.host_pages or suite.host_pages,
                suite.warmup if given.warmup is None else given.warmup,
            ),
            policy,
            config.baseline or suite.baseline,
            suite.metric,
            config.cap,
        )
        for number in range(len(suite.devices))
        for values in itertools.product(*suite.vary.values())
        for ftl in suite.ftls
        for workload in suite.splits["validation"]
        for seed in given.seeds
    ]


def mean_fitness(scores: Sequence[float] | np.ndarray, above: float, weight: float) -> float:
    """Return the mean of `r + weight * max(r - above, 0)`.

    Args:
        scores: r of each task.
        above: from where a loss counts again.
        weight: how much.
    """
    found = np.asarray(scores, np.float64)
    return float((found + weight * np.maximum(found - above, 0.0)).mean())
