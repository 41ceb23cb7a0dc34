"""Samples of a device while it runs: free pages, erases, planes in which foreground GC is on."""

from typing import Any

import numpy as np

from ssdgym.simulator.simulator import Simulator

#: The columns whose means are metrics, with the same names.
_MEANS = ("free_pages/fewest", "free_pages/mean", "free_pages/first", "collecting_planes")
_COLUMNS = ("host_pages", "time_ns", "erases", *_MEANS)


class Sampler:
    """Record a sample of the state of one simulator at each call.

    The columns `host_pages` (written), `time_ns` and `erases` count from the last reset of the metrics.
    `free_pages/fewest` is the smallest number of free pages of a plane, `free_pages/mean` the mean, and
    `free_pages/first` that of plane 0. In `collecting_planes` planes, foreground GC is on.

    Args:
        simulator: the simulator to sample. It does not change.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._rows: list[tuple[float, ...]] = []

    def note(self) -> None:
        """Take a sample, unless no host page has been written since the last sample."""
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
        """The samples, oldest first, as columns of equal length, by name."""
        return {name: [row[index] for row in self._rows] for index, name in enumerate(_COLUMNS)}

    def metrics(self) -> dict[str, Any]:
        """Return means over samples since the first erase, and the `threshold` of free pages where GC starts.

        There are no means without an erase. The threshold is 0 if only a lack of free blocks starts GC.
        """
        threshold = int(self._simulator.arrays.params["low_free"][0, 0])
        found: dict[str, Any] = {"free_pages": {"threshold": threshold}}
        series = self.series
        late = np.array(series["erases"]) > 0
        for name in _MEANS if late.any() else ():
            part, _, last = name.rpartition("/")
            (found[part] if part else found)[last] = float(np.mean(np.array(series[name])[late]))
        return found
