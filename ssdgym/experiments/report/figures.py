"""Figures of results: intervals per task, latencies, performance profiles, improvement, lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.comparison import (
    WRITE_AMPLIFICATION,
    TaskGroup,
    advantage,
    best_heuristic,
    groups_of,
    measured,
    policies_of,
    profiles,
    summarize,
)
from ssdgym.experiments.report.curves import curve_figure, varied_fields
from ssdgym.experiments.report.panels import PANELS_PER_ROW, panels_of, spread_of
from ssdgym.experiments.report.style import (
    color_of,
    dashes_of,
    label_decades,
    legend_below,
    marker_of,
    show_on_hover,
    styled,
)
from ssdgym.experiments.report.summary import describe, side_by_side
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate

PERCENTILES = ("p50", "p95", "p99", "p99.9", "p99.99", "max")
#: How long a device has lived, in pages that the host has written.
LIFE = "lifetime/host_pages_written"
#: Units of lifetimes, and their host pages.
_UNITS = (("million ", 1e6), ("thousand ", 1e3), ("", 1.0))
#: Opacity of what another policy beats.
_FAINT = 0.45


@styled()
def interval_figure(
    results: Sequence[Result], metric: str = WRITE_AMPLIFICATION, learned: Sequence[str] = ()
) -> Figure:
    """Draw a panel per group of tasks: the interquartile mean of each policy, with its 95 % interval."""
    groups, policies = _comparable(results), policies_of(results)
    groups = [group for group in groups if measured(group.results, metric)]
    if not groups:
        raise SsdgymError(f"no task has the metric {metric} in all of its results: choose another one")
    label, scale = _unit(metric)
    names = max(1.6, 0.3 + 0.08 * max(map(len, policies)))  # room for the longest
    figure, panels = panels_of(groups, (names, 2.6), (0.3, 0.75 + 0.24 * len(policies)))
    for axes, group in zip(panels, groups, strict=True):
        for index, policy in enumerate(policies):
            if policy in policies_of(group.results):
                found = summarize(group.results, policy, metric)
                _draw_interval(axes, policy, index, found, scale, index, policy in learned)
        axes.set_yticks(range(len(policies)), policies)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.grid(axis="x")
        axes.margins(x=0.1)
    panels[0].set_ylim(len(policies) - 0.5, -0.5)
    figure.supxlabel(label, fontsize="medium")
    return figure


@styled()
def latency_figure(
    results: Sequence[Result], operation: str = "write", learned: Sequence[str] = ()
) -> Figure:
    """Draw latency percentiles per policy with 95 % intervals, one panel per task, on a logarithmic axis."""
    groups = _with_latencies(_comparable(results), operation)
    if not groups:
        raise SsdgymError(f"no result has {operation} latencies: run with event-driven timing")
    figure, panels = panels_of(groups, (1.0, 3.0), (0.4, 2.9), share_x=True)
    policies = policies_of(results)
    for number, (axes, group) in enumerate(zip(panels, groups, strict=True)):
        for index, policy in enumerate(policies):
            _draw_percentiles(axes, group.results, operation, policy, index, policy in learned)
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


@styled()
def profile_figure(
    results: Sequence[Result], metric: str = WRITE_AMPLIFICATION, learned: Sequence[str] = ()
) -> Figure:
    """Draw performance profiles: the share of runs that stay below a multiple of the best on their task."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for index, (policy, found) in enumerate(profiles(results, metric).items()):
        (line,) = axes.step(
            found.thresholds,
            found.share,
            where="post",
            color=color_of(index),
            linestyle=dashes_of(index),
            linewidth=2.5 if policy in learned else 1.4,
            label=policy,
        )
        show_on_hover(line, policy)
        if not np.isnan(found.low).any():
            band = (found.thresholds, found.low, found.high)
            axes.fill_between(*band, step="post", color=color_of(index), alpha=0.12, linewidth=0)
    low, high = axes.get_xlim()
    if high > 4 * low:
        axes.set_xscale("log")
        label_decades(axes.xaxis, low, high)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel(f"{metric.replace('_', ' ').replace('/', ' ')} / best policy's on the task (ratio τ)")
    axes.set_ylabel("runs below τ")
    axes.grid()
    legend_below(figure, axes)
    return figure


