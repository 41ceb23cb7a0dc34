"""What a set of results says: summaries per policy, and whether a learned one beats the heuristics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import (
    Estimate,
    geometric_mean_over_tasks,
    mean_over_tasks,
    probability_of_improvement,
    relative_difference,
    stratified_bootstrap,
)

WRITE_AMPLIFICATION = "write_amplification"

#: Marks, at the end of a workload's label, what a learned policy was not trained on.
HELD_OUT = " (held out)"

#: What makes two runs the same task: device, FTL options and workload.
Task = tuple[str, str, str]


@dataclass(frozen=True)
class Advantage:
    """How one policy stands against another on the same tasks and seeds, in a metric where less is better.

    Attributes:
        ours, theirs: the names of the two policies.
        difference: of ours relative to theirs, paired by task and seed; negative where ours is better.
        improvement: probability that a run of ours is better than a run of theirs.
    """

    ours: str
    theirs: str
    difference: Estimate
    improvement: Estimate

    @property
    def beats(self) -> bool:
        """Ours is better, and the interval of the difference excludes zero."""
        return self.difference.value < 0 and self.difference.excludes(0.0)

    @property
    def loses(self) -> bool:
        """Ours is worse, and the interval of the difference excludes zero."""
        return self.difference.value > 0 and self.difference.excludes(0.0)


def tasks_of(results: Sequence[Result]) -> list[Task]:
    """The tasks in order of first appearance."""
    return list(dict.fromkeys(task_of(result) for result in results))


def task_of(result: Result) -> Task:
    """The task a result belongs to."""
    return result.device, result.ftl, result.workload


def policies_of(results: Sequence[Result]) -> list[str]:
    """The names of the policies in order of first appearance."""
    return list(dict.fromkeys(result.policy for result in results))


def groups_of(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """What is judged together, with a title: each task, the held-out ones and all if there are several."""
    tasks = tasks_of(results)
    groups = [(_title(task), on_task(results, task)) for task in tasks]
    held_out = [task for task in tasks if task[2].endswith(HELD_OUT)]
    if 1 < len(held_out) < len(tasks):
        groups.append((f"the {len(held_out)} held-out tasks", [r for r in results if task_of(r) in held_out]))
    if len(tasks) > 1:
        groups.append((f"all {len(tasks)} tasks", list(results)))
    return groups


def _title(task: Task) -> str:
    device, ftl, workload = task
    return f"{workload} on {device}" + (f" ({ftl})" if ftl else "")


def on_task(results: Sequence[Result], task: Task) -> list[Result]:
    """The results of one task."""
    return [result for result in results if task_of(result) == task]


def score_matrix(results: Sequence[Result], policy: str, metric: str) -> NDArray[np.float64]:
    """One metric of one policy, shape ``(runs, tasks)``, runs in order of their seeds.

    Raises:
        SsdgymError: a task lacks a seed that another one has, or has one twice.
    """
    mine = [result for result in results if result.policy == policy]
    seeds = sorted({result.seed for result in mine})
    columns = []
    for task in tasks_of(results):
        runs = sorted(on_task(mine, task), key=lambda result: result.seed)
        if [result.seed for result in runs] != seeds:
            raise SsdgymError(
                f"{policy} on {task[2]} ({task[0]}) needs exactly one result for each of the seeds {seeds}, "
                f"and has {[result.seed for result in runs]}: evaluate the missing ones, or remove repeats"
            )
        columns.append([result.metric(metric) for result in runs])
    return np.asarray(columns, dtype=np.float64).T


def summarize(results: Sequence[Result], policy: str, metric: str, *, seed: int = 0) -> Estimate:
    """The mean over tasks of a metric's interquartile mean over runs, with its 95 % interval."""
    return stratified_bootstrap(score_matrix(results, policy, metric), mean_over_tasks, seed=seed)


def best_heuristic(
    results: Sequence[Result], ours: Sequence[str], metric: str = WRITE_AMPLIFICATION
) -> str | None:
    """The policy not in ``ours`` with the lowest geometric mean over tasks; ``None`` without any."""

    def score(policy: str) -> float:
        return geometric_mean_over_tasks(score_matrix(results, policy, metric))

    return min((policy for policy in policies_of(results) if policy not in ours), key=score, default=None)


def advantage(
    results: Sequence[Result], ours: str, theirs: str, metric: str = WRITE_AMPLIFICATION, *, seed: int = 0
) -> Advantage:
    """Compare two policies, paired by task and seed.

    Raises:
        SsdgymError: they were not run on the same tasks and seeds.
    """
    left, right = score_matrix(results, ours, metric), score_matrix(results, theirs, metric)
    return Advantage(
        ours,
        theirs,
        relative_difference(left, right, seed=seed),
        probability_of_improvement(left, right, seed=seed),
    )


def verdict(found: Advantage, metric: str = WRITE_AMPLIFICATION) -> str:
    """One sentence that claims a win or a loss only where the interval excludes zero."""
    name = metric.replace("_", " ").replace("/", " ")
    share = found.difference
    if math.isnan(share.low):
        return (
            f"{found.ours} against {found.theirs}: {name} {share.value:+.1%} in a single seed, "
            "too few to say who is better."
        )
    numbers = f"{name} {share.value:+.1%}, 95 % interval {share.low:+.1%} to {share.high:+.1%}"
    if found.beats:
        return f"{found.ours} beats {found.theirs} ({numbers})."
    if found.loses:
        return f"{found.ours} does NOT beat {found.theirs}, it is worse ({numbers})."
    return f"{found.ours} does NOT beat {found.theirs} ({numbers}, includes zero)."
