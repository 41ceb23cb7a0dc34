"""The reader of all text formats: blocks of lines, split into columns by pyarrow, become records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.types import IntArray
from ssdgym.workloads.traces.files import line_blocks, without_marks
from ssdgym.workloads.traces.reading.columns import Columns, parse_columns
from ssdgym.workloads.traces.reading.fields import (
    BadLines,
    Problems,
    Texts,
    VolumeNumbers,
    joined,
    mask,
    texts,
    times,
    whole_numbers,
)
from ssdgym.workloads.traces.reading.lines import Lines, RecordMaker, one_volume
from ssdgym.workloads.traces.record import Records, Volumes
from ssdgym.workloads.traces.writing import Values, texts_of, values, volume_texts

if TYPE_CHECKING:
    import pyarrow as pa

#: What may stand between columns beside blanks, in the order in which a file's is looked for.
_SEPARATORS = (",", ";", "|", "\t")
BLANKS = " "


class Split(NamedTuple):
    """A block of lines split into columns.

    Attributes:
        number: line numbers of the rows, shape (rows,).
        columns: the texts of each column, each of shape (rows,).
        malformed: number and reason of lines that cannot be split.
        passed: how many lines are no requests, by what they are.
    """

    number: IntArray
    columns: list[pa.Array]
    malformed: list[tuple[int, str]]
    passed: Mapping[str, int] = {}


class Splitter(Protocol):
    """Splits the lines of one file."""

    def split(self, first_line: int, block: bytes) -> Split:
        """Split a block of whole lines, `first_line` the number of the first."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A text format with one request on a line; see `TraceFormat`.

    Lines of blanks and lines that begin with `#` are passed over, and headings: lines whose time, offset and
    size are words. Fields may be quoted and have blanks around them, lines end in a separator or in CRLF.

    Attributes:
        name: what the configuration calls it.
        text: the columns, as `ssdgym.workloads.traces.reading.columns` has them.
        separator: between columns: a character, or a blank for any number of blanks and tabs; None: whichever
            splits the first line into as many columns.
        header: the first line, if the format has one; it is recognised in any case.
        sniffed: what the first lines must hold to be recognised.
        decimals: of the times that are written.
        op_texts: how operations are written; none for a format that is only read.
        constants: what is written into the columns that are not read.
        numbered_volumes: volumes are written as numbers, not names.
    """

    name: str
    text: str
    separator: str | None = ","
    header: str | None = None
    sniffed: str | None = None
    decimals: int = 0
    op_texts: Mapping[int, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    numbered_volumes: bool = True

    is_binary = False

    @cached_property
    def columns(self) -> Columns:
        """What the columns mean."""
        return parse_columns(self.text)

    @property
    def unread(self) -> tuple[str, ...]:
        """See `TraceFormat`."""
        return self.columns.unread

    def matches(self, start: bytes) -> int:
        """See `TraceFormat`."""
        if self.sniffed and not re.search(self.sniffed.encode(), start):
            return 0
        block = start if start.endswith(b"\n") else start + b"\n"
        headings = 0
        if self.header is not None:
            first, _, block = block.lstrip(b" \t\r\n").partition(b"\n")
            headings = int(self._is_header(first))
            if not headings:
                return 0
        if not block.strip():
            return headings
        return headings + self._lines(self.splitter(block), 1, block, BadLines(Path(), 0)).good

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """See `TraceFormat`."""
        maker = RecordMaker(self.name, self.columns.offset_unit, self.columns.size_unit, bad, volumes)
        splitter = None
        for first_line, block in line_blocks(path):
            start = without_marks(block).lstrip(b" \t\r\n") if splitter is None else b""
            if start:
                first = first_line + block.count(b"\n") - start.count(b"\n")
                self._check_header(path, first, start.partition(b"\n")[0])
                splitter = self.splitter(start)
            if splitter is not None:
                yield from maker.records(self._lines(splitter, first_line, block, bad))

    def splitter(self, start: bytes) -> Splitter:
        """Return what splits the lines of a file that begins so."""
        return Separated(self, start)

    def _is_header(self, line: bytes) -> bool:
        return self.header is not None and _words(line.decode("utf-8", "replace")) == _words(self.header)

    def _check_header(self, path: Path, number: int, line: bytes) -> None:
        if self.header is not None and not self._is_header(line):
            raise SsdgymError(
                f"{path}: line {number} is not the header '{self.header}' of the format {self.name}; add it "
                "or name another format."
            )

    def _lines(self, splitter: Splitter, first_line: int, block: bytes, bad: BadLines) -> Lines:
        """Return the request lines of a block of whole lines, `first_line` the number of the first."""
        split = splitter.split(first_line, block)
        bad.passed.update(split.passed)
        problems: Problems = {}
        # Looking for one byte is quick.
        has_hex = (b"x" in block and b"0x" in block) or (b"X" in block and b"0X" in block)
        lines = self.converted(split, problems, has_hex)
        lines.problems, lines.malformed = problems, split.malformed
        headings = [row for row in problems if self._is_heading(split.columns, row)]
        if headings:
            bad.passed["heading"] += len(headings)
            for row in headings:
                del problems[row]
            return _without(lines, headings)
        return lines

    def converted(self, split: Split, problems: Problems, has_hex: bool) -> Lines:
        """Return the values of split lines, and note the problems of rows."""
        known, rows = self.columns, len(split.number)

        def numbers(name: str) -> IntArray:
            if name in known.fixed:
                return np.full(rows, known.fixed[name], np.int64)
            return whole_numbers(split.columns[known.column(name)], name, problems, has_hex)

        time, fraction = numbers("time") if "time" in known.fixed else None, None
        if time is None:
            column = split.columns[known.column("time")]
            time, fraction = times(column, known.time_unit_ns, problems, has_hex)
        if "op" in known.fixed:
            op_text: Texts = [""], np.zeros(rows, np.int64)
            op = np.full(rows, known.fixed["op"], np.uint8)
        else:
            op_text = texts(split.columns[known.column("op")], "op", problems)
            op = np.array([known.op_of(text.lower()) for text in op_text[0]], np.uint8)[op_text[1]]
        offset, size = numbers("offset"), numbers("size")
        names = [(number, known.names[number]) for number in known.volumes]
        return Lines(
            number=split.number,
            time=time,
            fraction_ns=fraction,
            unit_ns=known.time_unit_ns,
            op=op,
            op_text=op_text,
            offset=offset,
            size=size,
            volume=joined([texts(split.columns[number], name, problems) for number, name in names])
            if names
            else one_volume(rows),
        )

    def _is_heading(self, columns: list[pa.Array], row: int) -> bool:
        known = self.columns
        names = [name for name in ("time", "offset", "size") if name in known.names]
        fields = [columns[known.column(name)][row].as_py() for name in names]
        return all(map(_is_wordy, fields))

    # Writing

    @property
    def tick_ns(self) -> int:
        """See `WritableFormat`."""
        return self.columns.time_unit_ns // 10**self.decimals

    @property
    def offset_unit(self) -> int:
        """See `WritableFormat`."""
        return self.columns.offset_unit

    @property
    def size_unit(self) -> int:
        """See `WritableFormat`."""
        return self.columns.size_unit

    @property
    def ops(self) -> Collection[int]:
        """See `WritableFormat`."""
        return self.op_texts

    @property
    def has_volumes(self) -> bool:
        """See `WritableFormat`."""
        return bool(self.columns.volumes)

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """See `WritableFormat`."""
        import pyarrow as pa
        import pyarrow.csv

        names = self._written_volumes(volumes)
        if self.header is not None:
            file.write(self.header.encode() + b"\n")
        options = pa.csv.WriteOptions(include_header=False, delimiter=self.separator, quoting_style="none")
        for block in values(blocks, self):
            columns = self._written(block, names)
            table = pa.table({name: columns[name] for name in self.columns.names})
            pa.csv.write_csv(table, file, options)

    def _written(self, block: Values, names: list[tuple[str, ...]]) -> dict[str, Any]:
        time = _decimals(block.ticks, self.decimals) if self.decimals else block.ticks
        columns: dict[str, Any] = {"time": time, "offset": block.offset, "size": block.size}
        columns["op"] = texts_of(block.op, self.op_texts)
        for number, column in enumerate(self.columns.volumes):
            of_volume = np.array([parts[number] for parts in names], object)
            columns[self.columns.names[column]] = of_volume[block.volume]
        for column_name, text in self.constants.items():
            columns[column_name] = np.full(len(block.ticks), text, object)
        return columns

    def _written_volumes(self, volumes: Volumes) -> list[tuple[str, ...]]:
        """Return the volume columns of each volume."""
        named = volume_texts(volumes, self.separator or "", numbers=self.numbered_volumes)
        if len(self.columns.volumes) < 2:
            return [(text,) for text in named]
        split: list[tuple[str, ...]] = [_host_and_disk(text) for text in named]
        # Two names may become one; numbers never do.
        distinct = len(set(split)) == len(split)
        return split if distinct else [(str(number), "0") for number in range(len(named))]


class Separated:
    """Splits lines at separators."""

    def __init__(self, of: TextFormat, start: bytes) -> None:
        """Prepare to split a file that begins with the bytes `start`."""
        self._columns = of.columns
        self._count = len(of.columns.names)
        self._separator = of.separator or self._found(start.partition(b"\n")[0].decode("utf-8", "replace"))
        self._is_first = True

    def _found(self, line: str) -> str:
        for separator in _SEPARATORS:
            count = line.rstrip("\r \t").rstrip(separator).count(separator) + 1
            if count == self._count or (self._columns.has_more and 1 < self._count < count):
                return separator
        return BLANKS

    def split(self, first_line: int, block: bytes) -> Split:
        """Split a block of whole lines."""
        block = self._tidied(block)
        is_odd = b"\r" in block or b"#" in block or self._columns.has_more
        columns = None if is_odd else self._by_csv(block)
        if columns is None:
            return self._by_lines(first_line, block)
        self._is_first = False
        return Split(first_line + np.arange(block.count(b"\n")), columns, [])

    def _tidied(self, block: bytes) -> bytes:
        """Return the block without quotes, CRs and blanks that say nothing."""
        mark = self._separator.encode()
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        block = without_marks(block)
        if b'"' in block:
            # A separator within quotes separates nothing.
            block = re.sub(rb'"([^"\n]*)"', lambda found: found[1].replace(mark, b"_"), block)
        if self._separator == BLANKS:
            needless = (b"\t", b"  ", b"\n ", b" \n")
            if block.startswith(b" ") or any(blanks in block for blanks in needless):
                block = re.sub(rb"[ \t]+", b" ", block)
                block = re.sub(rb" ?\n ?", b"\n", block).lstrip(b" ")
        elif b" " in block or (b"\t" in block and mark != b"\t"):
            # A run of blanks is looked at from its beginning only, or a long one would take for ever.
            blank, edge = (b" " if mark == b"\t" else rb" \t"), re.escape(mark)
            found = rb"(?<![%b])[%b]+(?=[\n%b])|(?<=[\n%b])[%b]+" % (blank, blank, edge, edge, blank)
            block = re.sub(found, b"", block).lstrip(b" ")
        return block

    def _by_csv(self, block: bytes) -> list[pa.Array] | None:
        """Return the columns, or None if a line does not have as many."""
        import pyarrow as pa
        import pyarrow.csv

        names = [str(number) for number in range(self._count)]
        known = self._columns
        numbers = [str(known.column(name)) for name in ("time", "offset", "size") if name in known.names]
        words = [str(known.column("op"))] if "op" in known.names else []
        words += map(str, known.volumes)
        coded = pa.dictionary(pa.int32(), pa.string())
        types = dict.fromkeys(numbers, pa.string()) | dict.fromkeys(words, coded)
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(block),
                read_options=pa.csv.ReadOptions(
                    use_threads=False, column_names=names, block_size=len(block) + 1
                ),
                parse_options=pa.csv.ParseOptions(
                    delimiter=self._separator, quote_char=False, double_quote=False, ignore_empty_lines=True
                ),
                convert_options=pa.csv.ConvertOptions(
                    column_types=types,
                    include_columns=[*types],
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != block.count(b"\n"):
            return None
        nothing = pa.array([], pa.string())
        return [_whole(table[name]) if name in types else nothing for name in names]

    def _by_lines(self, first_line: int, block: bytes) -> Split:
        """Split each line by itself."""
        import pyarrow as pa
        import pyarrow.compute as pc

        all_lines = block.decode("utf-8", "replace").split("\n")[:-1]
        lines = pa.array(all_lines, pa.string())
        lists = pc.split_pattern(lines, self._separator)
        counts = pc.list_value_length(lists).to_numpy().astype(np.int64)
        fits = counts == self._count
        if self._columns.has_more:
            fits |= counts > self._count
        if self._separator != BLANKS:
            fits |= (counts == self._count + 1) & mask(pc.ends_with(lines, self._separator))
        is_comment = mask(pc.starts_with(lines, "#"))
        fits &= ~is_comment
        starts = np.cumsum(counts) - counts
        flat = lists.flatten()
        columns = [flat.take(pa.array(starts[fits] + column)) for column in range(self._count)]
        malformed = []
        passed = {"comment": int(is_comment.sum())} if is_comment.any() else {}
        for row in np.flatnonzero(~fits & ~is_comment & (mask(pc.not_equal(lines, "")))).tolist():
            line = all_lines[row]
            if self._is_first and self._separator == BLANKS and not fits[:row].any() and _is_wordy(line):
                passed["heading"] = 1
                self._is_first = False
                continue
            count = int(counts[row])
            reason = f"has {count} column{'' if count == 1 else 's'} instead of {self._count}"
            malformed.append((first_line + row, reason))
            self._is_first = False
        self._is_first &= not fits.any()
        return Split(first_line + np.flatnonzero(fits), columns, malformed, passed)


def _words(header: str) -> list[str]:
    """Return the words of a header in lower case, without quotes, blanks and a separator at the end."""
    return [word.strip(' \t"').lower() for word in header.rstrip(", \t\r").split(",")]


def _is_wordy(text: str) -> bool:
    """Return whether there are letters, and no digits."""
    return re.search("[A-Za-z]", text) is not None and re.search("[0-9]", text) is None


def _whole(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # older versions of pyarrow; and a column of no rows
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column


def _without(lines: Lines, rows: list[int]) -> Lines:
    """Return lines without some rows."""
    kept = np.ones(len(lines.number), bool)
    kept[rows] = False
    moved = np.cumsum(kept) - 1
    known: dict[str, Any] = {
        name: getattr(lines, name) for name in ("number", "time", "op", "offset", "size", "fraction_ns")
    }
    arrays: dict[str, Any] = {name: None if array is None else array[kept] for name, array in known.items()}
    return Lines(
        **arrays,
        op_text=(lines.op_text[0], lines.op_text[1][kept]),
        volume=(lines.volume[0], lines.volume[1][kept]),
        unit_ns=lines.unit_ns,
        problems={int(moved[row]): reason for row, reason in lines.problems.items()},
        malformed=lines.malformed,
    )


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