@styled()
def improvement_figure(
    results: Sequence[Result], reference: str, metric: str = WRITE_AMPLIFICATION
) -> Figure:
    """Draw how likely a run of `reference` is better than one of each other policy, with 95 % intervals."""
    others = [policy for policy in policies_of(results) if policy != reference]
    if not others:
        raise SsdgymError(f"{reference} is the only policy, and there is none to compare it with")
    figure = Figure(figsize=(6.4, 1.1 + 0.3 * len(others)), layout="constrained")
    axes = figure.add_subplot()
    for row, policy in enumerate(others):
        found = advantage(results, reference, policy, metric).improvement
        _draw_interval(axes, policy, row, found, 1.0, 0, False)
    axes.axvline(0.5, color="black", linewidth=0.8, linestyle=":")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(len(others) - 0.5, -0.5)
    axes.set_yticks(range(len(others)), others)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel(f"probability that a run of {reference} is better")
    axes.grid(axis="x")
    return figure


@dataclass(frozen=True)
class Point:
    """What a policy has reached on some tasks: its write amplification, and host pages of a life."""

    policy: str
    amplification: Estimate
    life: Estimate


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


def has_latencies(results: Sequence[Result], operation: str) -> bool:
    """Return whether there is a task on which every result has latencies."""
    return bool(_with_latencies(groups_of(results), operation))


def _with_latencies(groups: Sequence[TaskGroup], operation: str) -> list[TaskGroup]:
    metric = f"{operation}_latency_ns/p50"
    return [group for group in groups if len(group.tasks) == 1 and measured(group.results, metric)]


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


def _comparable(results: Sequence[Result]) -> list[TaskGroup]:
    groups = [group for group in groups_of(results) if group.results]
    if not groups:
        raise SsdgymError("a figure needs at least one result, and there are none that can be compared")
    return groups


def _unit(metric: str) -> tuple[str, float]:
    """Return the axis label of a metric, and what its numbers are divided by to be in its unit."""
    if metric == WRITE_AMPLIFICATION:
        return "write amplification (flash pages / host pages)", 1.0
    name, _, part = metric.partition("/")
    words = name.replace("_", " ")
    if words.endswith(" ns"):
        return f"{words.removesuffix(' ns')} {part} (µs)".replace("  ", " "), 1_000.0
    return f"{words} {part}".strip(), 1.0


def _draw_interval(
    axes: Axes, name: str, row: float, found: Estimate, scale: float, index: int, open_: bool
) -> None:
    value, spread = found.value / scale, spread_of(found, scale)
    drawn = axes.errorbar(
        value,
        row,
        xerr=spread,
        color=color_of(index),
        marker=marker_of(index),
        markersize=8 if open_ else 5,
        markerfacecolor="none" if open_ else color_of(index),
    )
    interval = "" if spread is None else f" [{found.low / scale:,.4g}, {found.high / scale:,.4g}]"
    show_on_hover(drawn.lines[0], f"{name}: {value:,.4g}{interval}")


def _draw_percentiles(
    axes: Axes, results: Sequence[Result], operation: str, policy: str, index: int, heavy: bool
) -> None:
    own = [result for result in results if result.policy == policy]
    names = [f"{operation}_latency_ns/{percentile}" for percentile in PERCENTILES]
    present = [i for i, name in enumerate(names) if own and all(r.measured(name) for r in own)]
    found = [summarize(own, policy, names[position]) for position in present]
    spreads = [spread for one in found if (spread := spread_of(one, 1_000.0)) is not None]
    drawn = axes.errorbar(
        present,
        [one.value / 1_000 for one in found],
        yerr=np.concatenate(spreads, axis=1) if found and len(spreads) == len(found) else None,
        color=color_of(index),
        marker=marker_of(index),
        linestyle=dashes_of(index),
        markersize=4,
        linewidth=2.5 if heavy else 1.2,
        elinewidth=1.0,
        label=policy,
    )
    values = (f"{PERCENTILES[at]} {one.value / 1_000:,.4g}" for at, one in zip(present, found, strict=True))
    show_on_hover(drawn.lines[0], f"{policy}: {', '.join(values)} µs")


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


