"""Runs: how many reads, or writes, follow each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ssdgym.requests import READ, WRITE


@dataclass(frozen=True)
class Runs:
    """Runs of one operation among reads and writes; other requests are passed over.

    Attributes:
        mean: requests per run; `None` without reads and writes.
        independent: what it would be, nearly, if the same requests came in random order; `None` unless there
            are both.
    """

    mean: float | None
    independent: float | None

    @property
    def persistence(self) -> float | None:
        """Share of the changes of operation that are missing against a random order; 0 for that."""
        if self.mean is None or self.independent is None:
            return None
        return 1 - self.independent / self.mean


class OperationRuns:
    """Counts runs; the memory does not grow."""

    def __init__(self) -> None:
        """Start before the first request."""
        self._last = -1
        self._runs = 0
        self._counts = {READ: 0, WRITE: 0}

    def add(self, op: npt.NDArray[np.uint8]) -> None:
        """Count the next operations, shape (n,)."""
        op = op[(op == READ) | (op == WRITE)].astype(np.int64)
        if not len(op):
            return
        self._runs += int(np.count_nonzero(np.diff(op, prepend=self._last)))
        self._last = int(op[-1])
        for kind in self._counts:
            self._counts[kind] += int(np.count_nonzero(op == kind))

    def runs(self) -> Runs:
        """Return the runs so far."""
        reads, writes = self._counts.values()
        both = reads + writes
        # Each of n - 1 borders between neighbours is a change with the probability 2rw / n(n-1).
        return Runs(
            mean=both / self._runs if both else None,
            independent=both / (1 + 2 * reads * writes / both) if reads and writes else None,
        )
