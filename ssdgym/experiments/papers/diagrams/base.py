"""What every kind of diagram is: a panel as rows of a table, and drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ssdgym.experiments.analysis.statistics import Estimate, stratified_bootstrap
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.samples import BySeed, Sample, Values, relative, values_of

#: The registered kinds of diagrams by the name that panels give.
DIAGRAM_KINDS: dict[str, type[Diagram]] = {}
_NOTHING = Estimate(np.nan, np.nan, np.nan)


class Row(NamedTuple):
    """A row of a diagram's table: what it is about, and its numbers."""

    names: tuple[str, ...]
    estimates: list[Estimate]


class Diagram(ABC):
    """A panel of a figure with its numbers.

    Args:
        figure: which.
        panel: of the figure.
        samples: the results of the figure.

    Attributes:
        kind: the name that panels give.
        name_columns: headings of the names in a row.
        number_columns: headings of the numbers in a row.
        rows: of the table.
        width: of the picture, in inches.
    """

    kind: ClassVar[str]
    name_columns: tuple[str, ...]
    number_columns: tuple[str, ...]
    rows: list[Row]
    width: float

    def __init_subclass__(cls) -> None:
        """Register the class, if it is a kind."""
        if cls.kind:
            DIAGRAM_KINDS[cls.kind] = cls

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Keep the figure and the panel; a subclass computes its numbers."""
        self.figure = figure
        self.panel = panel

    def values(self, samples: Sequence[Sample]) -> Values:
        """Return what the panel shows at each place, relative to what counts as 1 where something does."""
        panel = self.panel
        values = values_of(samples, panel.metric, panel.per_unit)
        if panel.normalise_to is None:
            return values
        return relative(values, panel.normalise_to, panel.normalise_at)

    @property
    def unit(self) -> str:
        """The unit of the numbers, with what they are relative to."""
        return f"{self.panel.base} = 1" if self.panel.base else self.panel.unit

    @abstractmethod
    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the panel on `axes`; `is_last`: no other panel is beneath it."""


def mean_of(columns: Sequence[BySeed]) -> Estimate:
    """Return the mean over workloads and seeds; of nothing where one of the workloads lacks all seeds.

    Args:
        columns: the values on each workload.
    """
    seeds = sorted(set.intersection(*(set(scores) for scores in columns)))
    if not seeds:
        return _NOTHING
    matrix = np.array([[scores[seed] for scores in columns] for seed in seeds])
    return stratified_bootstrap(matrix, lambda drawn: float(drawn.mean()))
