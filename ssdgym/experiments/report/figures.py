"""Figures of results: intervals per task, latencies, and write amplification over a varied field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.comparison import (
    WRITE_AMPLIFICATION,
    TaskGroup,
    groups_of,
    measured,
    policies_of,
    short_names,
    summarize,
    varied_part,
)
from ssdgym.experiments.report.style import (
    color_of,
    dashes_of,
    label_decades,
    legend_below,
    marker_of,
    styled,
)
from ssdgym.experiments.report.summary import Shown, describe
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import split_options
from ssdgym.experiments.statistics import Estimate

PERCENTILES = ("p50", "p95", "p99", "p99.9", "p99.99", "max")
PANELS_PER_ROW = 3


def _panels_of(
    groups: Sequence[TaskGroup],
    width: tuple[float, float],
    height: tuple[float, float],
    share_x: bool = False,
    share_y: bool = True,
) -> tuple[Figure, list[Axes]]:
    """Return a figure, and its panels: one for each group, with the title of the group.

    Args:
        groups: groups of tasks.
        width: (space beside the panels, width of one panel), in inches.
        height: (space above and below the panels, height of one row of panels), in inches.
        share_x: whether all panels have the same horizontal axis.
        share_y: whether all panels have the same vertical axis.
    """
    columns = min(len(groups), PANELS_PER_ROW)
    rows = math.ceil(len(groups) / columns)
    size = width[0] + width[1] * max(columns, 2), rows * height[1] + height[0]
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(rows, columns, sharex=share_x, sharey=share_y, squeeze=False).ravel())
    while len(panels) > len(groups):
        panels.pop().remove()
    for axes, group in zip(panels, groups, strict=True):
        axes.set_title(_short_title(group, groups))
    return figure, panels


def _short_title(group: TaskGroup, groups: Sequence[TaskGroup]) -> str:
    """Return a panel's title: the workload, then the device and FTL options in which the panels differ."""
    if len(group.tasks) > 1:
        return group.title
    device, ftl, workload = group.tasks[0]
    tasks = [task for other in groups for task in other.tasks]
    devices = {task[0] for task in tasks}
    lines = [workload, *([varied_part(device, devices)] if len(devices) > 1 else [])]
    shared = set.intersection(*(set(split_options(task[1])) for task in tasks))
    return "\n".join([*lines, *(option for option in split_options(ftl) if option not in shared)])


@styled()
def interval_figure(
    results: Sequence[Result], metric: str = WRITE_AMPLIFICATION, learned: Sequence[str] = ()
) -> Figure:
    """Draw one panel per group of tasks, with the interquartile mean and 95 % interval of each policy."""
    groups, policies = groups_of(results), policies_of(results)
    groups = [group for group in groups if measured(group.results, metric)]
    if not groups:
        raise SsdgymError(f"no task has the metric {metric} in all of its results: choose another one")
    label, scale = _unit(metric)
    names = max(1.6, 0.3 + 0.08 * max(map(len, policies)))  # room for the longest
    figure, panels = _panels_of(groups, (names, 2.6), (0.3, 0.75 + 0.24 * len(policies)))
    for axes, group in zip(panels, groups, strict=True):
        for index, policy in enumerate(policies):
            if policy in policies_of(group.results):
                found = summarize(group.results, policy, metric)
                axes.errorbar(
                    found.value / scale,
                    index,
                    xerr=_bars([found], scale),
                    color=color_of(index),
                    marker=marker_of(index),
                    markersize=8 if policy in learned else 5,
                    markerfacecolor="none" if policy in learned else color_of(index),
                )
        axes.set_yticks(range(len(policies)), policies)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.grid(axis="x")
        axes.margins(x=0.1)
    panels[0].set_ylim(len(policies) - 0.5, -0.5)
    figure.supxlabel(label, fontsize="medium")
    return figure


def _unit(metric: str) -> tuple[str, float]:
    """Return the axis label of a metric, and the divisor that converts its numbers to the label's unit."""
    if metric == WRITE_AMPLIFICATION:
        return "write amplification (flash pages / host pages)", 1.0
    name, _, part = metric.partition("/")
    words = name.replace("_", " ")
    if words.endswith(" ns"):
        return f"{words.removesuffix(' ns')} {part} (µs)".replace("  ", " "), 1_000.0
    return f"{words} {part}".strip(), 1.0


def _bars(found: Sequence[Estimate], scale: float) -> np.ndarray | None:
    """Return the lengths of error bars / `scale`, shape `(2, estimates)`; None without intervals."""
    values, low, high = np.transpose(found)
    if np.isnan(low).any():
        return None
    return np.maximum([values - low, high - values], 0) / scale  # rounding may leave -1e-16


