"""Credit: the cost of each single decision about the region of small writes.

A decision is about sectors. Its cost is the nominal time of its own flash commands, plus a price if it is a
write to the main area, which collects its garbage later. A decision for the region leads to the next decision
about one of its sectors (whether a collection keeps the sector), unless all of them are written again first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ssdgym.envs.batch import Batch
from ssdgym.envs.rewards.credit import Credit

#: The action that programs a whole group to the main area.
_MAIN = 0


class SectorCredits:
    """The credits of the devices of a `SubpageRegionEnv`, numbered from 0 to n - 1.

    Args:
        batches: batches with the devices.
        features: (n, 2, columns), the features of both actions of the present decision. Every step
            overwrites the array.
        column: column of the feature `way_time`, the nominal time of an action in page programs.
        price: cost of a write to the main area in addition to its own time, in page programs.
    """

    def __init__(self, batches: Sequence[Batch], features: np.ndarray, column: int, price: float) -> None:
        self._places = {int(i): (batch, k) for batch in batches for k, i in enumerate(batch.numbers)}
        self._features, self._column, self._price = features, column, price
        self._due = [0] * len(self._places)
        #: By device: the last decision about each sector whose copy is in the region.
        self._last: list[dict[int, int]] = [{} for _ in self._places]
        #: By device: the cost of each such decision, and how many of its sectors are not yet written again.
        self._open: list[dict[int, tuple[float, int]]] = [{} for _ in self._places]
        self._credits: list[list[Credit]] = [[] for _ in self._places]

    def connect(self) -> None:
        """Do nothing: all data of this object is its own."""

    def begin(self, i: int) -> None:
        """Begin to count the decisions of device `i`, from 0."""
        self._due[i] = 0
        self._last[i], self._open[i], self._credits[i] = {}, {}, []

    def note(self, which: np.ndarray, actions: np.ndarray) -> None:
        """Record the decisions of devices `which` before a step, and remove the credits of the last step."""
        self._credits = [[] for _ in self._places]
        for i in which.tolist():
            self._note(i, int(actions[i]))

    def _note(self, i: int, action: int) -> None:
        batch, k = self._places[i]
        control, buffer = batch.state.control[k, 0], batch.state.buffer[k, 0]
        lpn, slots = int(control["decision_subject"]), int(batch.state.subpage[k, 0]["slots"])
        group = range(lpn - lpn % slots, lpn - lpn % slots + slots)
        collected = buffer["collected_plane"] >= 0
        leaving = int(buffer["leaving"])
        sectors = [lpn] if collected else [group[s] for s in range(slots) if leaving >> s & 1]
        decision, cost = self._due[i], float(self._features[i, action, self._column])
        self._due[i] += 1
        for sector in sectors:
            self._end(i, sector, decision if collected else -1)
        if action == _MAIN:
            for sector in group:
                self._end(i, sector, -1)
            self._credits[i].append(Credit(decision, cost + self._price, -1))
        else:
            self._open[i][decision] = (cost, len(sectors))
            self._last[i].update(dict.fromkeys(sectors, decision))

    def _end(self, i: int, sector: int, following: int) -> None:
        """End the copy of a sector; report its decision if another follows it, or if no sector is left."""
        decision = self._last[i].pop(sector, -1)
        cost, left = self._open[i].pop(decision, (0.0, 0))
        if left > 1 and following < 0:
            self._open[i][decision] = (cost, left - 1)
        elif left > 0:
            self._credits[i].append(Credit(decision, cost, following))

    def info(self, i: int) -> dict[str, Any]:
        """Return the entries `decision` (a number) and `credits` (a list) of the info of device `i`."""
        return {"decision": self._due[i], "credits": self._credits[i]}

    def infos(self) -> dict[str, np.ndarray]:
        """Return the batched infos `decision`, int64 (n,), and `credits`, object (n,): a list per device."""
        rows = np.empty(len(self._credits), object)
        rows[:] = self._credits
        return {"decision": np.array(self._due), "credits": rows}
