"""Formats with one request on a line, and the records that lines become."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from ssdgym.types import IntArray
from ssdgym.workloads.traces.fields import BadLines, Malformed, VolumeNumbers, content
from ssdgym.workloads.traces.files import line_blocks
from ssdgym.workloads.traces.record import LARGEST_END_BYTES, LARGEST_SIZE_BYTES, RECORD, Records

if TYPE_CHECKING:
    import pyarrow as pa


#: The op of a line that names none of the format's.
UNKNOWN_OP = 255

SECTOR_BYTES = 512

TEN_YEARS_NS = 10 * 365 * 86_400 * 10**9

#: Whole numbers of any size: of dtype int64 where they fit, else of Python's own.
WholeArray = npt.NDArray[np.int64] | npt.NDArray[np.object_]
#: A line number and why the line is bad.
BadLine = tuple[int, str]
#: The different texts of a column, and the index of each row's.
Texts = tuple[list[str], IntArray]
#: Which rows are wrong, shape (rows,), and why, with {} for the value; and the values.
_Check = tuple[npt.NDArray[np.bool_], str, npt.NDArray[np.generic]]


class Row(NamedTuple):
    """The values of one line, the numbers in units of the format."""

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
    op_text: Texts
    offset: IntArray
    size: IntArray
    volume: Texts
    malformed: list[BadLine]


class RecordMaker:
    """Conversion of the lines of a file to records, block by block."""

    def __init__(
        self, name: str, offset_unit: int, size_unit: int, bad: BadLines, volumes: VolumeNumbers
    ) -> None:
        self._name = name
        self._offset_unit = offset_unit
        self._size_unit = size_unit
        self._bad = bad
        self._volumes = volumes
        self._base_ns: int | None = None

    def records(self, lines: Lines) -> Records:
        """Return the records of a block, and count its bad lines."""
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


#: A blank, and digits of a number that surely fits 64 bits, in expressions for usual lines.
BLANK = r"[ \t]+"
DIGITS = r"[0-9]{1,18}"


class LineFormat(ABC):
    """A text format with one request on a line; see `TraceFormat`.

    Lines written as usual are parsed by pyarrow all at once. Any other is parsed by itself, which is slow but
    says what is wrong with it.

    Attributes:
        name: what the configuration calls the format.
        header: the first line, if the format has one; it is recognised in any case.
        offset_unit, size_unit: bytes per unit.
        usual: expression for most request lines, with the groups time, op, offset, size, volume; without a
            group, the value is 0. A group fraction holds nine more digits of the time. Not for a format that
            overrides `lines_of`.
        passed: expression for most lines that are no requests and may be passed over.
    """

    is_binary: ClassVar[bool] = False

    name: str
    header: bytes | None = None
    offset_unit: int
    size_unit: int
    usual: ClassVar[str] = ""
    passed: ClassVar[str] = r"^[ \t]*\r?$"

    @property
    @abstractmethod
    def tick_ns(self) -> int:
        """Nanoseconds per unit of times."""

    @abstractmethod
    def row(self, line: bytes) -> Row | None:
        """Return what a line without its end says; None for one that may be passed over.

        Raises:
            Malformed: it is no line of the format.
        """

    @abstractmethod
    def op(self, text: str) -> int:
        """Return the operation that a text names: READ, WRITE, TRIM, FLUSH or UNKNOWN_OP."""

    def matches(self, start: bytes) -> int:
        """See `TraceFormat`."""
        lines = [line for line in start.split(b"\n") if content(line)]
        if self.header is None:
            return sum(map(self._fits, lines))
        if not lines or content(lines.pop(0)).lower() != self.header.lower():
            return 0
        return 1 + sum(map(self._fits, lines))

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """See `TraceFormat`."""
        maker = RecordMaker(self.name, self.offset_unit, self.size_unit, bad, volumes)
        return map(maker.records, self.lines(path))

    def lines(self, path: Path) -> Iterator[Lines]:
        """Yield the request lines of a file, block by block."""
        header = self.header
        for first_line, block in line_blocks(path):
            while header is not None and block:
                line, _, block = block.partition(b"\n")
                if content(line):
                    if content(line).lower() != header.lower():
                        raise SsdgymError(
                            f"{path}: line {first_line} is not the header '{header.decode()}' of the format "
                            f"{self.name}; add it or name another format."
                        )
                    header = None
                first_line += 1
            if block:
                yield self.lines_of(first_line, block)

    def _fits(self, line: bytes) -> bool:
        try:
            row = self._checked_row(line)
        except Malformed:
            return False
        return row is None or self.op(row.op) != UNKNOWN_OP

    def _checked_row(self, line: bytes) -> Row | None:
        if b"\0" in line:
            raise Malformed("holds a NUL")
        return self.row(line.removesuffix(b"\r"))

    def lines_of(self, first_line: int, block: bytes) -> Lines:
        """Return the request lines of a block of whole lines, `first_line` the number of the first."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lines = pa.array(block.split(b"\n")[:-1], pa.binary())
        groups = pc.extract_regex(lines, self.usual)
        has_nul = _mask(pc.match_substring(lines, "\0")) if b"\0" in block else np.zeros(len(lines), bool)
        is_usual = _mask(pc.is_valid(groups)) & ~has_nul
        found = self._usual_lines(groups.filter(pa.array(is_usual)), first_line + np.flatnonzero(is_usual))
        if is_usual.all():
            return found
        rest = np.flatnonzero(~is_usual & (has_nul | ~_mask(pc.match_substring_regex(lines, self.passed))))
        others = zip((first_line + rest).tolist(), lines.take(pa.array(rest)).to_pylist(), strict=True)
        return _merged(found, self.one_by_one(others))

    def _usual_lines(self, groups: pa.StructArray, number: IntArray) -> Lines:
        import pyarrow as pa
        import pyarrow.compute as pc

        names = [field.name for field in groups.type]

        def whole(name: str) -> IntArray:
            if name not in names:
                return np.zeros(len(groups), np.int64)
            return pc.cast(pc.cast(groups.field(name), pa.string()), pa.int64()).to_numpy()

        def texts(name: str) -> Texts:
            coded = groups.field(name).dictionary_encode()
            known = [text.decode() for text in coded.dictionary.to_pylist()]
            return known, coded.indices.to_numpy().astype(np.int64)

        op_text = texts("op")
        return Lines(
            number=number,
            time=whole("time") * 10**9 + whole("fraction") if "fraction" in names else whole("time"),
            tick_ns=self.tick_ns,
            op=self.ops_named(op_text),
            op_text=op_text,
            offset=whole("offset"),
            size=whole("size"),
            volume=texts("volume"),
            malformed=[],
        )

    def one_by_one(self, lines: Iterable[tuple[int, bytes]]) -> Lines:
        """Return the request lines among numbered lines, each parsed by itself."""
        rows: list[Row] = []
        numbers: list[int] = []
        malformed: list[BadLine] = []
        for number, line in lines:
            if not content(line):
                continue
            try:
                row = self._checked_row(line)
            except Malformed as reason:
                malformed.append((number, str(reason)))
                continue
            if row is not None:
                rows.append(row)
                numbers.append(number)
        times, ops, offsets, sizes, volumes = zip(*rows, strict=True) if rows else ((),) * 5
        op_text = _indexed(ops)
        return Lines(
            number=np.array(numbers, np.int64),
            time=np.array(times, object) if rows else np.zeros(0, np.int64),
            tick_ns=self.tick_ns,
            op=self.ops_named(op_text),
            op_text=op_text,
            offset=np.array(offsets, np.int64),
            size=np.array(sizes, np.int64),
            volume=_indexed(volumes),
            malformed=malformed,
        )

    def ops_named(self, op_text: Texts) -> npt.NDArray[np.uint8]:
        """Return the operation of each row, shape (rows,)."""
        texts, index = op_text
        return np.array([self.op(text) for text in texts], np.uint8)[index]


