"""Diagrams of papers' figures: bars, lines, stacked bars and heat maps.

A kind of diagram is a function in `DIAGRAM_KINDS`; the field `diagram` of a panel names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.samples import BySeed, Place, Sample, Values, relative, values_of, workloads_of
from ssdgym.experiments.report.style import color_of
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate, stratified_bootstrap

_NOTHING = Estimate(np.nan, np.nan, np.nan)


class Row(NamedTuple):
    """A row of a diagram's table: names, such as the trace, and one number per bar."""

    names: tuple[str, ...]
    estimates: list[Estimate]


@dataclass(frozen=True)
class Diagram:
    """A panel of a figure with its numbers.

    Attributes:
        name_columns: headings of the names in a row.
        number_columns: headings of the numbers in a row.
        width: width of the picture, in inches.
        draw: function that draws the panel. Arguments: the axes, and whether it is the lowest panel.
    """

    panel: PanelConfig
    name_columns: tuple[str, ...]
    number_columns: tuple[str, ...]
    rows: list[Row]
    width: float
    draw: Callable[[Axes, bool], None]

    @property
    def unit(self) -> str:
        """The unit of the numbers; if they are divided by a bar's value, `BAR = 1`."""
        return f"{self.panel.base} = 1" if self.panel.base else self.panel.unit


def _values(panel: PanelConfig, samples: Sequence[Sample]) -> Values:
    """Return the values of the panel's metric at each place, divided by the bar `normalise_to`, if set."""
    values = values_of(samples, panel.metric, panel.divisor)
    if panel.normalise_to is None:
        return values
    return relative(values, panel.normalise_to, panel.normalise_at)


def mean_of(columns: Sequence[BySeed]) -> Estimate:
    """Return the mean over workloads and their common seeds; NaN if there are no common seeds."""
    seeds = sorted(set.intersection(*(set(scores) for scores in columns)))
    if not seeds:
        return _NOTHING
    matrix = np.array([[scores[seed] for scores in columns] for seed in seeds])
    return stratified_bootstrap(matrix, lambda drawn: drawn.mean(axis=(-2, -1)))


#: Name of the group with means over all traces.
MEAN = "mean"
#: Smallest widths, in inches: of a bar, and of a letter in the text below a group of bars.
_BAR_INCHES, _LETTER_INCHES = 0.13, 0.09


def _grouped(
    figure: FigureConfig,
    panel: PanelConfig,
    samples: Sequence[Sample],
    columns: Mapping[str, tuple[str, Values]],
    stacked: bool = False,
) -> Diagram:
    """Return a bar chart with one group per trace and variant; the last groups are means over all traces.

    `columns` maps the name of each bar, or of each part of a stacked bar, to its series and values.
    """
    workloads = workloads_of(samples)
    averages = {name: (name,) for name in workloads} | ({MEAN: workloads} if len(workloads) > 1 else {})
    groups = [(name, variant) for name in averages for variant in figure.variant_names]
    names = ("trace", figure.axis) if figure.variants else ("trace",)
    rows = [
        Row(
            group[: len(names)],
            [
                mean_of(
                    [values.get(Place(series, workload, group[1]), {}) for workload in averages[group[0]]]
                )
                for series, values in columns.values()
            ],
        )
        for group in groups
    ]
    bars = 1 if stacked else len(columns)
    of_group = _BAR_INCHES * (bars + 1)
    if figure.variants:
        of_group = max(of_group, _LETTER_INCHES * (1 + max(map(len, figure.variants))))

    def draw(axes: Axes, is_last: bool) -> None:
        found = np.array([row.estimates for row in rows])  # shape (groups, columns, 3): value, low, high
        values, low, high = np.moveaxis(found, -1, 0)
        spread = None if stacked or np.isnan(low).all() else np.maximum([values - low, high - values], 0.0)
        pd.DataFrame(values, columns=[*columns]).plot.bar(
            ax=axes,
            yerr=None if spread is None else spread.transpose(2, 0, 1),
            stacked=stacked,
            width=0.7 if stacked else bars / (bars + 1),
            color=[color_of(number) for number in range(len(columns))],
            edgecolor=None if stacked else "white",
            legend=False,
        )
        _label_groups(axes, figure, groups, is_last)

    return Diagram(panel, names, tuple(columns), rows, 1.2 + of_group * len(groups), draw)


def _label_groups(axes: Axes, figure: FigureConfig, groups: Sequence[Sequence[str]], is_last: bool) -> None:
    """Write the variant below each group, and the name of a workload below its variants.

    Names of traces are long, so they are written only below the last panel.
    """
    at, axis = np.arange(len(groups)), figure.axis
    if not figure.variants:
        axes.set_xticks(at, [workload for workload, _ in groups], rotation=30, ha="right")
    else:
        count = len(figure.variants)
        axes.set_xticks(at, [variant for _, variant in groups], rotation=0)
        names = axes.secondary_xaxis("bottom")
        names.set_xticks(at[::count] + (count - 1) / 2, [workload for workload, _ in groups[::count]])
        names.tick_params(length=0, pad=16)
        names.spines["bottom"].set_visible(False)
        for edge in at[count::count]:
            axes.axvline(edge - 0.5, color="0.8", linewidth=0.6)
    axes.set_xlim(-0.7, len(groups) - 0.3)
    axes.tick_params(labelbottom=bool(axis) or is_last)
    if is_last:
        axes.set_xlabel(f"{axis}, of each trace" if axis else "trace", labelpad=18 if axis else 4)


