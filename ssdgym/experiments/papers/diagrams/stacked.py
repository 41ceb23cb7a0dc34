"""Stacked bars: one for each trace and variant, of the parts that a metric is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.diagrams.base import Row, mean_of
from ssdgym.experiments.papers.diagrams.groups import GroupedDiagram
from ssdgym.experiments.papers.samples import Place, Sample, values_of
from ssdgym.experiments.report.style import color_of


class Stacked(GroupedDiagram):
    """Bars of one series, cut into means over seeds of the panel's `parts`."""

    kind = "stacked"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Compute the parts.

        Raises:
            SsdgymError: there are several series, or no parts.
        """
        super().__init__(figure, panel, samples)
        if len(figure.bars) != 1 or not panel.parts:
            raise SsdgymError(
                f"figure {figure.figure} of {figure.paper}: a stacked diagram shows the parts of one series; "
                "give its panel parts and the figure one series, or draw it as bars"
            )
        (series,) = figure.bars
        of_parts = [values_of(samples, part, panel.per_unit) for part in panel.parts]
        self.number_columns = panel.parts
        self.rows = []
        for name, variant in self.groups:
            places = [Place(series, workload, variant) for workload in self.averages[name]]
            parts = [mean_of([values.get(place, {}) for place in places]) for values in of_parts]
            self.rows.append(Row((name, variant)[: len(self.name_columns)], parts))
        self.set_width(bars=1)

    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw each part on top of those before it."""
        groups = np.arange(len(self.groups))
        below = np.zeros(len(groups))
        for index, name in enumerate(self.number_columns):
            heights = np.nan_to_num([row.estimates[index].value for row in self.rows])
            axes.bar(groups, heights, 0.7, below, color=color_of(index), label=name)
            below += heights
        self.label_groups(axes, is_last)
