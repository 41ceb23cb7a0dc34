"""Order of reads and writes, with exact numbers of both."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.types import BoolArray
from ssdgym.workloads.chunks import CHUNK


class Order:
    """Reads and writes at random, or in runs; drawn without replacement, so that totals come out exactly."""

    def __init__(self, reads: int, writes: int, persistence: float, rng: np.random.Generator) -> None:
        """Start with the first request.

        Args:
            reads: how many.
            writes: how many.
            persistence: share of the changes of operation that are missing against a random order.
            rng: draws for this order alone.
        """
        self._reads, self._writes = reads, writes
        self._persistence = persistence
        self._rng = rng

    def next(self) -> BoolArray:
        """Return of the next requests which read, shape (n,); an empty array at the end."""
        count = min(CHUNK, self._reads + self._writes)
        if count == 0:
            return np.zeros(0, bool)
        reads = int(self._rng.hypergeometric(self._reads, self._writes, count))
        self._reads -= reads
        self._writes -= count - reads
        if self._persistence:
            return self._in_runs(reads, count - reads)
        is_read = np.arange(count) < reads
        self._rng.shuffle(is_read)
        return is_read

    def _in_runs(self, reads: int, writes: int) -> BoolArray:
        """Arrange reads and writes in as many runs as are wanted in the mean, of geometric lengths."""
        both, fewer = reads + writes, min(reads, writes)
        if not fewer:
            return np.full(both, reads > 0)
        # In a random order, reads begin a run where a write, or nothing, goes before.
        wanted = max((1 - self._persistence) * reads * writes / both, 1.0)
        pairs = 1 + int(self._rng.binomial(fewer - 1, (wanted - 1) / (fewer - 1))) if fewer > 1 else 1
        lengths = np.stack([self._parts(reads, pairs), self._parts(writes, pairs)], axis=1)
        reads_first = self._rng.random() < reads / both
        kinds = np.tile([reads_first, not reads_first], pairs)
        return np.repeat(kinds, (lengths if reads_first else lengths[:, ::-1]).ravel())

    def _parts(self, total: int, parts: int) -> npt.NDArray[np.int64]:
        """Cut a number into so many parts of 1 or more, every way as likely: geometric, given their sum."""
        cuts = np.sort(self._rng.choice(total - 1, parts - 1, replace=False)) + 1
        return np.diff(cuts, prepend=0, append=total)
