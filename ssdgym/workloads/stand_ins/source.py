"""Draw the records of a stand-in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.config.stand_in import UNIT_BYTES, OperationConfig, StandInConfig
from ssdgym.requests import READ, WRITE
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.records.record import NO_RECORDS, RECORD, Records, Volumes
from ssdgym.workloads.stand_ins.fitting import fit
from ssdgym.workloads.stand_ins.layout import Layout

IntArray = npt.NDArray[np.int64]

#: Keeps these draws apart from the other users of a seed (docs/engine.md, Randomness).
_WORKLOAD_STREAM = 3


class StandIn:
    """A record source; see `ssdgym.workloads.stand_ins` for the model. Its memory does not grow.

    Attributes:
        volumes: a single one, named after the trace.
    """

    def __init__(self, config: StandInConfig, seed: int) -> None:
        order, arrivals, reads, writes = np.random.SeedSequence([seed, _WORKLOAD_STREAM]).spawn(4)
        self.volumes = Volumes((config.name,), (int(config.address_space_bytes),))
        self._left = {READ: config.reads.requests, WRITE: config.writes.requests}
        self._order = np.random.Generator(np.random.PCG64(order))
        self._arrivals = _Arrivals(config, np.random.Generator(np.random.PCG64(arrivals)))
        layout = Layout(config.address_space_bytes // config.extent_bytes, config.layout_seed)
        self._accesses = {
            READ: _Accesses(config, config.reads, layout, reads),
            WRITE: _Accesses(config, config.writes, layout, writes),
        }

    def chunk(self) -> Records:
        """See `ssdgym.workloads.records.record.RecordSource`."""
        count = min(CHUNK, sum(self._left.values()))
        if count == 0:
            return NO_RECORDS
        # A sample without replacement from all that is left, so that the totals come out exactly.
        reads = int(self._order.hypergeometric(self._left[READ], self._left[WRITE], count))
        is_read = np.arange(count) < reads
        self._order.shuffle(is_read)
        records = np.zeros(count, RECORD)
        records["time_ns"] = self._arrivals.next(count)
        records["op"] = np.where(is_read, READ, WRITE)
        for op, is_op, number in ((READ, is_read, reads), (WRITE, ~is_read, count - reads)):
            records["offset_bytes"][is_op], records["size_bytes"][is_op] = self._accesses[op].next(number)
            self._left[op] -= number
        return records


class _Arrivals:
    """A Poisson process that starts with an arrival at 0."""

    def __init__(self, config: StandInConfig, rng: np.random.Generator) -> None:
        gaps = config.reads.requests + config.writes.requests - 1
        self._mean_ns = config.duration_s * 1e9 / gaps
        self._rng = rng
        self._next_ns = 0

    def next(self, count: int) -> IntArray:
        """Return times in ns, shape (count,)."""
        gaps = np.rint(self._rng.standard_exponential(count) * self._mean_ns).astype(np.int64)
        ends = self._next_ns + np.cumsum(gaps)
        times = np.concatenate([[self._next_ns], ends[:-1]])
        self._next_ns = int(ends[-1])
        return times


class _Accesses:
    """Places and sizes of the reads, or of the writes."""

    def __init__(
        self,
        config: StandInConfig,
        operation: OperationConfig,
        layout: Layout,
        seed: np.random.SeedSequence,
    ) -> None:
        fitted = fit(config, operation)
        self._sizes, self._ranks, self._scan_share = fitted.sizes, fitted.ranks, fitted.scan_share
        self._layout = layout
        self._extent_bytes = int(config.extent_bytes)
        self._space_bytes = int(config.address_space_bytes)
        self._scanned_bytes = 0
        self._size_rng, self._rank_rng, self._place_rng, self._scan_rng = (
            np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(4)
        )

    def next(self, count: int) -> tuple[IntArray, IntArray]:
        """Return offsets and sizes in bytes, both of shape (count,)."""
        sizes = self._sizes.at(self._size_rng.random(count))
        extents = self._layout(self._ranks.at(self._rank_rng.random(count)))
        places = self._place_rng.integers(self._extent_bytes, size=count)
        offsets = extents * self._extent_bytes + (places & -sizes)
        if self._scan_share:
            is_scan = self._scan_rng.random(count) < self._scan_share
            offsets[is_scan] = self._scan(sizes[is_scan])
        return offsets, sizes

    def _scan(self, sizes: IntArray) -> IntArray:
        """Return where the next requests of the scan start; it goes on at 0 when it reaches the end."""
        # Requests below a page take one each, as the fit supposes.
        steps = np.maximum(sizes, UNIT_BYTES)
        ends = self._scanned_bytes + np.cumsum(steps)
        self._scanned_bytes = int(ends[-1]) if len(ends) else self._scanned_bytes
        return np.minimum((ends - steps) % self._space_bytes, self._space_bytes - steps)
