"""Records of a synthetic trace."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ssdgym.requests import READ, WRITE
from ssdgym.workloads.records.record import NO_RECORDS, RECORD, Records, Volumes
from ssdgym.workloads.synthetic.drawing import Accesses, Arrivals
from ssdgym.workloads.synthetic.order import Order


class SyntheticTrace:
    """A record source; see `ssdgym.workloads.synthetic` for the model. Its memory does not grow.

    Attributes:
        volumes: a single one, named after the trace.
    """

    def __init__(
        self, volumes: Volumes, order: Order, arrivals: Arrivals, accesses: Mapping[int, Accesses]
    ) -> None:
        """Start with the first record.

        Args:
            volumes: the volume.
            order: of reads and writes, and how many there are.
            arrivals: when they arrive.
            accesses: what is read and written, by operation.
        """
        self.volumes = volumes
        self._order = order
        self._arrivals = arrivals
        self._accesses = accesses

    def chunk(self) -> Records:
        """See `ssdgym.workloads.records.record.RecordSource`."""
        is_read = self._order.next()
        if not len(is_read):
            return NO_RECORDS
        records = np.zeros(len(is_read), RECORD)
        records["time_ns"] = self._arrivals.next(len(is_read))
        records["op"] = np.where(is_read, READ, WRITE)
        for op, is_op in ((READ, is_read), (WRITE, ~is_read)):
            places = self._accesses[op].next(int(np.count_nonzero(is_op)))
            records["offset_bytes"][is_op], records["size_bytes"][is_op] = places
        return records
