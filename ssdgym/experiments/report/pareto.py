"""The figure of lifetimes over write amplification, with the policies that none beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    summarize,
)
from ssdgym.experiments.report.panels import PANELS_PER_ROW, panels_of, spread_of
from ssdgym.experiments.report.style import color_of, legend_below, marker_of, show_on_hover, styled
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate

#: How long a device has lived, in pages that the host has written.
LIFE = "lifetime/host_pages_written"
#: Units of lifetimes, and their host pages.
_UNITS = (("million ", 1e6), ("thousand ", 1e3), ("", 1.0))
#: Opacity of what another policy beats.
_FAINT = 0.45


@dataclass(frozen=True)
class Point:
    """What a policy has reached on some tasks: its write amplification, and host pages of a life."""

    policy: str
    amplification: Estimate
    life: Estimate


def has_lives(results: Sequence[Result]) -> bool:
    """Return whether there are tasks on which every device has come to its end."""
    return bool(_with_lives(groups_of(results)))


def _with_lives(groups: Sequence[TaskGroup]) -> list[TaskGroup]:
    return [
        group
        for group in groups
        if measured(group.results, LIFE)
        and measured(group.results, WRITE_AMPLIFICATION)
        and all(result.metrics.get("end_of_life") for result in group.results)
    ]


def points_of(results: Sequence[Result]) -> list[Point]:
    """Return the points of all policies, in order of first appearance."""
    return [
        Point(policy, *(summarize(results, policy, metric) for metric in (WRITE_AMPLIFICATION, LIFE)))
        for policy in policies_of(results)
    ]


def unbeaten(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other one is as good as in both and better in one, by write amplification."""
    front = [
        point for point in points if not any(_beats(other, point) for other in points if other is not point)
    ]
    return sorted(front, key=lambda point: (point.amplification.value, point.life.value))


def _beats(one: Point, other: Point) -> bool:
    gains = (
        other.amplification.value - one.amplification.value,
        one.life.value - other.life.value,
    )
    return min(gains) >= 0 and max(gains) > 0


@styled()
def lifetime_figure(results: Sequence[Result], learned: Sequence[str] = ()) -> Figure:
    """Draw a panel per group of tasks: lifetime over write amplification, with 95 % intervals.

    Policies that none beats in both are joined by a line; the others are faint.

    Args:
        results: of devices that have lived to their ends.
        learned: policies drawn with a larger, open marker.

    Raises:
        SsdgymError: there is no task on which all of them have.
    """
    groups, policies = _with_lives(groups_of(results)), policies_of(results)
    if not groups:
        raise SsdgymError("no task has lifetimes in all of its results: write devices to their ends")
    figure, panels = panels_of(groups, (1.0, 3.0), (0.4, 2.9), share_y=False)
    points_on = [points_of(group.results) for group in groups]
    unit, pages = _unit_of(max(point.life.value for points in points_on for point in points))
    for number, (axes, points) in enumerate(zip(panels, points_on, strict=True)):
        front = unbeaten(points)
        for point in points:
            index = policies.index(point.policy)
            _draw_point(axes, point, index, point in front, point.policy in learned, pages)
        _join(axes, front, pages)
        if number % PANELS_PER_ROW == 0:
            axes.set_ylabel(f"lifetime ({unit}host pages)")
        if number + PANELS_PER_ROW >= len(groups):
            axes.set_xlabel("write amplification")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.margins(0.1)
        axes.grid()
    legend_below(figure, *panels)
    for artist in figure.legends[0].findobj():
        artist.set_alpha(1.0)  # what one panel has faint, another one may not
    return figure


def _unit_of(longest: float) -> tuple[str, float]:
    """Return the word for a unit of lifetimes of which the longest has one or more, and its host pages."""
    return next((word, size) for word, size in _UNITS if longest >= size or size == 1.0)


def _join(axes: Axes, front: Sequence[Point], pages: float) -> None:
    """Draw the line of what is reached with no more write amplification, as steps."""
    amplifications = [point.amplification.value for point in front]
    lives = [point.life.value / pages for point in front]
    axes.step(amplifications, lives, where="post", color="black", linewidth=0.8, linestyle=":", zorder=1)


def _draw_point(
    axes: Axes, point: Point, index: int, is_unbeaten: bool, is_learned: bool, pages: float
) -> None:
    drawn = axes.errorbar(
        point.amplification.value,
        point.life.value / pages,
        xerr=spread_of(point.amplification, 1.0),
        yerr=spread_of(point.life, pages),
        color=color_of(index),
        marker=marker_of(index),
        markersize=8 if is_learned else 5,
        markerfacecolor="none" if is_learned else color_of(index),
        linestyle="none",
        elinewidth=0.8,
        alpha=1.0 if is_unbeaten else _FAINT,
        label=point.policy,
    )
    numbers = f"{point.amplification.value:,.3f}, {point.life.value:,.0f} host pages"
    show_on_hover(drawn.lines[0], f"{point.policy}: {numbers}{', unbeaten' * is_unbeaten}")