@dataclass(frozen=True)
class ReportFigure:
    """A figure with the name of its file, its title, and a caption on what it shows."""

    name: str
    title: str
    caption: str
    figure: Figure


def left_out(results: Sequence[Result]) -> list[str]:
    """Return one sentence for everything that tables and figures leave out, so that comparisons are fair."""
    groups = groups_of(side_by_side(results)[0])
    return list(dict.fromkeys(sentence for group in groups for sentence in group.left_out))


def whole(results: Sequence[Result]) -> TaskGroup:
    """Return all results that can be compared with each other, over all tasks."""
    return groups_of(side_by_side(results)[0])[-1]


def report_figures(
    results: Sequence[Result], learned: Sequence[str] = (), reference: str | None = None
) -> Iterator[ReportFigure]:
    """Yield the figures that make sense for these results, in the order of a report."""
    results, learned = side_by_side(as_run := results, learned)
    group = whole(results)
    numbers = describe(len({result.seed for result in results}), 1, "as a bar")
    if any(measured(found.results, WRITE_AMPLIFICATION) for found in groups_of(results)):
        yield ReportFigure(
            WRITE_AMPLIFICATION,
            "Write amplification",
            f"{numbers} Less is better; the axes of the panels begin and end where their numbers do.",
            interval_figure(results, learned=learned),
        )
    for field in varied_fields(as_run):
        if (curve := curve_figure(as_run, field)) is not None:
            yield ReportFigure(
                f"curve_{field.replace('.', '_')}",
                f"Write amplification over {field}",
                f"{numbers} Less is better.",
                curve,
            )
    if has_lives(results):
        yield ReportFigure(
            "lifetime",
            "Lifetime",
            f"{describe(len({result.seed for result in results}), 1, 'as bars')} Longer, with less write "
            "amplification, is better. None beats those on the dotted line in both; faint ones are beaten.",
            lifetime_figure(results, learned),
        )
    for operation in ("read", "write"):
        if has_latencies(results, operation):
            yield ReportFigure(
                f"{operation}_latency",
                f"{operation.capitalize()} latency",
                f"{numbers} Both axes are the same in all panels.",
                latency_figure(results, operation, learned),
            )
    # A profile means nothing of a single policy or run.
    if len(policies_of(group.results)) > 1 and len(group.seeds) * len(group.tasks) > 1 and positive(group):
        yield ReportFigure(
            "performance_profile",
            "Performance profile",
            f"Share of the {len(group.results) // len(policies_of(group.results))} runs of each policy "
            f"({len(group.seeds)} seeds on {len(group.tasks)} tasks) whose write amplification is below τ "
            "times the best policy's interquartile mean on the task. Higher is better; bands are pointwise "
            "95 % intervals.",
            profile_figure(group.results, learned=learned),
        )
    if makes_improvement(group):
        against = reference or best_policy(group)
        yield ReportFigure(
            "probability_of_improvement",
            "Probability of improvement",
            f"How likely a run of {against} has a lower write amplification than a run of the other policy "
            f"on the same task, mean over {len(group.tasks)} tasks with {len(group.seeds)} seeds each, with "
            "95 % intervals; 50 % is a draw.",
            improvement_figure(group.results, against),
        )


def makes_improvement(group: TaskGroup) -> bool:
    """Return whether a probability of improvement means anything: several policies, several seeds of each."""
    return len(policies_of(group.results)) > 1 and len(group.seeds) > 1 and positive(group)


def positive(group: TaskGroup) -> bool:
    """Return whether ratios of write amplification exist; a run that wrote nothing has none."""
    return measured(group.results, WRITE_AMPLIFICATION) and all(
        result.metric(WRITE_AMPLIFICATION) > 0 for result in group.results
    )


def best_policy(group: TaskGroup) -> str:
    """Return the policy with the lowest geometric mean of write amplification over the tasks."""
    best = best_heuristic(group.results, ours=())
    assert best is not None, "a group that can be compared has a policy"
    return best
