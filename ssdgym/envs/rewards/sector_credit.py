"""Credit: the cost of each single decision about the region of small writes.

A decision is about sectors. Its cost is the nominal time of its own flash commands, plus a price if it
programs a group to the main area, whose garbage is collected later. A decision for the region is followed by
the first decision whether a collection keeps one of its sectors. None follows if all are written again first,
or move to the main area with their group. An eviction without a decision costs no decision anything.
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
        column: column of the feature `way_time`, the nominal time of an action in page programs. It is no
            slice of `features`, since a slice would be a copy after unpickling.
        price: cost of programming a group to the main area in addition to its time, in page programs.
    """

    def __init__(self, batches: Sequence[Batch], features: np.ndarray, column: int, price: float) -> None:
        self._places = {int(i): (batch, k) for batch in batches for k, i in enumerate(batch.numbers)}
        self._features, self._column, self._price = features, column, price
        self._due = [0] * len(self._places)
        #: By device and sector: the last decision for the region that no later decision has ended, and the
        #: lowest and highest number of writes of the sector that its copy can have.
        self._last: list[dict[int, tuple[int, int, int]]] = [{} for _ in self._places]
        #: By device and decision for the region without credit: its cost, and its sectors not yet ended.
        self._open: list[dict[int, tuple[float, int]]] = [{} for _ in self._places]
        self._credits: list[list[Credit]] = [[] for _ in self._places]

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
        """Record the decision of device `i`, and end the copies that it replaces."""
        batch, k = self._places[i]
        control, buffer = batch.state.control[k, 0], batch.state.buffer[k, 0]
        lpn, slots = int(control["decision_subject"]), int(batch.state.subpage[k, 0]["slots"])
        group = range(lpn - lpn % slots, lpn - lpn % slots + slots)
        collected, leaving = buffer["collected_plane"] >= 0, int(buffer["leaving"])
        sectors = [lpn] if collected else [group[s] for s in range(slots) if leaving >> s & 1]
        writes = batch.state.logical[k]["version"]  # of the copies in flash
        decision, cost = self._due[i], float(self._features[i, action, self._column])
        self._due[i] += 1
        for sector in group if action == _MAIN else sectors:
            _, lowest, highest = self._last[i].get(sector, (-1, 0, 0))
            flushed = not collected and sector in sectors
            if flushed or writes[sector] >= lowest:  # otherwise the last decision's copy is not yet in flash
                follows = collected and sector == lpn and writes[sector] <= highest
                self._end(i, sector, decision if follows else -1)
        if action == _MAIN:
            price = self._price if cost > 0 else 0.0  # 0: an eviction of the group is already under way
            self._credits[i].append(Credit(decision, cost + price, -1))
        elif collected and lpn in self._last[i]:  # newer data of the sector has a decision of its own
            self._credits[i].append(Credit(decision, cost, -1))
        else:
            self._open[i][decision] = (cost, len(sectors))
            for sector in sectors:
                lowest = int(writes[sector]) + (0 if collected else int(batch.state.in_flight[k][sector]))
                self._last[i][sector] = (decision, lowest, lowest + (not collected))

    def _end(self, i: int, sector: int, following: int) -> None:
        """End the copy of a sector; report its decision if another follows it, or if no sector is left."""
        decision, *_ = self._last[i].pop(sector, (-1,))
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
