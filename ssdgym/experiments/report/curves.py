"""Curves over a field that an experiment varies, such as over-provisioning."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from ssdgym.experiments.report.comparison import (
    WRITE_AMPLIFICATION,
    TaskGroup,
    measured,
    policies_of,
    short_names,
    summarize,
)
from ssdgym.experiments.report.panels import panels_of, spread_of
from ssdgym.experiments.report.style import color_of, legend_below, marker_of, styled
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import split_options


def _fields(result: Result) -> dict[str, str]:
    """Return what the label of the device says was varied, and the options of the FTL."""
    varied = result.device.partition("(")[2].removesuffix(")")
    texts = [*varied.split(", "), *(f"ftl.{option}" for option in split_options(result.ftl))]
    return {name: value for name, equals, value in (text.partition("=") for text in texts) if equals}


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def varied_fields(results: Sequence[Result]) -> Iterator[str]:
    """Yield the fields that have a number in every result, and several numbers in all of them."""
    fields = [_fields(result) for result in results]
    for name in dict.fromkeys(name for found in fields for name in found):
        values = {_number(found.get(name)) for found in fields}
        if None not in values and len(values) > 1:
            yield name


@styled()
def curve_figure(results: Sequence[Result], field: str) -> Figure | None:
    """Draw write amplification over a field, a panel for each workload and value of other fields.

    None where a run has no write amplification, or a policy was not run with every value.
    """
    names = short_names(policies_of(results))
    panels: dict[str, dict[float, list[Result]]] = {}
    for result in results:
        fields = _fields(result)
        value = float(fields.pop(field))
        rest = [f"{name}={text}" for name, text in fields.items()]
        title = "\n".join([f"{result.workload} on {result.device.partition('(')[0]}", *rest])
        result = replace(result, policy=names[result.policy])
        panels.setdefault(title, {}).setdefault(value, []).append(result)
    policies = list(names.values())
    points = [point for curve in panels.values() for point in curve.values()]
    if not all(
        measured(point, WRITE_AMPLIFICATION) and {*policies_of(point)} == {*policies} for point in points
    ):
        return None
    groups = [TaskGroup(title, tuple(itertools.chain(*curve.values()))) for title, curve in panels.items()]
    figure, axes_of = panels_of(groups, (1.0, 3.0), (0.4, 2.7), share_x=True, share_y=False)
    for axes, (title, curve) in zip(axes_of, panels.items(), strict=True):
        axes.set_title(title)
        for index, policy in enumerate(policies):
            found = [summarize(curve[value], policy, WRITE_AMPLIFICATION) for value in sorted(curve)]
            spreads = [spread_of(one, 1.0) or [[0.0], [0.0]] for one in found]
            axes.errorbar(
                sorted(curve),
                [one.value for one in found],
                yerr=[[spread[side][0] for spread in spreads] for side in (0, 1)],
                color=color_of(index),
                marker=marker_of(index),
                markersize=4,
                linewidth=1.4,
                label=policy,
            )
        axes.grid(axis="y")
        axes.set_xlabel(field)
    figure.supylabel("write amplification", fontsize="medium")
    legend_below(figure, axes_of[0])
    return figure
