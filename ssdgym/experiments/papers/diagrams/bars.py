"""Groups of bars with intervals: one group for each trace and variant, one bar for each series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.diagrams.base import Diagram, Row, mean_of
from ssdgym.experiments.papers.samples import Place, Sample, workloads_of
from ssdgym.experiments.report.style import color_of

#: The group of the means over all traces.
MEAN = "mean"
#: Least widths, in inches, of a bar and of a letter of what is written below its group.
_BAR_INCHES, _LETTER_INCHES = 0.13, 0.09


class Bars(Diagram):
    """Bars of the mean over seeds with a 95 % interval; NaN where nothing was measured.

    Where the panel is normalised they are relative to the series that counts as 1, seed by seed.

    Attributes:
        groups: (workload, variant) of each group; the last workload is the mean over all, where there are
            several.
        estimates: of each bar.
    """

    kind = "bars"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Compute the bars."""
        super().__init__(figure, panel, samples)
        values = self.values(samples)
        workloads = workloads_of(samples)
        averages: dict[str, Sequence[str]] = {name: (name,) for name in workloads}
        if len(workloads) > 1:
            averages[MEAN] = workloads
        variants = figure.variant_names
        self.groups = [(name, variant) for name in averages for variant in variants]
        self.estimates = {
            Place(series, name, variant): mean_of(
                [values.get(Place(series, workload, variant), {}) for workload in averages[name]]
            )
            for name, variant in self.groups
            for series in figure.bars
        }
        names = 2 if figure.variants else 1
        self.name_columns = ("trace", figure.axis)[:names]
        self.number_columns = figure.bars
        self.rows = [
            Row(group[:names], [self.estimates[Place(series, *group)] for series in figure.bars])
            for group in self.groups
        ]
        longest = max(len(variant) for variant in variants) if figure.variants else 0
        of_group = max(_BAR_INCHES * (len(figure.bars) + 1), _LETTER_INCHES * (longest + 1))
        self.width = 1.2 + of_group * len(self.groups)

    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the bars; the names of the traces, which are long, only beneath the last panel."""
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
        self._label_groups(axes)
        axes.set_xlim(-0.7, len(groups) - 0.3)
        axis = self.figure.axis
        axes.tick_params(labelbottom=bool(axis) or is_last)
        if is_last:
            axes.set_xlabel(f"{axis}, of each trace" if axis else "trace", labelpad=18 if axis else 4)

    def _label_groups(self, axes: Axes) -> None:
        """Write below each group its variant, and below the variants of a workload its name."""
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
