"""Blocks of comma-separated lines, parsed by pyarrow into typed columns.

A block that pyarrow refuses is looked through line by line to name the lines at fault; the others
are then parsed as usual. Blank lines hold nothing and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

_INTEGER = re.compile(rb"-?[0-9]+")
_NUMBER = re.compile(rb"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LONGEST_INTEGER = len(str(-(2**63)))

#: A line number and why the line is bad.
BadLine = tuple[int, str]


@dataclass(frozen=True)
class Rows:
    """The well-formed lines of a block.

    Attributes:
        table: one row per line, with the columns that were asked for.
        lines: the line number of each row, shape (rows,).
        malformed: the other lines.
    """

    table: pa.Table
    lines: npt.NDArray[np.int64]
    malformed: list[BadLine]


class CsvParser:
    """Parses lines with `columns`; of these, it reads the ones that `types` gives a type."""

    def __init__(self, columns: Sequence[str], types: Mapping[str, pa.DataType]) -> None:
        self._columns = list(columns)
        self._types = dict(types)

    def parse(self, first_line: int, block: bytes) -> Rows:
        """Parse whole lines, the first of which has number `first_line`."""
        try:
            table = self._table(block)
        except pa.ArrowInvalid:
            return self._sift(first_line, block)
        if table.num_rows != block.count(b"\n"):
            return self._sift(first_line, block)
        return Rows(table, first_line + np.arange(table.num_rows), [])

    def malformed(self, line: bytes) -> str | None:
        """Return why a line cannot be parsed, or None if it can."""
        fields = line.removesuffix(b"\r").split(b",")
        if len(fields) != len(self._columns):
            plural = "" if len(fields) == 1 else "s"
            return f"has {len(fields)} column{plural} instead of {len(self._columns)}"
        for name, kind in self._types.items():
            field = fields[self._columns.index(name)]
            problem = _malformed_field(field, kind)
            if problem:
                return f"has {_show(field)} as its {name}, which is {problem}"
        return "has a carriage return in its middle" if b"\r" in b"".join(fields) else None

    def _table(self, lines: bytes) -> pa.Table:
        if not lines:
            return pa.schema(self._types.items()).empty_table()
        return pa.csv.read_csv(
            pa.BufferReader(lines),
            read_options=pa.csv.ReadOptions(use_threads=False, column_names=self._columns),
            parse_options=pa.csv.ParseOptions(quote_char=False, double_quote=False),
            convert_options=pa.csv.ConvertOptions(
                column_types=self._types,
                include_columns=list(self._types),
                null_values=[],
                strings_can_be_null=False,
            ),
        )

    def _sift(self, first_line: int, block: bytes) -> Rows:
        good, numbers, malformed = [], [], []
        for number, line in enumerate(block.split(b"\n")[:-1], first_line):
            if not line.strip():
                continue
            problem = self.malformed(line)
            if problem is None:
                good.append(line)
                numbers.append(number)
            else:
                malformed.append((number, problem))
        return Rows(self._table(b"\n".join(good)), np.array(numbers, np.int64), malformed)


def _malformed_field(field: bytes, kind: pa.DataType) -> str | None:
    text = field.strip(b" \t")
    if pa.types.is_integer(kind):
        if not _INTEGER.fullmatch(text):
            return "not a whole number"
        fits = len(text) <= _LONGEST_INTEGER and -(2**63) <= int(text) < 2**63
        return None if fits else "beyond 64 bits"
    if pa.types.is_floating(kind):
        return None if _NUMBER.fullmatch(text) else "not a number"
    try:
        field.decode()
    except UnicodeDecodeError:
        return "not UTF-8 text"
    return None


def _show(field: bytes) -> str:
    """Quote a field that may be long or binary."""
    return repr(field.decode("ascii", "backslashreplace")[:40])
