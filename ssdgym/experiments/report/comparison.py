"""Compare policies task by task, paired by seed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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

#: A task: device, FTL options and workload.
Task = tuple[str, str, str]


def tasks_of(results: Sequence[Result]) -> list[Task]:
    """Return the tasks in order of first appearance."""
    return list(dict.fromkeys(task_of(result) for result in results))


def task_of(result: Result) -> Task:
    """Return the task of a result."""
    return result.device, result.ftl, result.workload


def policies_of(results: Sequence[Result]) -> list[str]:
    """Return the names of the policies in order of first appearance."""
    return list(dict.fromkeys(result.policy for result in results))


@dataclass(frozen=True)
class TaskGroup:
    """Comparable results: every policy has the same seeds on every task of the group.

    Attributes:
        title: name of the group in headings.
        results: the results; empty if nothing can be compared.
        left_out: sentences that name policies and seeds left out to make the results comparable.
    """

    title: str
    results: tuple[Result, ...]
    left_out: tuple[str, ...] = ()

    @property
    def tasks(self) -> list[Task]:
        """The tasks in order of first appearance."""
        return tasks_of(self.results)

    @property
    def seeds(self) -> list[int]:
        """The seeds, sorted."""
        return sorted({result.seed for result in self.results})


def groups_of(results: Sequence[Result]) -> list[TaskGroup]:
    """Return a group for each task, and, if there are several tasks, one last group for all of them."""
    tasks = tasks_of(results)
    groups = [_group(task_title(task), on_task(results, task)) for task in tasks]
    if len(tasks) > 1:
        groups.append(_group(f"all {len(tasks)} tasks", results))
    return groups


def _group(title: str, results: Sequence[Result]) -> TaskGroup:
    """Return a group of the policies that were run on every task, with the seeds common to all their runs."""
    seeds: dict[str, dict[Task, set[int]]] = {}
    for result in results:
        seeds.setdefault(result.policy, {}).setdefault(task_of(result), set()).add(result.seed)
    tasks, left_out = tasks_of(results), []
    for policy, has in list(seeds.items()):
        if len(has) < len(tasks):
            left_out.append(f"{title}: {policy} was run on {len(has)} of them only and is left out.")
            del seeds[policy]
    everywhere = [runs for has in seeds.values() for runs in has.values()]
    common = set.intersection(*everywhere) if everywhere else set()
    if everywhere and not common:
        left_out.append(
            f"{title}: nothing can be compared, since no seed was run with every policy and task."
        )
    elif missing := sorted(set().union(*everywhere) - common):
        which = ("seed {} is", "the seeds {} are")[len(missing) > 1].format(", ".join(map(str, missing)))
        left_out.append(f"{title}: {which} left out, since not every policy has them on every task.")
    kept = tuple(result for result in results if result.policy in seeds and result.seed in common)
    return TaskGroup(title, kept, tuple(left_out))


def task_title(task: Task) -> str:
    """Return the title of a task: workload, device and the options of the FTL."""
    device, ftl, workload = task
    return f"{workload} on {device}" + (f" ({ftl})" if ftl else "")


def varied_part(device: str, devices: Collection[str]) -> str:
    """Return the part in brackets of a device's name if `devices` are variants of one; else the name."""
    of_one = len({name.partition("(")[0] for name in devices}) == 1
    varied = of_one and all(name.endswith(")") for name in devices)
    return device.partition("(")[2].removesuffix(")") if varied else device


_PARTS = re.compile(r"\+(?![^(]*\))")


def short_names(policies: Iterable[str]) -> dict[str, str]:
    """Return short names of policies: the part after the last `+`, or if it is ambiguous the whole name.

    A single policy keeps its whole name.
    """
    last = {policy: _PARTS.split(policy)[-1] for policy in policies}
    counts = Counter(last.values())
    return {policy: short if counts[short] == 1 < len(last) else policy for policy, short in last.items()}


def on_task(results: Sequence[Result], task: Task) -> list[Result]:
    """Return the results of one task."""
    return [result for result in results if task_of(result) == task]


def measured(results: Sequence[Result], metric: str) -> bool:
    """Return whether there are results and all of them have the metric."""
    return bool(results) and all(result.measured(metric) for result in results)


