"""Text formats of delimited columns, with a header or without one, parsed in blocks by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ssdgym.types import IntArray
from ssdgym.workloads.traces.fields import Malformed, decimal_time_ns, is_proper, text_of, whole
from ssdgym.workloads.traces.files import BYTE_ORDER_MARK, count_lines
from ssdgym.workloads.traces.lines import LineFormat, Lines, Row, Texts, one_volume
from ssdgym.workloads.traces.record import Records, Volumes
from ssdgym.workloads.traces.writing import Values, texts_of, values, volume_texts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class DelimitedFormat(LineFormat):
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
        op_texts: how operations are written; none for a format that is only read.
        constants: what is written into the columns that are not read.
        numbered_volumes: volumes have numbers, not names.
    """

    name: str
    columns: tuple[str, ...]
    op_of: Callable[[str], int]
    time_unit_ns: int
    time_decimals: int = 0
    offset_unit: int = 1
    size_unit: int = 1
    volume_columns: tuple[str, ...] = ()
    fixed_size: int | None = None
    separator: str = ","
    header: bytes | None = None
    has_more: bool = False
    sniffed: Callable[[bytes], bool] = lambda start: True
    op_texts: Mapping[int, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    numbered_volumes: bool = True

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
        return super().matches(start) if self.sniffed(start) else 0

    def lines_of(self, first_line: int, block: bytes) -> Lines:
        """See `LineFormat`; blocks that pyarrow may read in a way of its own are parsed line by line."""
        import pyarrow as pa

        # On decimals with an exponent far below zero pyarrow reads beyond its tables, and the process dies.
        is_dangerous = self.time_decimals and (b"e-" in block or b"E-" in block)
        if not is_dangerous and not _is_doubtful(block):
            try:
                table = self._table(block)
                if table.num_rows == count_lines(block) and self._names_are_proper(table):
                    return self._of_table(table, first_line)
            except (pa.ArrowInvalid, OverflowError):
                pass
        return self.one_by_one(enumerate(block.split(b"\n")[:-1], first_line))

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
        return Lines(
            number=first_line + np.arange(len(offset)),
            time=_scaled(table["time"]) if self.time_decimals else table["time"].to_numpy(),
            tick_ns=self.tick_ns,
            op=self.ops_named(op_text),
            op_text=op_text,
            offset=offset,
            size=size,
            volume=self._volumes(table),
            malformed=[],
        )

    def _volumes(self, table: pa.Table) -> Texts:
        import pyarrow as pa

        if not self.volume_columns:
            return one_volume(table.num_rows)
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

    def row(self, line: bytes) -> Row:
        """See `LineFormat`."""
        if self.separator == " ":
            fields = [field for field in line.replace(b"\t", b" ").split(b" ") if field]
        else:
            fields = [field.strip(b" \t") for field in line.split(self.separator.encode())]
        wanted = len(self.columns)
        if len(fields) != wanted and not (self.has_more and len(fields) > wanted):
            plural = "" if len(fields) == 1 else "s"
            raise Malformed(f"has {len(fields)} column{plural} instead of {wanted}")
        named = dict(zip(self.columns, fields, strict=False))
        time = named["time"]
        names = [named[column] for column in self.volume_columns]
        return Row(
            decimal_time_ns(time, self.time_unit_ns) if self.time_decimals else whole(time, "time"),
            text_of(named["op"], "op"),
            whole(named["offset"], "offset"),
            whole(named["size"], "size") if self.fixed_size is None else self.fixed_size,
            "_".join(map(text_of, names, self.volume_columns)) or "0",
        )

    def op(self, text: str) -> int:
        """See `LineFormat`."""
        return self.op_of(text.lower())

    @property
    def ops(self) -> Collection[int]:
        """See `WritableFormat`."""
        return self.op_texts

    @property
    def has_volumes(self) -> bool:
        """See `WritableFormat`."""
        return bool(self.volume_columns)

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """See `WritableFormat`."""
        import pyarrow as pa
        import pyarrow.csv

        names = self._written_volumes(volumes)
        if self.header is not None:
            file.write(self.header + b"\n")
        options = pa.csv.WriteOptions(include_header=False, delimiter=self.separator, quoting_style="none")
        for block in values(blocks, self):
            columns = self._written(block, names)
            table = pa.table({name: columns[name] for name in self.columns})
            pa.csv.write_csv(table, file, options)

    def _written(self, block: Values, names: list[tuple[str, ...]]) -> dict[str, Any]:
        time = _decimals(block.ticks, self.time_decimals) if self.time_decimals else block.ticks
        columns: dict[str, Any] = {"time": time, "offset": block.offset, "size": block.size}
        columns["op"] = texts_of(block.op, self.op_texts)
        for number, column in enumerate(self.volume_columns):
            columns[column] = np.array([parts[number] for parts in names], object)[block.volume]
        for column, text in self.constants.items():
            columns[column] = np.full(len(block.ticks), text, object)
        return columns

    def _written_volumes(self, volumes: Volumes) -> list[tuple[str, ...]]:
        """Return the volume columns of each volume."""
        texts = volume_texts(volumes, self.separator, numbers=self.numbered_volumes)
        if len(self.volume_columns) < 2:
            return [(text,) for text in texts]
        split: list[tuple[str, ...]] = [_host_and_disk(text) for text in texts]
        # Two names may become one; numbers never do.
        distinct = len(set(split)) == len(split)
        return split if distinct else [(str(number), "0") for number in range(len(texts))]


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


def _host_and_disk(name: str) -> tuple[str, str]:
    host, _, disk = name.rpartition("_")
    return (host, disk) if host and disk.isdigit() else (name, "0")


def _decimals(ticks: IntArray, places: int) -> pa.Array:
    """Return the text of whole numbers whose last `places` digits are behind the point.

    The decimals of pyarrow would be written with an exponent, as in 0E-9, where they are small.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, fraction = np.divmod(np.abs(ticks), 10**places)
    sign = pa.array(np.where(ticks < 0, "-", ""))
    digits = pc.utf8_lpad(pc.cast(pa.array(fraction), pa.string()), places, "0")
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise(sign, pc.cast(pa.array(whole), pa.string()), ""), digits, "."
    )
