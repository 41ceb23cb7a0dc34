"""Comma-separated trace formats: what their columns mean, and which values are possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.csv_rows import BadLine, CsvParser
from ssdgym.workloads.traces.files import line_blocks
from ssdgym.workloads.traces.records import RECORD, BadLines, Records

_INT64_MAX = 2**63 - 1
_LARGEST_REQUEST_BYTES = 2**31 - 1
_TEN_YEARS_NS = 10 * 366 * 86_400 * 10**9
_UNKNOWN_OP = 255

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

#: Which rows are wrong, shape (rows,), the column that makes them so, and what to say of its value.
_Check = tuple[BoolArray, str, str]


@dataclass(frozen=True)
class CsvFormat:
    """One comma-separated format; a `ssdgym.workloads.traces.registry.Reader`.

    Attributes:
        name: what the configuration calls it.
        columns: the names of all columns in order. ``time``, ``op``, ``offset`` and ``size`` are read.
        ops: op column in lower case to READ or WRITE.
        time_unit_ns: nanoseconds per unit of ``time``.
        time_is_integer: ``time`` holds whole numbers; else decimal ones.
        offset_unit_bytes: bytes per unit of ``offset``; ``size`` is in bytes.
        header: the first line, if the format has one.
    """

    name: str
    columns: tuple[str, ...]
    ops: Mapping[str, int]
    time_unit_ns: int
    time_is_integer: bool
    offset_unit_bytes: int
    header: bytes | None = None

    def sniff(self, lines: list[bytes]) -> bool:
        """Tell whether the first lines of a file look like this format."""
        if self.header is not None:
            return bool(lines) and self._is_header(lines[0])
        return any(self._is_request(line) for line in lines)

    def read(self, path: Path, bad: BadLines, limit: int | None = None) -> Iterator[Records]:
        """Yield the requests of a file in its order, block by block, at most `limit` in all.

        Raises:
            SsdgymError: the file cannot be read, or has more bad lines than `bad` allows.
        """
        base: float | None = None
        for first_line, block in line_blocks(path):
            if first_line == 1 and self.header is not None:
                first_line, block = 2, self._without_header(path, block)
            rows = self._parser.parse(first_line, block)
            fields = self._fields(rows.table)
            wrong, problems, base = self._check(fields, rows.lines, base)
            good = np.flatnonzero(~wrong)[:limit]
            is_last = limit is not None and len(good) == limit
            for line, reason in sorted(rows.malformed + problems):
                if not is_last or line < rows.lines[good[-1]]:
                    bad.add(line, reason)
            if base is not None and len(good):
                yield self._records(fields, good, base)
            if limit is not None:
                limit -= len(good)
                if is_last:
                    return

    def _is_header(self, line: bytes) -> bool:
        return line.strip().lower() == self.header

    def _without_header(self, path: Path, block: bytes) -> bytes:
        header, _, rest = block.partition(b"\n")
        if not self._is_header(header):
            raise SsdgymError(
                f"{path}: line 1 is not the header '{','.join(self.columns)}' of the format {self.name}; "
                "add it or name another format."
            )
        return rest

    def _is_request(self, line: bytes) -> bool:
        if self._parser.malformed(line) is not None:
            return False
        op = line.split(b",")[self.columns.index("op")]
        return op.decode().strip().lower() in self.ops

    @property
    def _parser(self) -> CsvParser:
        types = {
            "time": pa.int64() if self.time_is_integer else pa.float64(),
            "op": pa.dictionary(pa.int32(), pa.string()),
            "offset": pa.int64(),
            "size": pa.int64(),
        }
        return CsvParser(self.columns, types)

    def _fields(self, table: pa.Table) -> _Fields:
        time, offset, size = (table[name].to_numpy() for name in ("time", "offset", "size"))
        ops = table["op"].unify_dictionaries().combine_chunks()
        texts = ops.dictionary.to_pylist()
        codes = np.array([self.ops.get(text.strip().lower(), _UNKNOWN_OP) for text in texts], np.uint8)
        indices = ops.indices.to_numpy()
        return _Fields(time, codes[indices], offset, size, texts, indices)

    def _check(
        self, fields: _Fields, lines: IntArray, base: float | None
    ) -> tuple[BoolArray, list[BadLine], float | None]:
        """Return which rows are wrong, why, and the time from which the others count."""
        checks = self._value_checks(fields)
        wrong = np.logical_or.reduce([check[0] for check in checks])
        if base is None and not wrong.all():
            base = fields.time[np.argmin(wrong)].item()
        if base is not None:
            too_far = np.abs(fields.time.astype(np.float64) - base) * self.time_unit_ns > _TEN_YEARS_NS
            checks.append((too_far, "time", "is more than 10 years from the first one"))
            wrong |= too_far
        problems = [(int(lines[row]), _reason(fields, checks, int(row))) for row in np.flatnonzero(wrong)]
        return wrong, problems, base

    def _value_checks(self, fields: _Fields) -> list[_Check]:
        farthest = (_INT64_MAX - _LARGEST_REQUEST_BYTES) // self.offset_unit_bytes
        return [
            (~np.isfinite(fields.time), "time", "is out of range"),
            (fields.op == _UNKNOWN_OP, "op", f"is neither a read nor a write in the format {self.name}"),
            (fields.offset < 0, "offset", "is negative"),
            (fields.offset > farthest, "offset", "is beyond 2**63 bytes"),
            (fields.size <= 0, "size", "is not positive"),
            (fields.size > _LARGEST_REQUEST_BYTES, "size", "is 2 GiB or more"),
        ]

    def _records(self, fields: _Fields, rows: IntArray, base: float) -> Records:
        records = np.zeros(len(rows), RECORD)
        elapsed = (fields.time[rows] - base) * self.time_unit_ns
        records["time_ns"] = elapsed if self.time_is_integer else np.rint(elapsed)
        records["offset_bytes"] = fields.offset[rows] * self.offset_unit_bytes
        records["size_bytes"] = fields.size[rows]
        records["op"] = fields.op[rows]
        return records


@dataclass(frozen=True)
class _Fields:
    """The columns that are read, each of shape (rows,), in the units of the file."""

    time: npt.NDArray[np.int64] | npt.NDArray[np.float64]
    op: npt.NDArray[np.uint8]
    offset: IntArray
    size: IntArray
    op_texts: list[str]
    op_text_of_row: IntArray

    def text(self, column: str, row: int) -> str:
        """Return the value of a column as an error shows it."""
        if column == "op":
            return repr(self.op_texts[self.op_text_of_row[row]][:40])
        return str(getattr(self, column)[row])


def _reason(fields: _Fields, checks: list[_Check], row: int) -> str:
    column, problem = next((column, problem) for mask, column, problem in checks if mask[row])
    return f"has {fields.text(column, row)} as its {column}, which {problem}"
