"""Convert the columns of a trace's lines to records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ssdgym.requests import FLUSH
from ssdgym.types import IntArray
from ssdgym.workloads.traces.reading.columns import SKIPPED_OP, UNKNOWN_OP
from ssdgym.workloads.traces.reading.fields import BadLines, Problems, Texts, VolumeNumbers, shown
from ssdgym.workloads.traces.record import LARGEST_END_BYTES, LARGEST_SIZE_BYTES, RECORD, Records

TEN_YEARS_NS = 10 * 365 * 86_400 * 10**9

#: Requests above `LARGEST_SIZE_BYTES` are split into pieces of this size, yielded `_MOST_PIECES` at a time.
_PIECE_BYTES = 1 << 30
_MOST_PIECES = 1 << 16
_LARGEST_REQUEST_BYTES = 1 << 40

#: A check of rows: whether each row is wrong, the reason with {} for the row's value, and the values.
_Check = tuple[npt.NDArray[np.bool_], str, npt.NDArray[np.generic]]


@dataclass
class Lines:
    """The request lines of a block, as arrays of shape (rows,) each.

    Attributes:
        number: line numbers.
        time: times in units of `unit_ns` nanoseconds.
        op: operations: READ, WRITE, TRIM, FLUSH, SKIPPED_OP or UNKNOWN_OP.
        op_text: the different texts of operations, and for each row the index of its text.
        offset: offsets in the format's unit.
        size: sizes in the format's unit.
        volume: the different names of volumes, and for each row the index of its name.
        unit_ns: nanoseconds per unit of the times.
        fraction_ns: nanoseconds to add to the times; None: 0.
        problems: for each row that cannot be read, the reason.
        malformed: numbers of the lines that cannot be split into columns, each with the reason.
    """

    number: IntArray
    time: IntArray
    op: npt.NDArray[np.uint8]
    op_text: Texts
    offset: IntArray
    size: IntArray
    volume: Texts
    unit_ns: int = 1
    fraction_ns: IntArray | None = None
    problems: Problems = field(default_factory=dict)
    malformed: list[tuple[int, str]] = field(default_factory=list)

    @property
    def good(self) -> int:
        """Number of rows with a known operation and without a problem."""
        wrong = self.op == UNKNOWN_OP
        wrong[[*self.problems]] = True
        return len(wrong) - int(np.count_nonzero(wrong))


class RecordMaker:
    """Converts the lines of a file to records, block by block; units are the bytes per unit of the format."""

    def __init__(
        self, name: str, offset_unit: int, size_unit: int, bad: BadLines, volumes: VolumeNumbers
    ) -> None:
        self._name = name
        self._offset_unit = offset_unit
        self._size_unit = size_unit
        self._bad = bad
        self._volumes = volumes
        self._base: tuple[int, int] | None = None

    def records(self, lines: Lines) -> Iterator[Records]:
        """Yield the records of a block in its order; count bad and ignored lines in `bad`."""
        checks = self._checks(lines)
        wrong = np.logical_or.reduce([check[0] for check in checks])
        wrong[[*lines.problems]] = True
        is_skipped = lines.op == SKIPPED_OP
        is_request = ~wrong & ~is_skipped
        fraction = lines.fraction_ns if lines.fraction_ns is not None else np.zeros_like(lines.time)
        if self._base is None and is_request.any():
            first = int(np.argmax(is_request))
            self._base = int(lines.time[first]), int(fraction[first])
            self._bad.first_ns = self._base[0] * lines.unit_ns + self._base[1]
        elapsed = np.zeros(len(wrong), np.int64)
        if self._base is not None:
            elapsed, too_far = _elapsed(lines, fraction, *self._base)
            checks.append((too_far, "has {} as its time, more than 10 years from the first one", lines.time))
            wrong |= too_far & ~is_skipped
        # A line with an ignored operation is bad only if a field cannot be read.
        wrong[is_skipped] = False
        wrong[[*lines.problems]] = True
        found = [
            (int(lines.number[row]), lines.problems.get(row) or _reason(checks, row))
            for row in np.flatnonzero(wrong).tolist()
        ]
        for line, reason in sorted(lines.malformed + found):
            self._bad.add(line, reason)
        if is_skipped.any():
            known, index = lines.op_text
            for number, count in enumerate(np.bincount(index[is_skipped & ~wrong], minlength=len(known))):
                if count:
                    self._bad.passed[f"operation {known[number]}"] += int(count)
        yield from self._good(lines, elapsed, np.flatnonzero(~wrong & ~is_skipped))

    def _checks(self, lines: Lines) -> list[_Check]:
        is_access = lines.op != FLUSH
        largest = _LARGEST_REQUEST_BYTES // self._size_unit
        # Wrong sizes have checks of their own, so sizes are clipped for the check of the offsets.
        size = np.clip(lines.size, 0, largest) * self._size_unit
        farthest = (LARGEST_END_BYTES - size) // self._offset_unit
        known, index = lines.op_text
        unknown = f"has {{}} as its op, which the format {self._name} does not know"
        return [
            (lines.op == UNKNOWN_OP, unknown, np.array([*map(shown, known), ""], object)[index]),
            (is_access & (lines.offset < 0), "has {} as its offset, which is negative", lines.offset),
            (is_access & (lines.offset > farthest), "has {} as its offset, beyond 2**62 bytes", lines.offset),
            (is_access & (lines.size <= 0), "has {} as its size, which is not positive", lines.size),
            (is_access & (lines.size > largest), "has {} as its size, which is beyond 1 TiB", lines.size),
        ]

    def _good(self, lines: Lines, elapsed: IntArray, rows: IntArray) -> Iterator[Records]:
        records = np.zeros(len(rows), RECORD)
        is_access = lines.op[rows] != FLUSH
        records["time_ns"] = elapsed[rows]
        records["offset_bytes"] = np.where(is_access, lines.offset[rows], 0) * self._offset_unit
        size = np.where(is_access, lines.size[rows], 0) * self._size_unit
        records["op"] = lines.op[rows]
        names, index = lines.volume
        index = index[rows]
        # Volumes get numbers in the order in which they appear in good requests; `names` has another order.
        first = np.full(len(names), len(index))
        first[index[::-1]] = np.arange(len(index))[::-1]
        order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(index))]
        numbers = np.zeros(len(names) + 1, np.uint16)
        numbers[order] = self._volumes.of([names[number] for number in order])
        records["volume"] = numbers[index]
        if size.max(initial=0) <= LARGEST_SIZE_BYTES:
            records["size_bytes"] = size
            yield records
            return
        self._bad.passed["requests of 2 GiB and more, split"] += int(
            np.count_nonzero(size > LARGEST_SIZE_BYTES)
        )
        yield from _split(records, size)


def _split(records: Records, size: IntArray) -> Iterator[Records]:
    """Yield records with the sizes `size`, (n,), in bytes; split records that are too large into pieces."""
    pieces = np.where(size > LARGEST_SIZE_BYTES, -(-size // _PIECE_BYTES), 1)
    cuts = np.flatnonzero(np.diff(np.cumsum(pieces) // _MOST_PIECES)) + 1
    for rows in np.split(np.arange(len(records)), cuts):
        count = pieces[rows]
        part = np.repeat(records[rows], count)
        number = np.arange(len(part)) - np.repeat(np.cumsum(count) - count, count)
        part["offset_bytes"] += number * _PIECE_BYTES
        left = np.repeat(size[rows], count) - number * _PIECE_BYTES
        is_last = number == np.repeat(count, count) - 1
        part["size_bytes"] = np.where(is_last, left, _PIECE_BYTES)
        yield part


def _elapsed(
    lines: Lines, fraction: IntArray, base: int, base_fraction: int
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return times since the first request in ns, and whether they exceed ten years, each of shape (rows,).

    The first request is at `base` units of `lines.unit_ns`, plus `base_fraction` ns.
    """
    roughly = (lines.time.astype(np.float64) - float(base)) * lines.unit_ns
    near = np.abs(roughly) < 2 * TEN_YEARS_NS
    elapsed = np.zeros(len(near), np.int64)
    # Even for times near the limits of 64 bits, the differences of `near` times from the first one are small.
    with np.errstate(over="ignore"):
        apart = lines.time[near] - np.int64(base)
    elapsed[near] = apart * lines.unit_ns + (fraction[near] - base_fraction)
    return elapsed, ~near | (np.abs(elapsed) > TEN_YEARS_NS)


def _reason(checks: list[_Check], row: int) -> str:
    text, values = next((text, values) for wrong, text, values in checks if wrong[row])
    return text.format(values[row])


def one_volume(rows: int) -> Texts:
    """Return the volume column of a format without volumes: `rows` times the volume 0."""
    return ["0"], np.zeros(rows, np.int64)
