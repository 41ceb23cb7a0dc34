"""Samples of a device while it runs: free pages, erases, planes that collect."""

from typing import Any

import numpy as np

from ssdgym.simulator.simulator import Simulator

#: The columns that a run is summed up by; its metrics have their means by the same names.
_MEANS = ("free_pages/fewest", "free_pages/mean", "free_pages/first", "collecting_planes")
_COLUMNS = ("host_pages", "time_ns", "erases", *_MEANS)


class Sampler:
    """Record a sample of the state of one simulator at each call.

    The columns are the host pages written and erases since the metrics were reset, the time since then in ns,
    the free pages of the plane that has fewest, their mean over the planes, those of the first plane, and how
    many planes collect.

    Args:
        simulator: the simulator to sample; it does not change.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._rows: list[tuple[float, ...]] = []

    def note(self) -> None:
        """Take a sample, unless no host page has been written since the last one."""
        arrays = self._simulator.arrays
        planes = arrays.plane[0, : self._simulator.device.geometry.planes]
        control, counters = arrays.control[0, 0], arrays.counters[0, 0]
        written = int(counters["host_pages_written"])
        if self._rows and self._rows[-1][0] == written:
            return
        free = planes["free_pages"]
        self._rows.append(
            (
                written,
                int(control["now"] - control["metrics_start_ns"]),
                int(counters["erases"]),
                int(free.min()),
                float(free.mean()),
                int(free[0]),
                int(np.count_nonzero(planes["collecting"])),
            )
        )

    @property
    def series(self) -> dict[str, list[float]]:
        """The samples as columns of equal length, in order."""
        return {name: [row[index] for row in self._rows] for index, name in enumerate(_COLUMNS)}

    def metrics(self) -> dict[str, Any]:
        """Return the means over the samples since the first erase, and the free pages below which GC starts.

        Means are missing without an erase; free pages are 0 if only free blocks start GC.
        """
        threshold = int(self._simulator.arrays.params["low_free"][0, 0])
        found: dict[str, Any] = {"free_pages": {"threshold": threshold}}
        series = self.series
        late = np.array(series["erases"]) > 0
        for name in _MEANS if late.any() else ():
            part, _, last = name.rpartition("/")
            (found[part] if part else found)[last] = float(np.mean(np.array(series[name])[late]))
        return found
