"""Records (the requests of a trace, in bytes), the pages that they touch, and access to records by number."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, TRIM, WRITE, Requests
from ssdgym.types import IntArray
from ssdgym.workloads.base import CHUNK

#: One request of a trace. `time_ns` is the time since the first request of the file. If the times in the file
#: decrease, `time_ns` decreases, too, even below 0. `volume` is an index into `Volumes.names`; `op` is READ,
#: WRITE, TRIM or FLUSH. Offset and size of a flush are 0.
RECORD = np.dtype(
    [("time_ns", "i8"), ("offset_bytes", "i8"), ("size_bytes", "i4"), ("volume", "u2"), ("op", "u1")],
    align=True,
)

#: An array of dtype RECORD and shape (requests,).
Records = npt.NDArray[np.void]

LARGEST_SIZE_BYTES = 2**31 - 1
#: Largest end of a request; addresses that are rounded up from it to pages and units still fit 64 bits.
LARGEST_END_BYTES = 2**62
MOST_VOLUMES = 2**16

NO_RECORDS: Records = np.zeros(0, RECORD)
NO_RECORDS.flags.writeable = False


@dataclass(frozen=True)
class Volumes:
    """The volumes (LUNs, disks, files) of a trace; the addresses of each volume begin at 0.

    Attributes:
        names: names of the volumes, in the order in which they first appear in the trace.
        end_bytes: for each volume the largest end of a request, in bytes.
        overlay: whether equal addresses of different volumes are the same place; otherwise the address
            spaces of the volumes follow each other.
        trace: name of the trace in errors.
    """

    names: tuple[str, ...]
    end_bytes: tuple[int, ...]
    overlay: bool = False
    trace: str = "a trace"


class RecordSource(Protocol):
    """Returns the records of a trace in order; it can be copied at any point.

    Attributes:
        volumes: the volumes to which the field `volume` of the records refers.
    """

    volumes: Volumes

    def chunk(self) -> Records:
        """Return the next records, shape (n,); after the last one, always an empty array."""


#: REQUEST with page numbers of 64 bits, because the addresses of a trace may be larger than the device.
WIDE_REQUEST = np.dtype(
    [("arrival_ns", "i8"), ("lpn", "i8"), ("pages", "i8"), ("op", "u1"), ("flags", "u1"), ("hint", "u1")],
    align=True,
)


#: Most pages for which `Compact` keeps a table; such a table has 64 MiB.
_LARGEST_TABLE = 1 << 24


def volume_pages(volumes: Volumes, page_size: int) -> int:
    """Return the number of pages in the address spaces of all volumes, including pages never touched."""
    pages = _pages_of_each(volumes, page_size)
    return max(pages) if volumes.overlay else sum(pages)


def _pages_of_each(volumes: Volumes, page_size: int) -> list[int]:
    return [-(-end // page_size) for end in volumes.end_bytes]


def volume_starts(volumes: Volumes, page_size: int) -> IntArray:
    """Return the number of each volume's first page, shape (volumes,); all are 0 if volumes are overlaid.

    Args:
        volumes: the volumes in their order.
        page_size: bytes per page.

    Raises:
        SsdgymError: the volumes together have more pages than can be numbered.
    """
    pages = _pages_of_each(volumes, page_size)
    if volumes.overlay:
        return np.zeros(len(pages), np.int64)
    starts = np.cumsum([0, *pages[:-1]], dtype=object)
    if starts[-1] + pages[-1] > 2**62:
        raise SsdgymError(
            f"{volumes.trace}: the {len(pages)} volumes reach so far that their pages cannot be numbered; "
            "keep some with the transform volumes."
        )
    return starts.astype(np.int64)


def to_pages(records: Records, page_size: int, starts: IntArray) -> Requests:
    """Return records as requests for pages, dtype WIDE_REQUEST, shape (m,).

    A write that covers only part of its first or last page gets a flag. The hint of a request is the number
    of its volume modulo 256. A trim frees only pages that it covers completely; a trim without such a page is
    left out.

    Args:
        records: records, shape (n,).
        page_size: bytes per page.
        starts: first page of each volume, shape (volumes,).
    """
    offset, op = records["offset_bytes"], records["op"]
    end = offset + records["size_bytes"]
    is_trim = op == TRIM
    first = np.where(is_trim, offset + (page_size - 1), offset) // page_size
    after = np.where(is_trim, end, end + (page_size - 1)) // page_size
    requests = np.zeros(len(records), WIDE_REQUEST)
    requests["arrival_ns"] = records["time_ns"]
    requests["op"] = op
    requests["pages"] = after - first
    requests["lpn"] = first + starts[records["volume"]]
    requests["hint"] = records["volume"] & 255
    head = np.where(offset % page_size != 0, PARTIAL_HEAD, 0)
    tail = np.where(end % page_size != 0, PARTIAL_TAIL, 0)
    requests["flags"] = np.where(op == WRITE, head | tail, 0)
    is_flush = op == FLUSH
    if is_flush.any():
        requests["lpn"][is_flush] = requests["pages"][is_flush] = 0
    return requests[(requests["pages"] > 0) | is_flush] if is_trim.any() else requests


class Compact:
    """Numbers the pages in ranges 0, 1, 2, ... in address order; other pages have no number.

    All pages of a request must be in one range, so that they have consecutive numbers.
    """

    def __init__(self, start: IntArray, end: IntArray) -> None:
        """Assign numbers to the pages of separate ranges, which are in rising order.

        Args:
            start: first page of each range, shape (ranges,).
            end: first page after each range, shape (ranges,).
        """
        self._start, self._end = start, end
        self._shift = np.cumsum(end - start) - end
        # A table of pages is several times faster than a search of ranges, but may be too large.
        self._table: npt.NDArray[np.int32] | None = None
        if len(start) and end[-1] <= _LARGEST_TABLE:
            self._table = np.zeros(int(end[-1]), np.int32)
            numbers = np.arange(int((end - start).sum()))
            self._table[numbers - np.repeat(self._shift, end - start)] = numbers

    def __reduce__(self) -> tuple[type[Compact], tuple[IntArray, IntArray]]:
        """Pickle only the ranges; the table is computed again."""
        return Compact, (self._start, self._end)

    def __call__(self, requests: Requests) -> Requests:
        """Return the requests, dtype WIDE_REQUEST, with new page numbers; flushes keep 0."""
        first = requests["lpn"]
        if self._table is not None:
            moved = self._table[first]
        elif len(self._start):
            moved = first + self._shift[np.searchsorted(self._start, first, side="right") - 1]
        else:
            moved = first
        result = requests.copy()
        result["lpn"] = np.where(requests["op"] == FLUSH, 0, moved)
        return result


def cast(rows: Records, dtype: np.dtype) -> Records:
    """Convert rows to a dtype with the same fields, in which values must fit; padding bytes become 0."""
    result = np.zeros(len(rows), dtype)
    for field in dtype.names or ():
        result[field] = rows[field]
    return result


class NumberedRecords(Protocol):
    """Stored records that can be read by their number."""

    @property
    def volumes(self) -> Volumes:
        """The volumes to which the field `volume` of the records refers."""

    def records(self, first: int, count: int) -> Records:
        """Return a copy of the records `first` to `first + count - 1`, shape (n,); fewer at the end."""


class RecordCursor:
    """A `RecordSource` of all stored records."""

    def __init__(self, kept: NumberedRecords) -> None:
        self.volumes = kept.volumes
        self._kept = kept
        self._position = 0

    def chunk(self) -> Records:
        """See `RecordSource`."""
        records = self._kept.records(self._position, CHUNK)
        self._position += len(records)
        return records


#: Fewest records between two copies of the source: more would be slow to skip, fewer would need many copies.
_MARK_EVERY = 1 << 14


class RecordIndex:
    """Access to the records of a source by number.

    Attributes:
        records: number of records.
    """

    def __init__(self, source: RecordSource) -> None:
        """Read all records of a source, which has to be at its start."""
        self.records = 0
        #: Pairs of the number of a record, from 0, and a copy of the source just before the record.
        self._marks = [(0, copy.deepcopy(source))]
        while len(chunk := source.chunk()):
            self.records += len(chunk)
            if self.records - self._marks[-1][0] >= _MARK_EVERY:
                self._marks.append((self.records, copy.deepcopy(source)))

    def part(self, first: int, end: int) -> RecordPart:
        """Return the records `first` to `end - 1` as a source."""
        position, source = next(mark for mark in reversed(self._marks) if mark[0] <= first)
        return RecordPart(copy.deepcopy(source), first - position, end - first)


class RecordPart:
    """A `RecordSource` of `count` consecutive records of another source, after `skip` records."""

    def __init__(self, source: RecordSource, skip: int, count: int) -> None:
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