@styled()
def latency_figure(
    results: Sequence[Result], operation: str = "write", learned: Sequence[str] = ()
) -> Figure:
    """Draw latency percentiles per policy with 95 % intervals, one panel per task, on a logarithmic axis."""
    groups = _with_latencies(results, operation)
    if not groups:
        raise SsdgymError(f"no result has {operation} latencies: run with event-driven timing")
    figure, panels = _panels_of(groups, (1.0, 3.0), (0.4, 2.9), share_x=True)
    policies = policies_of(results)
    for number, (axes, group) in enumerate(zip(panels, groups, strict=True)):
        for index, policy in enumerate(policies):
            own = [result for result in group.results if result.policy == policy]
            found = {
                place: summarize(own, policy, metric)
                for place, part in enumerate(PERCENTILES)
                for metric in [f"{operation}_latency_ns/{part}"]
                if measured(own, metric)
            }
            _draw_line(axes, found, index, policy, 1_000.0, heavy=policy in learned)
        axes.set_xticks(range(len(PERCENTILES)), PERCENTILES, fontsize="small")
        axes.tick_params(labelbottom=True)
        if number + PANELS_PER_ROW >= len(groups):
            axes.set_xlabel("percentile of requests")
        axes.grid(axis="y", which="both")
    panels[0].set_yscale("log")
    label_decades(panels[0].yaxis, *panels[0].get_ylim())
    figure.supylabel(f"{operation} latency (µs)", fontsize="medium")
    legend_below(figure, panels[0])
    return figure


def _with_latencies(results: Sequence[Result], operation: str) -> list[TaskGroup]:
    """Return a group for each task on which every result has latencies of the operation."""
    metric = f"{operation}_latency_ns/p50"
    return [
        group for group in groups_of(results) if len(group.tasks) == 1 and measured(group.results, metric)
    ]


def _draw_line(
    axes: Axes, found: Mapping[Any, Estimate], index: int, policy: str, scale: float, heavy: bool = False
) -> None:
    """Draw the estimates in `found` as points joined by a line; their keys are the x values."""
    axes.errorbar(
        list(found),
        [one.value / scale for one in found.values()],
        yerr=_bars(list(found.values()), scale) if found else None,
        color=color_of(index),
        marker=marker_of(index),
        linestyle=dashes_of(index),
        markersize=4,
        linewidth=2.5 if heavy else 1.2,
        elinewidth=1.0,
        label=policy,
    )


def _fields(result: Result) -> dict[str, str]:
    """Return the values of the device's varied fields and of the FTL options, as text by dotted name."""
    varied = result.device.partition("(")[2].removesuffix(")")
    texts = [*varied.split(", "), *(f"ftl.{option}" for option in split_options(result.ftl))]
    return {name: value for name, equals, value in (text.partition("=") for text in texts) if equals}


def varied_fields(results: Sequence[Result]) -> list[str]:
    """Return the device fields and FTL options that are numbers in all results and have several values."""
    numbers = pd.DataFrame(map(_fields, results)).apply(pd.to_numeric, errors="coerce")
    return [name for name in numbers if numbers[name].notna().all() and numbers[name].nunique() > 1]


@styled()
def curve_figure(results: Sequence[Result], field: str) -> Figure | None:
    """Draw write amplification over a field, with a panel per workload and combination of other fields.

    Return None if a run has no write amplification, or if a policy lacks a value of the field in some panel.
    """
    names = short_names(policies_of(results))
    curves: dict[str, dict[float, list[Result]]] = {}
    for result in results:
        fields = _fields(result)
        value = float(fields.pop(field))
        rest = [f"{name}={text}" for name, text in fields.items()]
        title = "\n".join([f"{result.workload} on {result.device.partition('(')[0]}", *rest])
        result = replace(result, policy=names[result.policy])
        curves.setdefault(title, {}).setdefault(value, []).append(result)
    points = [point for curve in curves.values() for point in curve.values()]
    if not all(
        measured(point, WRITE_AMPLIFICATION) and {*policies_of(point)} == {*names.values()}
        for point in points
    ):
        return None
    groups = [TaskGroup(title, tuple(sum(curve.values(), []))) for title, curve in curves.items()]
    figure, panels = _panels_of(groups, (1.0, 3.0), (0.4, 2.7), share_x=True, share_y=False)
    for axes, (title, curve) in zip(panels, curves.items(), strict=True):
        axes.set_title(title)
        for index, policy in enumerate(names.values()):
            found = {value: summarize(curve[value], policy, WRITE_AMPLIFICATION) for value in sorted(curve)}
            _draw_line(axes, found, index, policy, 1.0)
        axes.grid(axis="y")
        axes.set_xlabel(field)
    figure.supylabel("write amplification", fontsize="medium")
    legend_below(figure, panels[0])
    return figure


@dataclass(frozen=True)
class ReportFigure:
    """A figure with its file name, title and caption."""

    name: str
    title: str
    caption: str
    figure: Figure


def report_figures(shown: Shown) -> Iterator[ReportFigure]:
    """Yield the figures for which the results have data, in the order of a report."""
    results, learned = shown.results, shown.learned
    numbers = describe(len({result.seed for result in results}), 1, "as a bar")
    if any(measured(found.results, WRITE_AMPLIFICATION) for found in shown.groups):
        yield ReportFigure(
            WRITE_AMPLIFICATION,
            "Write amplification",
            f"{numbers} Less is better; the axes of the panels begin and end where their numbers do.",
            interval_figure(results, learned=learned),
        )
    for field in varied_fields(shown.runs):
        if (curve := curve_figure(shown.runs, field)) is not None:
            yield ReportFigure(
                f"curve_{field.replace('.', '_')}",
                f"Write amplification over {field}",
                f"{numbers} Less is better.",
                curve,
            )
    for operation in ("read", "write"):
        if _with_latencies(results, operation):
            yield ReportFigure(
                f"{operation}_latency",
                f"{operation.capitalize()} latency",
                f"{numbers} Both axes are the same in all panels.",
                latency_figure(results, operation, learned),
            )
