"""Parts of records: where they begin and end, and how to get there without playing what lies before."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from ssdgym.workloads.records.record import NO_RECORDS, Records, RecordSource, Volumes

#: Records from one mark to the next at least: few to pass over, and few marks.
_MARK_EVERY = 1 << 14


@dataclass(frozen=True, eq=False)
class RecordIndex:
    """Where in a source its records are.

    Attributes:
        records: how many there are.
        marks: numbers of records, from 0 on, with copies of the source just before them.
    """

    records: int
    marks: tuple[tuple[int, RecordSource], ...]

    def bounds(self, window: tuple[float, float]) -> tuple[int, int]:
        """Return the first record of a window and the one behind its last.

        Windows that share an end have no record in common.

        Args:
            window: where it begins and ends, as shares of the records.
        """
        first, end = (round(share * self.records) for share in window)
        return first, end

    def part(self, first: int, end: int) -> RecordPart:
        """Return the records `first` to `end - 1` as a source.

        Args:
            first: number of a record.
            end: number of a record behind it.
        """
        position, source = next(mark for mark in reversed(self.marks) if mark[0] <= first)
        return RecordPart(copy.deepcopy(source), first - position, end - first)


def index_records(source: RecordSource) -> RecordIndex:
    """Read all records of a fresh source once and return where they are.

    Args:
        source: is used up.
    """
    marks: list[tuple[int, RecordSource]] = []
    position = 0
    while True:
        if not marks or position - marks[-1][0] >= _MARK_EVERY:
            marks.append((position, copy.deepcopy(source)))
        chunk = source.chunk()
        if not len(chunk):
            return RecordIndex(position, tuple(marks))
        position += len(chunk)


class RecordPart:
    """Some records of a source that follow each other; see `RecordSource`."""

    def __init__(self, source: RecordSource, skip: int, count: int) -> None:
        """Start with the first of them.

        Args:
            source: the records.
            skip: how many of them go before.
            count: how many belong to the part.
        """
        self.volumes: Volumes = source.volumes
        self._source = source
        self._skip = skip
        self._left = count

    def chunk(self) -> Records:
        """See `RecordSource`."""
        while self._left:
            records = self._source.chunk()
            if not len(records):
                break
            part = records[self._skip : self._skip + self._left]
            self._skip = max(self._skip - len(records), 0)
            self._left -= len(part)
            if len(part):
                return part
        return NO_RECORDS
