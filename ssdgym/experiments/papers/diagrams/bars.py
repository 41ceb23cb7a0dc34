"""Groups of bars with intervals: one group for each trace and variant, one bar for each series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.diagrams.base import Row, mean_of
from ssdgym.experiments.papers.diagrams.groups import GroupedDiagram
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.report.style import color_of


class Bars(GroupedDiagram):
    """Bars of the mean over seeds with a 95 % interval; NaN where nothing was measured.

    Where the panel is normalised they are relative to the series that counts as 1, seed by seed.

    Attributes:
        estimates: of each bar.
    """

    kind = "bars"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Compute the bars."""
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
