"""Diagrams of papers' figures: bars, lines, stacked bars and heat maps.

To add a kind, write a subclass of `Diagram`; the field `diagram` of a panel names it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.samples import BySeed, Place, Sample, Values, relative, values_of, workloads_of
from ssdgym.experiments.report.style import color_of
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate, stratified_bootstrap

#: The registered kinds of diagrams by the name that panels give.
DIAGRAM_KINDS: dict[str, type[Diagram]] = {}
_NOTHING = Estimate(np.nan, np.nan, np.nan)


class Row(NamedTuple):
    """A row of a diagram's table: its names and its numbers."""

    names: tuple[str, ...]
    estimates: list[Estimate]


class Diagram(ABC):
    """A panel of a figure with its numbers.

    Attributes:
        kind: name of the kind, which panels use.
        name_columns: headings of the names in a row.
        number_columns: headings of the numbers in a row.
        width: width of the picture, in inches.
    """

    kind: ClassVar[str]
    name_columns: tuple[str, ...]
    number_columns: tuple[str, ...]
    rows: list[Row]
    width: float

    def __init_subclass__(cls) -> None:
        """Register the class if it has a `kind`."""
        if cls.kind:
            DIAGRAM_KINDS[cls.kind] = cls

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        self.figure = figure
        self.panel = panel

    def values(self, samples: Sequence[Sample]) -> Values:
        """Return the values of the panel at each place; normalise them if the panel is normalised."""
        panel = self.panel
        values = values_of(samples, panel.metric, panel.divisor)
        if panel.normalise_to is None:
            return values
        return relative(values, panel.normalise_to, panel.normalise_at)

    @property
    def unit(self) -> str:
        """The unit of the numbers; if they are normalised, the series that is 1."""
        return f"{self.panel.base} = 1" if self.panel.base else self.panel.unit

    @abstractmethod
    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the panel on `axes`; `is_last` says that no other panel is below it."""


def mean_of(columns: Sequence[BySeed]) -> Estimate:
    """Return the mean over workloads and seeds; NaN if the workloads have no seed in common."""
    seeds = sorted(set.intersection(*(set(scores) for scores in columns)))
    if not seeds:
        return _NOTHING
    matrix = np.array([[scores[seed] for scores in columns] for seed in seeds])
    return stratified_bootstrap(matrix, lambda drawn: drawn.mean(axis=(-2, -1)))


#: Name of the group with means over all traces.
MEAN = "mean"
#: Smallest widths, in inches, of a bar and of a letter in the text below its group.
_BAR_INCHES, _LETTER_INCHES = 0.13, 0.09


class GroupedDiagram(Diagram):
    """A diagram with one group for each trace and variant; the last groups are means over all traces.

    Attributes:
        averages: the workloads over which the groups of a name average: one workload, or all.
        groups: (workload, variant) of each group; with several workloads, the last workload is `MEAN`.
    """

    kind = ""

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        super().__init__(figure, panel, samples)
        workloads = workloads_of(samples)
        self.averages: dict[str, Sequence[str]] = {name: (name,) for name in workloads}
        if len(workloads) > 1:
            self.averages[MEAN] = workloads
        self.groups = [(name, variant) for name in self.averages for variant in figure.variant_names]
        self.name_columns = ("trace", figure.axis) if figure.variants else ("trace",)

    def set_width(self, bars: int) -> None:
        """Set a width with enough room for the bars and the text below them."""
        longest = max(len(variant) for variant in self.figure.variant_names) if self.figure.variants else 0
        of_group = max(_BAR_INCHES * (bars + 1), _LETTER_INCHES * (longest + 1))
        self.width = 1.2 + of_group * len(self.groups)

    def label_groups(self, axes: Axes, is_last: bool) -> None:
        """Write the variant below each group, and the name of a workload below its variants.

        Names of traces are long, so they are written only below the last panel.
        """
        self._write_names(axes)
        axes.set_xlim(-0.7, len(self.groups) - 0.3)
        axis = self.figure.axis
        axes.tick_params(labelbottom=bool(axis) or is_last)
        if is_last:
            axes.set_xlabel(f"{axis}, of each trace" if axis else "trace", labelpad=18 if axis else 4)

    def _write_names(self, axes: Axes) -> None:
        groups = np.arange(len(self.groups))
        if not self.figure.variants:
            axes.set_xticks(groups, [workload for workload, _ in self.groups], rotation=30, ha="right")
            return
        count = len(self.figure.variants)
        axes.set_xticks(groups, [variant for _, variant in self.groups])
        names = axes.secondary_xaxis("bottom")
        middles = groups[::count] + (count - 1) / 2
        names.set_xticks(middles, [workload for workload, _ in self.groups[::count]])
        names.tick_params(length=0, pad=16)
        names.spines["bottom"].set_visible(False)
        for edge in groups[count::count]:
            axes.axvline(edge - 0.5, color="0.8", linewidth=0.6)


class Bars(GroupedDiagram):
    """Bars of the mean over seeds with a 95 % interval; NaN if nothing was measured.

    In a normalised panel, each seed's value is divided by that of the series that counts as 1.
    """

    kind = "bars"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        super().__init__(figure, panel, samples)
        values = self.values(samples)
        self.estimates = {
            Place(series, name, variant): mean_of(
                [values.get(Place(series, workload, variant), {}) for workload in self.averages[name]]
            )
            for name, variant in self.groups
            for series in figure.bars
        }
        self.number_columns = figure.bars
        self.rows = [
            Row(
                group[: len(self.name_columns)],
                [self.estimates[Place(series, *group)] for series in figure.bars],
            )
            for group in self.groups
        ]
        self.set_width(bars=len(figure.bars))

    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the bars."""
        groups = np.arange(len(self.groups))
        width = 1.0 / (len(self.number_columns) + 1)
        for index, name in enumerate(self.number_columns):
            estimates = [row.estimates[index] for row in self.rows]
            spread = np.array([[e.value - e.low, e.high - e.value] for e in estimates]).T
            axes.bar(
                groups + (index - (len(self.number_columns) - 1) / 2) * width,
                [estimate.value for estimate in estimates],
                width,
                yerr=None if np.isnan(spread).all() else np.maximum(spread, 0.0),
                color=color_of(index),
                edgecolor="white",
                label=name,
            )
        self.label_groups(axes, is_last)


