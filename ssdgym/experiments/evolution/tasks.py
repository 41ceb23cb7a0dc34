"""Tasks of an evolution: a device, requests and a seed, run with other weights again and again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ssdgym.agents.learning.metrics import metric_of
from ssdgym.experiments.evolution.config import EvolutionConfig
from ssdgym.experiments.evolution.plays import WHERE, Play, training_plays, validation_plays
from ssdgym.experiments.suites.config import SuiteConfig
from ssdgym.simulator import Simulator


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
