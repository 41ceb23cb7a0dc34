"""Scores of a suite: 0 is the baseline and 1 the best bound of a task, whatever its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ssdgym.experiments.analysis.statistics import Estimate, iqm, stratified_bootstrap
from ssdgym.experiments.analysis.tasks import Task, on_task, policies_of, score_matrix, task_title, tasks_of
from ssdgym.experiments.results import Result
from ssdgym.experiments.suites.config import SuiteConfig


@dataclass(frozen=True)
class Standing:
    """Where a policy stands on the tasks of a suite.

    Attributes:
        policy: its name.
        score: interquartile mean of its scores over seeds and tasks.
        best: on how many tasks none but the ceilings is better.
    """

    policy: str
    score: Estimate
    best: int


@dataclass(frozen=True)
class TaskScores:
    """One task.

    Attributes:
        task: which.
        baseline: mean of the metric over the seeds.
        ceiling: of the best bound.
        best: the policy with the least mean, bounds left out, and that mean.
    """

    task: Task
    baseline: float
    ceiling: float
    best: tuple[str, float]

    @property
    def room(self) -> float:
        """How much the bound is below the baseline."""
        return self.baseline - self.ceiling


@dataclass(frozen=True)
class SuiteScores:
    """What a suite says of policies.

    Attributes:
        standings: by falling score.
        tasks: those that scores are made of.
        left_out: a sentence for each task without room between baseline and bound.
    """

    standings: tuple[Standing, ...]
    tasks: tuple[TaskScores, ...]
    left_out: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON, which has no NaN: limits that there are not are `None`."""
        found = asdict(self)
        for standing in found["standings"]:
            standing["score"] = {
                name: None if math.isnan(value) else value for name, value in standing["score"].items()
            }
        return found


def score(results: Sequence[Result], suite: SuiteConfig) -> SuiteScores:
    """Score every policy of a complete grid on the tasks of a suite.

    The score of a run is `(b - x) / (b - c)`: `x` is its metric, `b` the mean of the baseline and `c` that of
    the best ceiling on the same task.

    Args:
        results: every policy on every task and seed.
        suite: names baseline, ceilings and metric.

    Raises:
        SsdgymError: a run is missing.
    """
    tasks, left_out = [], []
    for task in tasks_of(results):
        found = _task_scores(on_task(results, task), task, suite)
        if found.room > 0:
            tasks.append(found)
        else:
            left_out.append(
                f"{task_title(task)}: no bound is below the baseline, {found.baseline:.3f}; it is left out."
            )
    if not tasks:
        return SuiteScores((), (), tuple(left_out))
    kept = [result for task in tasks for result in on_task(results, task.task)]
    standings = [_standing(kept, policy, tasks, suite) for policy in policies_of(kept)]
    standings.sort(key=lambda standing: -standing.score.value)
    return SuiteScores(tuple(standings), tuple(tasks), tuple(left_out))


def _task_scores(results: Sequence[Result], task: Task, suite: SuiteConfig) -> TaskScores:
    means = {
        policy: float(score_matrix(results, policy, suite.metric).mean()) for policy in policies_of(results)
    }
    others = [policy for policy in means if policy not in suite.ceilings]
    best = min(others, key=lambda policy: means[policy])
    ceiling = min(means[policy] for policy in suite.ceilings)
    return TaskScores(task, means[suite.baseline], ceiling, (best, means[best]))


def _standing(
    results: Sequence[Result], policy: str, tasks: Sequence[TaskScores], suite: SuiteConfig
) -> Standing:
    metric = score_matrix(results, policy, suite.metric)
    baselines, rooms = np.array([task.baseline for task in tasks]), np.array([task.room for task in tasks])
    scores = (baselines - metric) / rooms
    return Standing(policy, stratified_bootstrap(scores, iqm), sum(task.best[0] == policy for task in tasks))