def bars(figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> Diagram:
    """Return a bar for each mean over seeds, with a 95 % interval; NaN if nothing was measured.

    If the panel is normalised, each value is divided by that of the bar `normalise_to` for the same seed.
    """
    values = _values(panel, samples)
    return _grouped(figure, panel, samples, {bar: (bar, values) for bar in figure.bars})


_THRESHOLD = "free_pages/threshold"


def lines(figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> Diagram:
    """Return a line for each trace, variant and series, from the run with the first seed.

    A line shows the samples of the panel's metric over host pages. The table is that of `bars`: means over
    samples since the first erase. For free pages, a dashed line marks the threshold of garbage collection.
    """
    found: dict[Place, Result] = {}
    for sample in samples:
        found.setdefault(sample.place, sample.result)
    if panel.normalise_to or not all(panel.metric in result.series for result in found.values()):
        raise SsdgymError(
            f"figure {figure.figure} of {figure.paper}: lines show what samples have; set "
            f"sample_pages, choose a metric of samples in place of {panel.metric}, and normalise nothing"
        )

    def draw(axes: Axes, is_last: bool) -> None:
        begin, end = panel.window
        several = len(found) > len(figure.bars)
        for number, (place, result) in enumerate(found.items()):
            pages = np.array(result.series["host_pages"])
            if not len(pages):
                continue
            shown = (begin * pages[-1] <= pages) & (pages <= end * pages[-1])
            values = np.array(result.series[panel.metric])[shown] / panel.divisor
            label = " ".join(filter(None, place)) if several else place.series
            axes.plot(pages[shown], values, linewidth=0.9, color=color_of(number), label=label)
        if panel.metric.startswith("free_pages/"):
            for threshold in {result.metric(_THRESHOLD) for result in found.values()} - {0}:
                axes.axhline(threshold / panel.divisor, color="0.4", linestyle="--")
        if is_last:
            axes.set_xlabel("host pages written")

    return replace(bars(figure, panel, samples), width=9.0, draw=draw)


def stacked(figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> Diagram:
    """Return stacked bars for a figure of one series, of means over seeds of the panel's `parts`."""
    if len(figure.bars) != 1 or not panel.parts:
        raise SsdgymError(
            f"figure {figure.figure} of {figure.paper}: a stacked diagram shows the parts of one series; "
            "give its panel parts and the figure one series, or draw it as bars"
        )
    (series,) = figure.bars
    parts = {part: (series, values_of(samples, part, panel.divisor)) for part in panel.parts}
    return _grouped(figure, panel, samples, parts, stacked=True)


_CELL_INCHES = 0.62


def heat_map(figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> Diagram:
    """Return a heat map of means over seeds. The variants must differ in two fields, which are the axes."""
    fields = _two_fields(figure)
    values = _values(panel, samples)
    maps = [(name, series) for name in workloads_of(samples) for series in figure.bars]
    steps = [[str(changes.get(field)) for changes in figure.variants.values()] for field in fields]
    upwards, rightwards = (list(dict.fromkeys(own)) for own in steps)
    across = len(rightwards)
    names = [field.removeprefix("workload.") for field in fields]
    rows = [
        Row(
            (name, *own),
            [mean_of([values.get(Place(series, name, variant), {})]) for series in figure.bars],
        )
        for name in workloads_of(samples)
        for variant, own in zip(figure.variants, zip(*steps, strict=True), strict=True)
    ]

    def draw(axes: Axes, is_last: bool) -> None:
        """Draw the maps side by side, with the number in each cell and a common colour scale."""
        cells = np.full((len(upwards), len(maps) * (across + 1) - 1), np.nan)
        several = len(maps) > len(figure.bars)
        places = []
        for number, (name, series) in enumerate(maps):
            first = number * (across + 1)
            for row in rows:
                if row.names[0] == name:
                    y, x = upwards.index(row.names[1]), rightwards.index(row.names[2])
                    cells[y, first + x] = row.estimates[figure.bars.index(series)].value
            label = f"{series}, {name}" if several else series
            for x, text in enumerate(rightwards):
                places.append((first + x, f"{text}\n{label}" if x == across // 2 else text))
        axes.imshow(cells, origin="lower", aspect="auto", cmap="viridis")
        middle_value = (np.nanmin(cells) + np.nanmax(cells)) / 2
        for (y, x), value in np.ndenumerate(cells):
            if not np.isnan(value):
                color = "wk"[int(value > middle_value)]
                axes.text(x, y, f"{value:.3g}", ha="center", va="center", color=color)
        axes.set_xticks([place for place, _ in places], [text for _, text in places])
        axes.set_yticks(range(len(upwards)), upwards)
        axes.set_xlabel(f"{names[1]}; upwards: {names[0]}")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)

    width = 1.6 + _CELL_INCHES * len(maps) * (across + 1)
    return Diagram(panel, ("trace", *names), figure.bars, rows, width, draw)


def _two_fields(figure: FigureConfig) -> tuple[str, str]:
    """Return the two fields in which the variants differ."""
    changes = pd.DataFrame(figure.variants.values())
    varied = [field for field in changes if changes[field].nunique() > 1]
    if len(varied) != 2:
        raise SsdgymError(
            f"figure {figure.figure} of {figure.paper}: a heat map shows variants that differ in two fields, "
            f"not in {len(varied)}; draw it as bars"
        )
    return varied[0], varied[1]


#: The kinds of diagrams, by the value of `diagram` in panels.
DIAGRAM_KINDS: dict[str, Callable[[FigureConfig, PanelConfig, Sequence[Sample]], Diagram]] = {
    "bars": bars,
    "lines": lines,
    "stacked": stacked,
    "heat_map": heat_map,
}