_THRESHOLD = "free_pages/threshold"


class Lines(Bars):
    """A line for each trace, variant and series, from the first seed; the table has the same means as `Bars`.

    For free pages, a dashed line marks the number below which devices begin to collect. The metric of the
    panel names a column of the samples, and also the mean of that column since the first erase.
    """

    kind = "lines"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        super().__init__(figure, panel, samples)
        self._lines: dict[Place, Result] = {}
        for sample in samples:
            self._lines.setdefault(sample.place, sample.result)
        if panel.normalise_to or not all(panel.metric in result.series for result in self._lines.values()):
            raise SsdgymError(
                f"figure {figure.figure} of {figure.paper}: lines show what samples have; set "
                f"sample_pages, choose a metric of samples in place of {panel.metric}, and normalise nothing"
            )
        self.width = 9.0

    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the lines, and the number of free pages below which collection starts."""
        begin, end = self.panel.window
        several = len(self._lines) > len(self.figure.bars)
        for number, (place, result) in enumerate(self._lines.items()):
            pages = np.array(result.series["host_pages"])
            if not len(pages):
                continue
            shown = (begin * pages[-1] <= pages) & (pages <= end * pages[-1])
            values = np.array(result.series[self.panel.metric])[shown] / self.panel.divisor
            label = " ".join(filter(None, place)) if several else place.series
            axes.plot(pages[shown], values, linewidth=0.9, color=color_of(number), label=label)
        if self.panel.metric.startswith("free_pages/"):
            for threshold in {result.metric(_THRESHOLD) for result in self._lines.values()} - {0}:
                axes.axhline(threshold / self.panel.divisor, color="0.4", linestyle="--")
        if is_last:
            axes.set_xlabel("host pages written")


class Stacked(GroupedDiagram):
    """Stacked bars of one series: means over seeds of the panel's `parts`."""

    kind = "stacked"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        super().__init__(figure, panel, samples)
        if len(figure.bars) != 1 or not panel.parts:
            raise SsdgymError(
                f"figure {figure.figure} of {figure.paper}: a stacked diagram shows the parts of one series; "
                "give its panel parts and the figure one series, or draw it as bars"
            )
        (series,) = figure.bars
        of_parts = [values_of(samples, part, panel.divisor) for part in panel.parts]
        self.number_columns = panel.parts
        self.rows = []
        for name, variant in self.groups:
            places = [Place(series, workload, variant) for workload in self.averages[name]]
            parts = [mean_of([values.get(place, {}) for place in places]) for values in of_parts]
            self.rows.append(Row((name, variant)[: len(self.name_columns)], parts))
        self.set_width(bars=1)

    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the parts as a stack."""
        groups = np.arange(len(self.groups))
        below = np.zeros(len(groups))
        for index, name in enumerate(self.number_columns):
            heights = np.nan_to_num([row.estimates[index].value for row in self.rows])
            axes.bar(groups, heights, 0.7, below, color=color_of(index), label=name)
            below += heights
        self.label_groups(axes, is_last)


_CELL_INCHES = 0.62


class HeatMap(Diagram):
    """A heat map of means over seeds; variants differ in two fields, one along each axis.

    Attributes:
        fields: names of the two fields, that of the rows first.
    """

    kind = "heat_map"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        super().__init__(figure, panel, samples)
        self.fields = _two_fields(figure)
        values = self.values(samples)
        self._maps = [(name, series) for name in workloads_of(samples) for series in figure.bars]
        self._sides = [list(dict.fromkeys(self._steps(axis))) for axis in (0, 1)]
        self.name_columns = ("trace", *(field.removeprefix("workload.") for field in self.fields))
        self.number_columns = figure.bars
        self.rows = [
            Row(
                (name, *(str(changes.get(field)) for field in self.fields)),
                [mean_of([values.get(Place(series, name, variant), {})]) for series in figure.bars],
            )
            for name in workloads_of(samples)
            for variant, changes in figure.variants.items()
        ]
        self.width = 1.6 + _CELL_INCHES * len(self._maps) * (len(self._sides[1]) + 1)

    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the maps side by side, with the number in each cell and a common colour scale."""
        across, variants = len(self._sides[1]), len(self.figure.variants)
        cells = np.full((len(self._sides[0]), len(self._maps) * (across + 1) - 1), np.nan)
        for number, (_, series) in enumerate(self._maps):
            index = self.figure.bars.index(series)
            first = (number // len(self.figure.bars)) * variants
            for row in self.rows[first : first + variants]:
                y, x = (self._sides[axis].index(row.names[1 + axis]) for axis in (0, 1))
                cells[y, number * (across + 1) + x] = row.estimates[index].value
        axes.imshow(cells, origin="lower", aspect="auto", cmap="viridis")
        middle_value = (np.nanmin(cells) + np.nanmax(cells)) / 2
        for (y, x), value in np.ndenumerate(cells):
            if not np.isnan(value):
                axes.text(
                    x, y, f"{value:.3g}", ha="center", va="center", color="wk"[int(value > middle_value)]
                )
        self._label(axes, across)

    def _label(self, axes: Axes, across: int) -> None:
        """Label the axes with the names and values of the fields, and each map with its name."""
        several = len(self._maps) > len(self.figure.bars)
        places = []
        for number, (name, series) in enumerate(self._maps):
            label = f"{series}, {name}" if several else series
            for x, text in enumerate(self._sides[1]):
                places.append((number * (across + 1) + x, f"{text}\n{label}" if x == across // 2 else text))
        axes.set_xticks([place for place, _ in places], [text for _, text in places])
        axes.set_yticks(range(len(self._sides[0])), self._sides[0])
        axes.set_xlabel(f"{self.name_columns[2]}; upwards: {self.name_columns[1]}")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)

    def _steps(self, axis: int) -> list[str]:
        return [str(changes.get(self.fields[axis])) for changes in self.figure.variants.values()]


def _two_fields(figure: FigureConfig) -> tuple[str, str]:
    """Return the two fields in which the variants differ."""
    values: dict[str, dict[Any, None]] = {}
    for changes in figure.variants.values():
        for field, value in changes.items():
            values.setdefault(field, {})[value] = None
    varied = [field for field, found in values.items() if len(found) > 1]
    if len(varied) != 2:
        raise SsdgymError(
            f"figure {figure.figure} of {figure.paper}: a heat map shows variants that differ in two fields, "
            f"not in {len(varied)}; draw it as bars"
        )
    return varied[0], varied[1]
