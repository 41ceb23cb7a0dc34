"""The numbers of a panel of a paper's figure, and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssdgym.config.reproduce import FigureConfig, PanelConfig
from ssdgym.experiments.analysis.statistics import Estimate, stratified_bootstrap
from ssdgym.experiments.papers.samples import Place, Sample, relative, values_of, workloads_of
from ssdgym.experiments.report.style import color_of, legend_below, save_figure, styled

#: The group of the means over all traces.
MEAN = "mean"
_NOTHING = Estimate(np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Bars:
    """The numbers of a panel.

    Attributes:
        panel: which.
        series: names of the bars of a group.
        groups: (workload, variant) of each group; the last workload is the mean over all, where there are
            several.
        estimates: of each bar, mean over seeds with a 95 % interval; relative to the series that counts as 1,
            seed by seed, where the panel is normalised.
    """

    panel: PanelConfig
    series: tuple[str, ...]
    groups: tuple[tuple[str, str], ...]
    estimates: dict[Place, Estimate]

    def row(self, group: tuple[str, str]) -> list[Estimate]:
        """The bars of a group."""
        return [self.estimates[Place(name, *group)] for name in self.series]


def bars_of(figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> Bars:
    """Return the numbers of a panel from the samples of its figure; NaN where nothing was measured."""
    values = values_of(samples, panel)
    if panel.normalise_to is not None:
        values = relative(values, panel.normalise_to)
    workloads = workloads_of(samples)
    groups = [(workload, variant) for workload in workloads for variant in figure.variant_names]
    estimates = {
        place: _mean([values.get(place, {})])
        for group in groups
        for place in (Place(name, *group) for name in figure.bars)
    }
    if len(workloads) > 1:
        for variant in figure.variant_names:
            for name in figure.bars:
                columns = [values.get(Place(name, workload, variant), {}) for workload in workloads]
                estimates[Place(name, MEAN, variant)] = _mean(columns)
            groups.append((MEAN, variant))
    return Bars(panel, figure.bars, tuple(groups), estimates)


def _mean(columns: Sequence[dict[int, float]]) -> Estimate:
    """Over workloads and seeds; of nothing where one of them lacks all seeds."""
    seeds = sorted(set.intersection(*(set(scores) for scores in columns)))
    if not seeds:
        return _NOTHING
    matrix = np.array([[scores[seed] for scores in columns] for seed in seeds])
    return stratified_bootstrap(matrix, lambda drawn: float(drawn.mean()))


@styled()
def draw(figure: FigureConfig, all_bars: Sequence[Bars], path: Path) -> Path:
    """Draw a figure as groups of bars with intervals, a panel beneath the other; return ``path``.

    Raises:
        SsdgymError: the file cannot be written, or its ending is none of PNG, SVG and PDF.
    """
    first = all_bars[0]
    width = max(6.4, 1.2 + 0.13 * len(first.groups) * (len(first.series) + 1))
    picture = Figure(figsize=(width, 1.1 + 2.9 * len(all_bars)), layout="constrained")
    rows = picture.subplots(len(all_bars), squeeze=False)[:, 0]
    for axes, bars in zip(rows, all_bars, strict=True):
        _draw_panel(axes, figure, bars)
        # Names of traces are long, and once is enough.
        axes.tick_params(labelbottom=bool(figure.axis) or axes is rows[-1])
    rows[-1].set_xlabel(
        f"{figure.axis}, of each trace" if figure.axis else "trace", labelpad=18 if figure.axis else 4
    )
    picture.suptitle(f"{figure.paper}, figure {figure.figure}: {figure.title}", fontsize=10)
    legend_below(picture, rows[-1], columns=6)
    return save_figure(picture, path)


def _draw_panel(axes: Axes, figure: FigureConfig, bars: Bars) -> None:
    groups = np.arange(len(bars.groups))
    width = 1.0 / (len(bars.series) + 1)
    for index, name in enumerate(bars.series):
        estimates = [bars.row(group)[index] for group in bars.groups]
        spread = np.array([[e.value - e.low, e.high - e.value] for e in estimates]).T
        axes.bar(
            groups + (index - (len(bars.series) - 1) / 2) * width,
            [estimate.value for estimate in estimates],
            width,
            yerr=None if np.isnan(spread).all() else np.maximum(spread, 0.0),
            color=color_of(index),
            edgecolor="white",
            label=name,
        )
    _label_groups(axes, figure, bars)
    panel = bars.panel
    axes.set_ylabel(f"{panel.metric}\n({axis_unit(panel)})")
    if panel.title:
        axes.set_title(f"({panel.name}) {panel.title}" if panel.name else panel.title, loc="left")
    axes.set_xlim(-0.7, len(groups) - 0.3)


def _label_groups(axes: Axes, figure: FigureConfig, bars: Bars) -> None:
    """Below each group its variant, and below the variants of a workload its name."""
    groups = np.arange(len(bars.groups))
    if not figure.variants:
        axes.set_xticks(groups, [workload for workload, _ in bars.groups], rotation=30, ha="right")
        return
    count = len(figure.variants)
    axes.set_xticks(groups, [variant for _, variant in bars.groups])
    names = axes.secondary_xaxis("bottom")
    middles = groups[::count] + (count - 1) / 2
    names.set_xticks(middles, [workload for workload, _ in bars.groups[::count]])
    names.tick_params(length=0, pad=16)
    names.spines["bottom"].set_visible(False)
    for edge in groups[count::count]:
        axes.axvline(edge - 0.5, color="0.8", linewidth=0.6)


def axis_unit(panel: PanelConfig) -> str:
    """The unit of a panel's numbers, with what they are relative to."""
    return panel.unit if panel.normalise_to is None else f"{panel.normalise_to} = 1"
