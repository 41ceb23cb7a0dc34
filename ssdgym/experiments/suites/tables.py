"""Scores of a suite as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich import box
from rich.console import Group as Renderables
from rich.table import Table

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.suites.config import SuiteConfig
from ssdgym.experiments.suites.scores import SuiteScores


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