def one_volume(rows: int) -> Texts:
    """Return the only volume of a format without volumes."""
    return ["0"], np.zeros(rows, np.int64)


def _merged(left: Lines, right: Lines) -> Lines:
    """Return the lines of both in the order of their numbers."""
    order = np.argsort(np.concatenate([left.number, right.number]), kind="stable")

    def texts(left: Texts, right: Texts) -> Texts:
        return [*left[0], *right[0]], np.concatenate([left[1], right[1] + len(left[0])])[order]

    arrays = {
        name: np.concatenate([getattr(left, name), getattr(right, name)])[order]
        for name in ("number", "time", "op", "offset", "size")
    }
    return Lines(
        **arrays,
        tick_ns=left.tick_ns,
        op_text=texts(left.op_text, right.op_text),
        volume=texts(left.volume, right.volume),
        malformed=left.malformed + right.malformed,
    )


def _indexed(texts: tuple[str, ...]) -> Texts:
    numbers: dict[str, int] = {}
    index = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), np.array(index, np.int64)


def _mask(values: pa.Array) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False).astype(bool)


READ_WRITE = {"read": READ, "write": WRITE}
R_W = {"r": READ, "w": WRITE}
ZERO_READS = {"0": READ, "1": WRITE}
ZERO_WRITES = {"0": WRITE, "1": READ}

#: SCSI operation codes (SBC-3): READ, WRITE, WRITE AND VERIFY with 6 to 16 bytes, UNMAP, SYNCHRONIZE CACHE.
SCSI = {
    **dict.fromkeys((0x08, 0x28, 0xA8, 0x88), READ),
    **dict.fromkeys((0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E), WRITE),
    0x42: TRIM,
    **dict.fromkeys((0x35, 0x91), FLUSH),
}
#: The code that each operation is written as.
SCSI_CODES = {READ: 0x28, WRITE: 0x2A, TRIM: 0x42, FLUSH: 0x35}


def named(names: Mapping[str, int]) -> Callable[[str], int]:
    """Return what looks an operation up by its name."""
    return lambda text: names.get(text, UNKNOWN_OP)


def scsi_op(text: str) -> int:
    """Return the operation of a SCSI code in hexadecimal."""
    digits = re.fullmatch("(?:0x)?([0-9a-f]+)", text)
    return UNKNOWN_OP if digits is None else SCSI.get(int(digits[1], 16), UNKNOWN_OP)


def flag_op(text: str) -> int:
    """Return the operation of a whole number whose lowest bit is set for reads."""
    digits = re.fullmatch("(-?)0*([0-9]{1,19})", text)
    if digits is None or not -(2**63) <= int(digits[1] + digits[2]) < 2**63:
        return UNKNOWN_OP
    return READ if int(digits[2]) % 2 else WRITE