def score_matrix(results: Sequence[Result], policy: str, metric: str) -> NDArray[np.float64]:
    """Return a metric of a policy as a score matrix, shape `(runs, tasks)`, with runs in order of seeds.

    Args:
        results: results of one or several tasks.
        policy: name of a policy in the results.
        metric: name of the metric; `/` joins nested names.

    Raises:
        SsdgymError: a task lacks a seed that another task has, or has a seed twice.
    """
    own = [result for result in results if result.policy == policy]
    seeds = sorted({result.seed for result in own})
    columns = []
    for task in tasks_of(results):
        runs = sorted(on_task(own, task), key=lambda result: result.seed)
        if [result.seed for result in runs] != seeds:
            raise SsdgymError(
                f"{policy} on {task[2]} ({task[0]}) needs exactly one result for each of the seeds {seeds}, "
                f"and has {[result.seed for result in runs]}: evaluate the missing ones, or remove repeats"
            )
        columns.append([result.metric(metric) for result in runs])
    return np.asarray(columns, dtype=np.float64).T


WRITE_AMPLIFICATION = "write_amplification"


@dataclass(frozen=True)
class Advantage:
    """A comparison of two policies on the same tasks and seeds, by a metric of which less is better.

    Attributes:
        difference: `ours / theirs - 1`, paired by task and seed; negative if `ours` is better.
        improvement: probability that a run of `ours` is better than a run of `theirs`.
    """

    ours: str
    theirs: str
    difference: Estimate
    improvement: Estimate

    @property
    def beats(self) -> bool:
        """Whether `ours` is better, and the interval of the difference excludes zero."""
        return self.difference.value < 0 and self.difference.excludes(0.0)

    @property
    def loses(self) -> bool:
        """Whether `ours` is worse, and the interval of the difference excludes zero."""
        return self.difference.value > 0 and self.difference.excludes(0.0)


def summarize(results: Sequence[Result], policy: str, metric: str, *, seed: int = 0) -> Estimate:
    """Return the interquartile mean of a metric over runs, averaged over tasks, with its 95 % interval.

    Args:
        results: results of one or several tasks.
        policy: name of a policy in the results.
        metric: name of the metric; `/` joins nested names.
        seed: seed of the bootstrap.

    Raises:
        SsdgymError: as in `score_matrix`.
    """
    return stratified_bootstrap(score_matrix(results, policy, metric), mean_over_tasks, seed=seed)


def best_heuristic(
    results: Sequence[Result], ours: Sequence[str], metric: str = WRITE_AMPLIFICATION
) -> str | None:
    """Return the policy with the lowest geometric mean of the metric over tasks; `None` if none remains.

    Args:
        results: results of one or several tasks.
        ours: policies to leave out.
        metric: name of a metric of which less is better.
    """

    def score(policy: str) -> float:
        return geometric_mean_over_tasks(score_matrix(results, policy, metric))

    return min((policy for policy in policies_of(results) if policy not in ours), key=score, default=None)


def advantage(
    results: Sequence[Result], ours: str, theirs: str, metric: str = WRITE_AMPLIFICATION, *, seed: int = 0
) -> Advantage:
    """Compare two policies, paired by task and seed.

    Args:
        results: results of one or several tasks.
        ours: name of a policy.
        theirs: name of the policy that `ours` is compared with.
        metric: name of a metric of which less is better.
        seed: seed of the bootstrap.

    Raises:
        SsdgymError: the policies were not run on the same tasks and seeds.
    """
    seeds = [sorted({result.seed for result in results if result.policy == name}) for name in (ours, theirs)]
    if seeds[0] != seeds[1]:
        raise SsdgymError(f"{ours} was run on the seeds {seeds[0]} and {theirs} on {seeds[1]}: use the same")
    left, right = score_matrix(results, ours, metric), score_matrix(results, theirs, metric)
    return Advantage(
        ours,
        theirs,
        relative_difference(left, right, seed=seed),
        probability_of_improvement(left, right, seed=seed),
    )


def verdict(found: Advantage, metric: str = WRITE_AMPLIFICATION) -> str:
    """Return a sentence on the comparison; it names a winner only if the interval excludes zero."""
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
