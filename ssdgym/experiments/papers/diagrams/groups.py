"""What diagrams have in common that show a group for each trace and variant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.diagrams.base import Diagram
from ssdgym.experiments.papers.samples import Sample, workloads_of

#: The group of the means over all traces.
MEAN = "mean"
#: Least widths, in inches, of a bar and of a letter of what is written below its group.
_BAR_INCHES, _LETTER_INCHES = 0.13, 0.09


class GroupedDiagram(Diagram):
    """A diagram with one group for each trace and variant, and the means over all traces as the last ones.

    Attributes:
        averages: the workloads that each name stands for: itself, or all.
        groups: (workload, variant) of each group; the last workload is the mean over all, where there are
            several.
    """

    kind = ""

    def __init__(self, figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> None:
        """Find the groups; a subclass computes their numbers."""
        super().__init__(figure, panel, samples)
        workloads = workloads_of(samples)
        self.averages: dict[str, Sequence[str]] = {name: (name,) for name in workloads}
        if len(workloads) > 1:
            self.averages[MEAN] = workloads
        self.groups = [(name, variant) for name in self.averages for variant in figure.variant_names]
        self.name_columns = ("trace", figure.axis) if figure.variants else ("trace",)

    def set_width(self, bars: int) -> None:
        """Make the picture wide enough for so many bars in a group, and for what is written below it."""
        longest = max(len(variant) for variant in self.figure.variant_names) if self.figure.variants else 0
        of_group = max(_BAR_INCHES * (bars + 1), _LETTER_INCHES * (longest + 1))
        self.width = 1.2 + of_group * len(self.groups)

    def label_groups(self, axes: Axes, is_last: bool) -> None:
        """Write below each group its variant, and below the variants of a workload its name.

        The names of the traces, which are long, stand only beneath the last panel.
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
