"""Maps of two fields of the variants: one map for each workload and series, a cell for each variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.diagrams.base import Diagram, Row, mean_of
from ssdgym.experiments.papers.samples import Place, Sample, workloads_of

_CELL_INCHES = 0.62


class HeatMap(Diagram):
    """Cells with means over seeds; the variants give two fields values, one along each side.

    Attributes:
        fields: the two, the one along the rows first.
    """

    kind = "heat_map"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Compute the cells.

        Raises:
            SsdgymError: the variants do not differ in two fields.
        """
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
        """Draw the maps side by side, with the number in each cell and one scale of colours for all."""
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
        """Write the values of the fields along the sides, below each map its name, and the fields' names."""
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
    """Return the fields in which the variants differ."""
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
