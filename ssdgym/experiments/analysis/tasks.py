"""Results by task and policy: what is compared with what, as score matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result

#: Marks, at the end of a workload's label, what a learned policy was not trained on.
HELD_OUT = " (held out)"

#: What makes two runs the same task: device, FTL options and workload.
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
    """Results that are compared: every policy has the same seeds on every task.

    Attributes:
        title: names the tasks.
        results: none, where nothing can be compared.
        left_out: one sentence for everything that had to be left out to make it so.
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
    """Return a group for each task, and for the held-out ones and all of them if there are several."""
    tasks = tasks_of(results)
    groups = [_group(task_title(task), on_task(results, task)) for task in tasks]
    held_out = [task for task in tasks if task[2].endswith(HELD_OUT)]
    if 1 < len(held_out) < len(tasks):
        judged = [result for result in results if task_of(result) in held_out]
        groups.append(_group(f"the {len(held_out)} held-out tasks", judged))
    if len(tasks) > 1:
        groups.append(_group(f"all {len(tasks)} tasks", results))
    return groups


def _group(title: str, results: Sequence[Result]) -> TaskGroup:
    """Keep the policies that were run on every task, on the seeds that all of them have everywhere."""
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
    """Return a task in words: workload, device and the options of the FTL."""
    device, ftl, workload = task
    return f"{workload} on {device}" + (f" ({ftl})" if ftl else "")


def on_task(results: Sequence[Result], task: Task) -> list[Result]:
    """Return the results of one task.

    Args:
        results: of one or several tasks.
        task: which.
    """
    return [result for result in results if task_of(result) == task]


def measured(results: Sequence[Result], metric: str) -> bool:
    """Return whether there are results and all have the metric; write amplification needs writes.

    Args:
        results: of any tasks.
        metric: nested names joined by `/`.
    """
    return bool(results) and all(result.measured(metric) for result in results)


def score_matrix(results: Sequence[Result], policy: str, metric: str) -> NDArray[np.float64]:
    """Return one metric of one policy as a score matrix.

    Args:
        results: of one or several tasks.
        policy: one of theirs.
        metric: nested names joined by `/`.

    Returns:
        Shape `(runs, tasks)`, runs in order of their seeds.

    Raises:
        SsdgymError: a task lacks a seed that another one has, or has one twice.
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
