"""Panels of a figure, one for each group of tasks, and the bars of intervals in them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssdgym.experiments.report.comparison import TaskGroup
from ssdgym.experiments.statistics import Estimate

PANELS_PER_ROW = 3


def panels_of(
    groups: Sequence[TaskGroup],
    width: tuple[float, float],
    height: tuple[float, float],
    share_x: bool = False,
    share_y: bool = True,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with one panel for each group, with its title.

    Args:
        groups: of tasks.
        width: of what stands beside the panels, and of each, in inches.
        height: of a row of panels beside what stands above or below all of them: the latter first, in inches.
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
    """Return the workload and, beneath it, the device and FTL options that differ between the panels."""
    if len(group.tasks) > 1:
        return group.title
    device, ftl, workload = group.tasks[0]
    tasks = [task for other in groups for task in other.tasks]
    devices = {task[0] for task in tasks}
    if len({name.partition("(")[0] for name in devices}) == 1 and all(name.endswith(")") for name in devices):
        device = device.partition("(")[2].removesuffix(")")  # of one device, with other fields
    lines = [workload, *([device] if len(devices) > 1 else [])]
    shared = set.intersection(*(set(task[1].split(",")) for task in tasks))
    return "\n".join([*lines, *(option for option in ftl.split(",") if option not in shared)])


def spread_of(found: Estimate, scale: float) -> list[list[float]] | None:
    """Return how far an interval reaches below and above its value, divided by a scale.

    A single seed has none, and no bar. Rounding may leave -1e-16.
    """
    if math.isnan(found.low):
        return None
    below, above = max(found.value - found.low, 0.0), max(found.high - found.value, 0.0)
    return [[below / scale], [above / scale]]
