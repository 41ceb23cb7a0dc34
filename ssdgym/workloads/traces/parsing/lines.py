"""Make records from the values on lines: check ranges, convert units, count times from the first request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ssdgym.requests import FLUSH
from ssdgym.types import IntArray
from ssdgym.workloads.records.record import LARGEST_END_BYTES, LARGEST_SIZE_BYTES, RECORD, Records
from ssdgym.workloads.traces.parsing.bad_lines import BadLines
from ssdgym.workloads.traces.parsing.volumes import VolumeNumbers

#: The op of a line that names none of the format's.
UNKNOWN_OP = 255

SECTOR_BYTES = 512

TEN_YEARS_NS = 10 * 365 * 86_400 * 10**9

#: Whole numbers of any size: of dtype int64 where they fit, else of Python's own.
WholeArray = npt.NDArray[np.int64] | npt.NDArray[np.object_]
#: A line number and why the line is bad.
BadLine = tuple[int, str]
#: Which rows are wrong, shape (rows,), and why, with {} for the value; and the values.
_Check = tuple[npt.NDArray[np.bool_], str, npt.NDArray[np.generic]]


class Row(NamedTuple):
    """The values of one line: numbers as the line has them, or the time in ns."""

    time: int
    op: str
    offset: int
    size: int
    volume: str


@dataclass(frozen=True)
class Lines:
    """The request lines of a block, all arrays of shape (rows,).

    Attributes:
        number: line numbers.
        time: in ticks of `tick_ns` nanoseconds.
        tick_ns: length of a tick.
        op: READ, WRITE, TRIM, FLUSH or UNKNOWN_OP.
        op_text: how the lines name it: the different texts, and the index of each row's.
        offset: in the format's unit.
        size: in the format's unit.
        volume: the different names, and the index of each row's.
        malformed: the lines that are no request lines but should be.
    """

    number: IntArray
    time: WholeArray
    tick_ns: int
    op: npt.NDArray[np.uint8]
    op_text: tuple[list[str], IntArray]
    offset: IntArray
    size: IntArray
    volume: tuple[list[str], IntArray]
    malformed: list[BadLine]


class RecordMaker:
    """Conversion of the lines of a file to records, block by block."""

    def __init__(
        self, name: str, offset_unit: int, size_unit: int, bad: BadLines, volumes: VolumeNumbers
    ) -> None:
        """Start before the first block.

        Args:
            name: of the format.
            offset_unit: bytes per unit of offsets.
            size_unit: bytes per unit of sizes.
            bad: counts bad lines.
            volumes: numbers the volumes.
        """
        self._name = name
        self._offset_unit = offset_unit
        self._size_unit = size_unit
        self._bad = bad
        self._volumes = volumes
        self._base_ns: int | None = None

    def records(self, lines: Lines) -> Records:
        """Return the records of a block, and count its bad lines.

        Raises:
            SsdgymError: there are more bad lines than allowed, or too many volumes.
        """
        checks = self._checks(lines)
        wrong = np.logical_or.reduce([check[0] for check in checks])
        if self._base_ns is None and not wrong.all():
            self._base_ns = int(lines.time[np.argmin(wrong)]) * lines.tick_ns
        elapsed = np.zeros(len(wrong), np.int64)
        if self._base_ns is not None:
            elapsed, too_far = _elapsed(lines, self._base_ns)
            checks.append((too_far, "has {} as its time, more than 10 years from the first one", lines.time))
            wrong = wrong | too_far
        problems = [(int(lines.number[row]), _reason(checks, int(row))) for row in np.flatnonzero(wrong)]
        for line, reason in sorted(lines.malformed + problems):
            self._bad.add(line, reason)
        return self._good(lines, elapsed, np.flatnonzero(~wrong))

    def _checks(self, lines: Lines) -> list[_Check]:
        is_flush = lines.op == FLUSH
        largest = LARGEST_SIZE_BYTES // self._size_unit
        # A wrong size is reported as such; the end does not matter then.
        size = np.clip(lines.size, 0, largest) * self._size_unit
        farthest = (LARGEST_END_BYTES - size) // self._offset_unit
        texts, index = lines.op_text
        unknown = f"has {{!r:.42}} as its op, which the format {self._name} does not know"
        return [
            (lines.op == UNKNOWN_OP, unknown, np.array([*texts, ""], object)[index]),
            (~is_flush & (lines.offset < 0), "has {} as its offset, which is negative", lines.offset),
            (~is_flush & (lines.offset > farthest), "has {} as its offset, beyond 2**62 bytes", lines.offset),
            (~is_flush & (lines.size <= 0), "has {} as its size, which is not positive", lines.size),
            (~is_flush & (lines.size > largest), "has {} as its size, which is 2 GiB or more", lines.size),
        ]

    def _good(self, lines: Lines, elapsed: IntArray, rows: IntArray) -> Records:
        records = np.zeros(len(rows), RECORD)
        is_access = lines.op[rows] != FLUSH
        records["time_ns"] = elapsed[rows]
        records["offset_bytes"] = np.where(is_access, lines.offset[rows], 0) * self._offset_unit
        records["size_bytes"] = np.where(is_access, lines.size[rows], 0) * self._size_unit
        records["op"] = lines.op[rows]
        names, index = lines.volume
        index = index[rows]
        # Volumes are numbered as good requests name them, not as the library numbers their names.
        present, first = np.unique(index, return_index=True)
        order = present[np.argsort(first)]
        numbers = np.zeros(len(names) + 1, np.uint16)
        numbers[order] = self._volumes.of([names[number] for number in order])
        records["volume"] = numbers[index]
        return records


def _elapsed(lines: Lines, base_ns: int) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the time since the first request in ns, exact where it is within ten years, and where not."""
    ticks, rest_ns = divmod(base_ns, lines.tick_ns)
    roughly = (lines.time.astype(np.float64) - float(ticks)) * lines.tick_ns
    near = np.abs(roughly) < 2 * TEN_YEARS_NS
    elapsed = np.zeros(len(near), np.int64)
    if near.any():
        # Times may lie beyond 64 bits, but those that are near the first one differ from it by less.
        apart = lines.time[near].astype(object) - ticks if abs(ticks) >= 2**62 else lines.time[near] - ticks
        elapsed[near] = apart.astype(np.int64) * lines.tick_ns - rest_ns
    return elapsed, ~near | (np.abs(elapsed) > TEN_YEARS_NS)


def _reason(checks: list[_Check], row: int) -> str:
    text, values = next((text, values) for wrong, text, values in checks if wrong[row])
    return text.format(values[row])
