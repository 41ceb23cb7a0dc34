"""The panels of a figure as diagrams, and its picture: one panel beneath the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ssdgym.experiments.papers.config import FigureConfig
from ssdgym.experiments.papers.diagrams import DIAGRAM_KINDS
from ssdgym.experiments.papers.diagrams.base import Diagram
from ssdgym.experiments.papers.samples import Sample
from ssdgym.experiments.report.style import legend_below, save_figure, styled


def diagrams_of(figure: FigureConfig, samples: Sequence[Sample]) -> list[Diagram]:
    """Return the panels of a figure, each as the kind of diagram that it names.

    Args:
        figure: which.
        samples: its results.
    """
    return [DIAGRAM_KINDS[panel.diagram](figure, panel, samples) for panel in figure.panels]


@styled()
def draw(figure: FigureConfig, diagrams: Sequence[Diagram], path: Path) -> Path:
    """Draw a figure.

    Args:
        figure: which.
        diagrams: its panels.
        path: of the picture.

    Returns:
        `path`.

    Raises:
        SsdgymError: the file cannot be written, or its ending is none of PNG, SVG and PDF.
    """
    width = max(6.4, *(diagram.width for diagram in diagrams))
    picture = Figure(figsize=(width, 1.1 + 2.9 * len(diagrams)), layout="constrained")
    rows = picture.subplots(len(diagrams), squeeze=False)[:, 0]
    for axes, diagram in zip(rows, diagrams, strict=True):
        panel = diagram.panel
        diagram.draw(axes, axes is rows[-1])
        axes.set_ylabel(f"{panel.metric}\n({diagram.unit})")
        if panel.title:
            axes.set_title(f"({panel.name}) {panel.title}" if panel.name else panel.title, loc="left")
    picture.suptitle(f"{figure.paper}, figure {figure.figure}: {figure.title}", fontsize=10)
    legend_below(picture, *rows, columns=6)
    return save_figure(picture, path)
