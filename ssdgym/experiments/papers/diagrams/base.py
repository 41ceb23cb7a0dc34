"""What every kind of diagram is: a panel as rows of a table, and drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from matplotlib.axes import Axes

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.samples import Sample

#: The registered kinds of diagrams by the name that panels give.
DIAGRAM_KINDS: dict[str, type[Diagram]] = {}


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
        """Register the class."""
        DIAGRAM_KINDS[cls.kind] = cls

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Keep the figure and the panel; a subclass computes its numbers."""
        self.figure = figure
        self.panel = panel

    @property
    def unit(self) -> str:
        """The unit of the numbers, with what they are relative to."""
        panel = self.panel
        return panel.unit if panel.normalise_to is None else f"{panel.normalise_to} = 1"

    @abstractmethod
    def draw(self, axes: Axes, is_last: bool) -> None:
        """Draw the panel on `axes`; `is_last`: no other panel is beneath it."""
