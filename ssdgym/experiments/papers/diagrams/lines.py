"""Lines of what was noted along a run, over the pages that the host has written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.diagrams.bars import Bars
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.report.style import color_of
from ssdgym.experiments.results import Result

_THRESHOLD = "free_pages/threshold"


class Lines(Bars):
    """A line for each trace, variant and series, of the first seed; the table has means as that of bars.

    Where devices begin to collect below a number of free pages, a dashed line marks it for free pages.

    The metric of the panel is a column of the samples, and by the same name their mean since the first erase.
    """

    kind = "lines"

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Find the lines.

        Raises:
            SsdgymError: the runs were not sampled, or the panel is normalised.
        """
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
        """Draw the lines, and the free pages under which collecting starts."""
        begin, end = self.panel.window
        several = len(self._lines) > len(self.figure.bars)
        for number, (place, result) in enumerate(self._lines.items()):
            pages = np.array(result.series["host_pages"])
            if not len(pages):
                continue
            shown = (begin * pages[-1] <= pages) & (pages <= end * pages[-1])
            values = np.array(result.series[self.panel.metric])[shown] / self.panel.per_unit
            label = " ".join(filter(None, place)) if several else place.series
            axes.plot(pages[shown], values, linewidth=0.9, color=color_of(number), label=label)
        if self.panel.metric.startswith("free_pages/"):
            for threshold in {result.metric(_THRESHOLD) for result in self._lines.values()} - {0}:
                axes.axhline(threshold / self.panel.per_unit, color="0.4", linestyle="--")
        if is_last:
            axes.set_xlabel("host pages written")
