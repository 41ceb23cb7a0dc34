"""A record source over an array, and strategies for records."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.record import RECORD, Records, Volumes

PAGE = 4096


class ArraySource:
    """Hands out the records of an array in small chunks."""

    def __init__(self, records: Records, volumes: Volumes | None = None, chunk: int = 3) -> None:
        self.volumes = volumes if volumes is not None else volumes_of(records)
        self._records = records
        self._chunk = chunk

    def chunk(self) -> Records:
        chunk, self._records = self._records[: self._chunk].copy(), self._records[self._chunk :]
        return chunk


def volumes_of(records: Records) -> Volumes:
    """Return volumes v0, v1, ... that end where their last request does."""
    count = max(int(records["volume"].max(initial=0)) + 1, 1)
    ends = [0] * count
    for record in records:
        end = int(record["offset_bytes"]) + int(record["size_bytes"])
        ends[record["volume"]] = max(ends[record["volume"]], end)
    return Volumes(tuple(f"v{number}" for number in range(count)), tuple(ends))


def make_records(rows: list[tuple[int, int, int, int, int]]) -> Records:
    """Return records from rows of time, offset, size, volume and operation; a flush has no bytes."""
    return np.array(
        [(t, 0, 0, v, op) if op == FLUSH else (t, offset, size, v, op) for t, offset, size, v, op in rows],
        RECORD,
    )


def record_arrays(max_size: int = 12, ops: tuple[int, ...] = (READ, WRITE, TRIM, FLUSH)) -> st.SearchStrategy:
    """Return arrays of 1 to `max_size` records on up to three volumes of some 40 pages."""
    row = st.tuples(
        st.integers(0, 1000),
        st.integers(0, 40 * PAGE),
        st.integers(1, 5 * PAGE),
        st.integers(0, 2),
        st.sampled_from(ops),
    )
    return st.lists(row, min_size=1, max_size=max_size).map(make_records)


def drain(source: ArraySource) -> list[tuple[int, ...]]:
    """Return all that is left in a source."""
    rows: list[tuple[int, ...]] = []
    while len(chunk := source.chunk()):
        rows += chunk.tolist()
    assert not len(source.chunk())
    return rows
