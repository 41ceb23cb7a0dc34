"""Describe the first request of a trace, and warn of implausible values."""

from __future__ import annotations

import numpy as np

from ssdgym.requests import FLUSH, OP_NAMES
from ssdgym.workloads.traces.reading.columns import SECTOR_BYTES
from ssdgym.workloads.traces.record import Records

#: Fewest requests of a file for warnings.
_FEW = 10
_COARSE_BYTES = 512 * SECTOR_BYTES
_MOST_PER_SECOND = 1e6
#: Formats that have the same columns in different units. Recorded times are multiples of `_CLOCK_NS`; other
#: times may have been read in a wrong unit.
_SIMULATORS = {"ssdsim": "times in ns", "disksim": "times in ms"}
_CLOCK_NS = 100
_MOST_PER_SECOND_OF_FINER = 1e4
_MOST_LATE = 0.01


class Doubts:
    """Collects statistics of the records of a file, and makes warnings of implausible values from them.

    Attributes:
        first: description of the first request; empty before it is added.
        others: other formats that may be meant, as a text, set by `sentences`; empty if there are none.
    """

    def __init__(self, name: str, has_sectors: bool) -> None:
        """Begin before the first record.

        Args:
            name: name of the file's format.
            has_sectors: whether the sizes in the file are in sectors.
        """
        self.first = self.others = ""
        self._name = name
        self._is_coarse = True
        self._has_sectors = has_sectors
        self._requests = self._late = self._times = 0
        self._earliest = self._latest = 0
        self._previous: int | None = None

    def add(self, records: Records, names: tuple[str, ...]) -> None:
        """Add the next records; `names` are the names of the volumes."""
        if not len(records):
            return
        time = records["time_ns"]
        if self._previous is None:
            self.first = _in_words(records[0], names)
            self._earliest = self._latest = int(time[0])
        gaps = np.diff(time, prepend=time[0] if self._previous is None else self._previous)
        self._previous = int(time[-1])
        self._requests += len(records)
        self._late += int(np.count_nonzero(time < np.maximum(np.maximum.accumulate(time), self._latest)))
        self._times += int(np.count_nonzero(gaps))
        self._earliest = min(self._earliest, int(time.min()))
        self._latest = max(self._latest, int(time.max()))
        self._is_coarse &= not (time % _CLOCK_NS).any()
        self._has_sectors &= not (records["size_bytes"] % _COARSE_BYTES).any()

    def sentences(self, volumes: int) -> list[str]:
        """Return the warnings, as sentences; `volumes` is the number of volumes of the file."""
        if self._requests < _FEW:
            return []
        found = []
        duration_s = (self._latest - self._earliest) / 1e9
        is_odd = self._name in _SIMULATORS and not self._is_coarse
        most = _MOST_PER_SECOND_OF_FINER if is_odd else _MOST_PER_SECOND
        if not duration_s:
            found.append("all requests have the same time; the file has no times, so play it closed loop")
        elif self._requests / duration_s > most:
            rate = f"{self._requests / duration_s:,.0f}"
            found.append(f"{rate} requests a second; the unit of time may be another, name it by columns")
        if self._has_sectors:
            found.append("all sizes are multiples of 512 sectors; they may be bytes, name them by columns")
        if found and duration_s and self._name in _SIMULATORS:
            known = [f"{other} ({unit})" for other, unit in _SIMULATORS.items() if other != self._name]
            self.others = f"{', '.join(known)} and the same columns with other units or bytes"
        if volumes > self._times and 2 * volumes > self._requests:
            found.append(f"{volumes} volumes and {self._times + 1} times; columns may be mistaken")
        share = self._late / self._requests
        if share > _MOST_LATE:
            found.append(
                f"{self._late} arrivals ({share:.1%}) are earlier than one before them and would take its "
                "time; use the transform sort, unless the clock began anew, as at midnight"
            )
        return found


def size_text(size_bytes: int) -> str:
    """Format bytes in the largest unit in which the number is at least 1."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{round(size_bytes / scale, 1):g} {unit}"
    return f"{size_bytes} B"


def time_text(time_ns: int) -> str:
    """Format nanoseconds in the largest unit, up to seconds, in which the number is at least 1."""
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(time_ns) >= scale:
            return f"{round(time_ns / scale, 3):,} {unit}"
    return f"{time_ns} ns"


def _in_words(record: Records, names: tuple[str, ...]) -> str:
    op = OP_NAMES[record["op"]]
    if record["op"] == FLUSH:
        return op
    size, offset = (size_text(int(record[name])) for name in ("size_bytes", "offset_bytes"))
    return f"{op} {size} at {offset} of volume {names[record['volume']]}"
