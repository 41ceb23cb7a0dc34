"""Merge several parsed files into one trace."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.types import IntArray
from ssdgym.workloads.traces.cache import StoredTrace, kept, write_trace
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.reading.lines import TEN_YEARS_NS
from ssdgym.workloads.traces.record import NO_RECORDS, Records

#: Largest number of records in memory, for all files together.
_HELD = 1 << 21


def joined(paths: Sequence[Path], parts: Sequence[StoredTrace]) -> StoredTrace:
    """Return the traces of several files as one trace, which is also cached."""
    first = parts[0]
    other = next((number for number, part in enumerate(parts) if part.format != first.format), None)
    if other is not None:
        raise SsdgymError(
            f"{paths[other]}: is read as {parts[other].format} and {paths[0]} as {first.format}; give files "
            "of one format, or name it."
        )

    def write(folder: Path) -> None:
        volumes, bad = VolumeNumbers(paths[0]), BadLines(paths[0], 0)
        for part in parts:
            bad.count += part.skipped_lines
            bad.passed.update(part.understood["passed_over"])
        bad.first_ns = min(part.first_ns for part in parts)
        blocks = merged(paths, parts, volumes)
        write_trace(paths[0], folder, first.format, first.understood["columns"], blocks, bad, volumes)

    # The name of a part depends on its content and on how it was read.
    key = hashlib.sha256(" ".join(part.folder.name for part in parts).encode()).hexdigest()[:32]
    return kept(paths[0], key, write)


def merged(paths: Sequence[Path], parts: Sequence[StoredTrace], volumes: VolumeNumbers) -> Iterator[Records]:
    """Yield the records of several files in order of time.

    A record with an earlier time than its predecessor in the file stays after its predecessor. Volumes of
    equal name are one volume.

    Args:
        paths: the files.
        parts: the records of each file.
        volumes: numbers of the volumes of the merged trace. New volumes are added.

    Raises:
        SsdgymError: a file begins more than ten years after another.
    """
    begins = [part.first_ns for part in parts]
    first, last = (begins.index(time) for time in (min(begins), max(begins)))
    if begins[last] - begins[first] > TEN_YEARS_NS:
        raise SsdgymError(
            f"{paths[last]}: begins more than 10 years after {paths[first]}, so their clocks differ; give "
            "each as a trace of its own."
        )
    held = max(1, _HELD // len(parts))
    waiting = [
        _Waiting(part, volumes.of(part.volumes.names), begin - begins[first], held)
        for part, begin in zip(parts, begins, strict=True)
    ]
    while waiting := [part for part in waiting if part.has_more()]:
        until = min(int(part.arrivals[-1]) for part in waiting)
        arrivals, records = zip(*(part.taken(until) for part in waiting), strict=True)
        yield np.concatenate(records)[np.argsort(np.concatenate(arrivals), kind="stable")]


class _Waiting:
    """The records of one file that are not merged yet.

    Attributes:
        arrivals: times of the records in memory, which never decrease, shape (n,).
    """

    def __init__(self, part: StoredTrace, numbers: npt.NDArray[np.uint16], later_ns: int, held: int) -> None:
        """Begin at the first record.

        Args:
            part: the parsed file.
            numbers: number of each of the file's volumes in the merged trace, shape (volumes,).
            later_ns: time from the beginning of the merged trace to the beginning of the file.
            held: largest number of records in memory.
        """
        self.arrivals: IntArray = np.zeros(0, np.int64)
        self._part, self._numbers, self._later_ns, self._held = part, numbers, later_ns, held
        self._records = NO_RECORDS
        self._position = 0
        self._latest_ns = -(2**63)

    def has_more(self) -> bool:
        """Load the next records if none are in memory; return whether there are any."""
        if not len(self._records):
            self._records = self._part.records(self._position, self._held)
            if not len(self._records):
                return False
            self._position += len(self._records)
            self._records["time_ns"] += self._later_ns
            self._records["volume"] = self._numbers[self._records["volume"]]
            self.arrivals = np.maximum(np.maximum.accumulate(self._records["time_ns"]), self._latest_ns)
        return True

    def taken(self, until_ns: int) -> tuple[IntArray, Records]:
        """Remove the records up to a time; return their arrival times and the records."""
        count = int(np.searchsorted(self.arrivals, until_ns, side="right"))
        taken = self.arrivals[:count], self._records[:count]
        if count:
            self._latest_ns = int(self.arrivals[count - 1])
        self.arrivals, self._records = self.arrivals[count:], self._records[count:]
        return taken
