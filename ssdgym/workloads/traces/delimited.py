"""Text formats of delimited columns, with a header or without one, parsed in blocks by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.types import IntArray
from ssdgym.workloads.traces.fields import (
    BadLines,
    Malformed,
    VolumeNumbers,
    content,
    decimal_time_ns,
    is_proper,
    text_of,
    whole,
)
from ssdgym.workloads.traces.files import BYTE_ORDER_MARK, count_lines, line_blocks
from ssdgym.workloads.traces.lines import UNKNOWN_OP, Lines, RecordMaker, Row, Texts, ops_of, parse_each
from ssdgym.workloads.traces.record import Records

if TYPE_CHECKING:
    import pyarrow as pa


def behind_header(
    path: Path, name: str, header: bytes, first_line: int, block: bytes
) -> tuple[int, bytes, bool]:
    """Return what follows the header, which is the first line with anything on it.

    Args:
        path: the file.
        name: of the format.
        header: the header.
        first_line: number of the first line of the block.
        block: whole lines.

    Returns:
        The number of the line behind the header, the rest of the block, and whether the header was there.

    Raises:
        SsdgymError: another line is the first.
    """
    while block:
        line, _, block = block.partition(b"\n")
        if content(line):
            if content(line).lower() != header.lower():
                raise SsdgymError(
                    f"{path}: line {first_line} is not the header '{header.decode()}' of the format {name}; "
                    "add it or name another format."
                )
            return first_line + 1, block, True
        first_line += 1
    return first_line, b"", False


@dataclass(frozen=True)
class DelimitedFormat:
    """A text format with one request on a line and a fixed order of columns.

    Attributes:
        name: what the configuration calls it.
        columns: names of all columns. `time`, `op`, `offset` and `size` are read, and those of
            `volume_columns`.
        op_of: the operation by the text of its column in lower case: READ, WRITE, TRIM, FLUSH or UNKNOWN_OP.
        time_unit_ns: nanoseconds per unit of `time`.
        time_decimals: decimals that a nanosecond takes in that unit; 0: `time` holds whole numbers.
        offset_unit: bytes per unit of `offset`.
        size_unit: bytes per unit of `size`.
        volume_columns: together, joined by `_`, they name the volume; none: there is one, called `0`.
        fixed_size: size of every request, for a format that has no `size`.
        separator: one character, `,`, `;` or a blank; in place of a blank there may be several, and tabs.
        header: the first line, if the format has one; it is recognised in any case.
        has_more: further columns may follow.
        sniffed: what else the first lines must be like to be recognised.
    """

    name: str
    columns: tuple[str, ...]
    op_of: Callable[[str], int]
    time_unit_ns: int
    time_decimals: int
    offset_unit: int
    size_unit: int
    volume_columns: tuple[str, ...] = ()
    fixed_size: int | None = None
    separator: str = ","
    header: bytes | None = None
    has_more: bool = False
    sniffed: Callable[[bytes], bool] = lambda start: True

    is_binary: ClassVar[bool] = False

    @property
    def unread(self) -> tuple[str, ...]:
        """See `TraceFormat`."""
        read = {"time", "op", "offset", "size", *self.volume_columns}
        more = ("further columns",) if self.has_more else ()
        return (*(name for name in self.columns if name not in read), *more)

    @property
    def tick_ns(self) -> int:
        """Nanoseconds between two times that differ in the format."""
        return self.time_unit_ns // 10**self.time_decimals

    def matches(self, start: bytes) -> int:
        """See `TraceFormat`."""
        lines = [line for line in start.split(b"\n") if content(line)]
        if self.header is not None:
            if not lines or content(lines.pop(0)).lower() != self.header.lower():
                return 0
            return 1 + sum(map(self._fits, lines))
        fitting = sum(map(self._fits, lines))
        return fitting if fitting and self.sniffed(start) else 0

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """See `TraceFormat`."""
        maker = RecordMaker(self.name, self.offset_unit, self.size_unit, bad, volumes)
        header = self.header
        for first_line, block in line_blocks(path):
            if header is not None:
                first_line, block, found = behind_header(path, self.name, header, first_line, block)
                if not found:
                    continue
                header = None
            yield maker.records(self._lines(first_line, block))

    def _fits(self, line: bytes) -> bool:
        try:
            row = self._row(line.removesuffix(b"\r"))
        except Malformed:
            return False
        return b"\0" not in line and self._op(row.op) != UNKNOWN_OP

    def _lines(self, first_line: int, block: bytes) -> Lines:
        # On decimals with an exponent far below zero pyarrow reads beyond its tables, and the process dies.
        import pyarrow as pa

        is_dangerous = self.time_decimals and (b"e-" in block or b"E-" in block)
        if not is_dangerous and not _is_doubtful(block):
            try:
                table = self._table(block)
                if table.num_rows == count_lines(block) and self._names_are_proper(table):
                    return self._of_table(table, first_line)
            except (pa.ArrowInvalid, OverflowError):
                pass  # blocks that pyarrow refuses are read line by line
        return parse_each(enumerate(block.split(b"\n")[:-1], first_line), self._row, self._op)

    def _table(self, block: bytes) -> pa.Table:
        import pyarrow as pa
        import pyarrow.csv

        if self.separator == " ":
            block = _with_single_blanks(block)
        mark, marks = self.separator.encode(), len(self.columns) - 1
        if self.has_more and block.count(mark) != marks * count_lines(block):
            kept = rb"(?m)^([^%b\n]*(?:%b[^%b\n]*){%d})%b[^\n]*$" % (mark, mark, mark, marks, mark)
            block = re.sub(kept, rb"\1", block)
        text = pa.dictionary(pa.int32(), pa.string())
        time = pa.decimal128(38, self.time_decimals) if self.time_decimals else pa.int64()
        types = {"time": time, "op": text, "offset": pa.int64(), **dict.fromkeys(self.volume_columns, text)}
        if self.fixed_size is None:
            types["size"] = pa.int64()
        return pa.csv.read_csv(
            pa.BufferReader(block),
            read_options=pa.csv.ReadOptions(use_threads=False, column_names=self.columns),
            parse_options=pa.csv.ParseOptions(
                delimiter=self.separator, quote_char=False, double_quote=False, ignore_empty_lines=False
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
            ),
        )

    def _names_are_proper(self, table: pa.Table) -> bool:
        """Text with blanks around it or with control characters is left to the careful way."""
        texts = (text for name in self.volume_columns for text in _dictionary(table[name])[0])
        return all(is_proper(text) and text == text.strip(" \t") for text in texts)

    def _of_table(self, table: pa.Table, first_line: int) -> Lines:
        offset = table["offset"].to_numpy()
        size = np.full(len(offset), self.fixed_size) if self.fixed_size else table["size"].to_numpy()
        texts, index = _dictionary(table["op"])
        op_text = [text.strip(" \t") for text in texts], index
        time = _scaled(table["time"]) if self.time_decimals else table["time"].to_numpy()
        return Lines(
            number=first_line + np.arange(len(offset)),
            time=time,
            tick_ns=self.tick_ns,
            op=ops_of(op_text, self._op),
            op_text=op_text,
            offset=offset,
            size=size,
            volume=self._volumes(table),
            malformed=[],
        )

    def _volumes(self, table: pa.Table) -> Texts:
        import pyarrow as pa

        if not self.volume_columns:
            return ["0"], np.zeros(table.num_rows, np.int64)
        names, index = _dictionary(table[self.volume_columns[0]])
        for column in self.volume_columns[1:]:
            more, its_index = _dictionary(table[column])
            # Only pairs that occur: of many hosts and many disks there are far too many.
            pairs = pa.array(index * len(more) + its_index).dictionary_encode()
            names = [
                f"{names[pair // len(more)]}_{more[pair % len(more)]}"
                for pair in pairs.dictionary.to_pylist()
            ]
            index = pairs.indices.to_numpy().astype(np.int64)
        return names, index

    def _op(self, text: str) -> int:
        return self.op_of(text.lower())

    def _row(self, line: bytes) -> Row:
        if self.separator == " ":
            fields = line.replace(b"\t", b" ").split(b" ")
            fields = [field for field in fields if field]
        else:
            fields = [field.strip(b" \t") for field in line.split(self.separator.encode())]
        wanted = len(self.columns)
        if len(fields) != wanted and not (self.has_more and len(fields) > wanted):
            plural = "" if len(fields) == 1 else "s"
            raise Malformed(f"has {len(fields)} column{plural} instead of {wanted}")
        named = dict(zip(self.columns, fields, strict=False))
        time_ns = self._time_ns(named["time"])
        op = text_of(named["op"], "op")
        offset = whole(named["offset"], "offset")
        size = whole(named["size"], "size") if self.fixed_size is None else self.fixed_size
        names = [text_of(named[column], column) for column in self.volume_columns]
        return Row(time_ns, op, offset, size, "_".join(names) if names else "0")

    def _time_ns(self, field: bytes) -> int:
        """Return the time in whole ns, rounded down."""
        if not self.time_decimals:
            return whole(field, "time") * self.time_unit_ns
        return decimal_time_ns(field, self.time_unit_ns)


def _is_doubtful(block: bytes) -> bool:
    """Return whether the block holds what pyarrow reads in a way of its own.

    That is NULs, hexadecimal numbers, CRs alone, and a byte order mark, which it would pass over.
    """
    # Looking for one byte is quick; only where it is found, for what makes it odd.
    return (
        b"\0" in block
        or (b"x" in block and b"0x" in block)
        or (b"X" in block and b"0X" in block)
        or (b"\r" in block and block.count(b"\r") != block.count(b"\r\n"))
        or block.startswith(BYTE_ORDER_MARK)
    )


def _with_single_blanks(block: bytes) -> bytes:
    needless = (b"\t", b"  ", b"\n ", b" \n", b" \r")
    if not block.startswith(b" ") and not any(blanks in block for blanks in needless):
        return block
    block = re.sub(rb"[ \t]+", b" ", block)
    return re.sub(rb"(?m)^ | (?=\r?$)", b"", block)


def _dictionary(column: pa.ChunkedArray) -> Texts:
    """Return the different texts of a column and the index of each row's."""
    import pyarrow as pa

    column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # older versions of pyarrow; and a column of no rows
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column.dictionary.to_pylist(), column.indices.to_numpy().astype(np.int64)


def _scaled(column: pa.ChunkedArray) -> IntArray:
    """Return decimals as whole numbers of their last place.

    Raises:
        OverflowError: one does not fit 64 bits.
    """
    parts = [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        words = np.frombuffer(chunk.buffers()[1], np.int64).reshape(-1, 2)
        words = words[chunk.offset : chunk.offset + len(chunk)]
        if (words[:, 1] != words[:, 0] >> 63).any():
            raise OverflowError
        parts.append(words[:, 0])
    return np.concatenate(parts)
