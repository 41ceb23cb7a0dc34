"""Scores of a suite, 0 for its baseline and 1 for its bound, and their table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Group as Renderables
from rich.table import Table

from ssdgym.experiments.leaderboard.suites import SuiteConfig
from ssdgym.experiments.report.comparison import (
    Task,
    on_task,
    policies_of,
    score_matrix,
    task_title,
    tasks_of,
)
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate, iqm, stratified_bootstrap


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


def rich_scores(scores: SuiteScores, suite: SuiteConfig, learned: Sequence[str] = ()) -> Renderables:
    """Return a table of the policies by falling score, and one of the tasks.

    Args:
        scores: of a whole grid.
        suite: that they are of.
        learned: policies whose rows are in bold.
    """
    return Renderables(_standings(scores, suite, learned), _tasks(scores, suite))


def _standings(scores: SuiteScores, suite: SuiteConfig, learned: Sequence[str]) -> Table:
    table = _table(
        "score, interquartile mean over seeds and tasks with its 95 % interval",
        f"0: {suite.baseline}; 1: the best of {' and '.join(suite.ceilings)}; {len(scores.tasks)} tasks",
    )
    table.add_column("policy", no_wrap=True)
    for title in ("score", "interval", "best on"):
        table.add_column(title, justify="right")
    for row in scores.standings:
        bold = "bold" if row.policy in learned else ""
        bound = row.policy in suite.ceilings
        best = "bound" if bound else f"{row.best} task{'s' * (row.best != 1)}"
        table.add_row(row.policy, f"{row.score.value:.3f}", _interval(row.score), best, style=bold)
    return table


def _tasks(scores: SuiteScores, suite: SuiteConfig) -> Table:
    nanoseconds = suite.metric.partition("/")[0].endswith("_ns")
    table = _table(f"{suite.metric}{', ms,' if nanoseconds else ''} by task", "means over the seeds")
    for title in ("workload", "device"):
        table.add_column(title)
    for title in ("baseline", "bound", "best"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("best policy", overflow="fold")
    for task in scores.tasks:
        policy, value = task.best
        device, ftl, workload = task.task
        numbers = (task.baseline, task.ceiling, value)
        cells = (f"{number / 1e6:,.2f}" if nanoseconds else f"{number:.3f}" for number in numbers)
        several = len({other.task[1] for other in scores.tasks}) > 1
        where = without_common(device, [other.task[0] for other in scores.tasks])
        table.add_row(workload, f"{where} ({ftl})" if several else where, *cells, policy)
    return table


def without_common(device: str, devices: Sequence[str]) -> str:
    """Return what tells a device from others: of variations of one device, the fields that are varied.

    Args:
        device: which.
        devices: all of them.
    """
    names = {name.partition("(")[0] for name in devices}
    _, bracket, fields = device.partition("(")
    return fields.removesuffix(")") if bracket and len(names) == 1 else device


def _table(title: str, caption: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def _interval(score: Estimate) -> str:
    return "-" if np.isnan(score.low) else f"[{score.low:.3f}, {score.high:.3f}]"
