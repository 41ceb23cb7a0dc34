"""The reader of all text formats, which splits lines into columns and converts the columns to records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.types import IntArray
from ssdgym.workloads.traces.files import line_blocks, without_marks
from ssdgym.workloads.traces.reading.columns import Columns, begins_wordy, parse_columns
from ssdgym.workloads.traces.reading.fields import (
    BadLines,
    Problems,
    Texts,
    VolumeNumbers,
    joined,
    texts,
    times,
    whole_numbers,
)
from ssdgym.workloads.traces.reading.lines import Lines, RecordMaker, one_volume
from ssdgym.workloads.traces.reading.splitting import Separated, Split, Splitter
from ssdgym.workloads.traces.record import Records
from ssdgym.workloads.traces.registry import TraceFormat


@dataclass(frozen=True, kw_only=True)
class TextFormat(TraceFormat):
    """A text format with one request per line.

    Blank lines, lines that begin with `#`, and headings (lines with names in place of time, offset and size)
    are ignored. Fields may be quoted or have blanks around them; lines may end in a separator or in CRLF.

    Attributes:
        name: name of the format in configurations.
        text: the columns, in the language of `ssdgym.workloads.traces.reading.columns`.
        meaning: description of the files.
        separator: separator of columns: a character, or a blank for any number of blanks and tabs; None: the
            separator that splits the first line of a file into these columns.
        header: the required first line, in upper or lower case; None: the format has no header.
        sniffed: regular expression that the first bytes of a file must match for the format to be recognised.
        decimals: number of decimals of times in written files.
        op_texts: texts of operations in written files; empty if the format can only be read.
        constants: texts, in written files, of columns that records do not contain, by name.
        opening: lines at the start of written files, for each volume, with `{}` for the name of the volume.
        numbered_volumes: whether names of volumes must be numbers in written files.
        splits: function that returns the splitter of a file; None: separators split lines.
    """

    name: str
    text: str
    meaning: str = ""
    separator: str | None = ","
    header: str | None = None
    sniffed: str | None = None
    decimals: int = 0
    op_texts: Mapping[int, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    opening: tuple[str, ...] = ()
    numbered_volumes: bool = True
    splits: Callable[[], Splitter] | None = None

    @cached_property
    def columns(self) -> Columns:
        """The columns that `text` describes."""
        return parse_columns(self.text)

    @property
    def unread(self) -> tuple[str, ...]:
        """See `TraceFormat`."""
        return self.columns.unread

    @property
    def tick_ns(self) -> int:
        """Smallest time step of written files, in ns."""
        return self.columns.time_unit_ns // 10**self.decimals

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
                if self.header is not None and not self._is_header(start.partition(b"\n")[0]):
                    raise SsdgymError(
                        f"{path}: line {first} is not the header '{self.header}' of the format {self.name}; "
                        "add it or name another format."
                    )
                splitter = self.splitter(start)
            if splitter is not None:
                yield from maker.records(self._lines(splitter, first_line, block, bad))

    def splitter(self, start: bytes) -> Splitter:
        """Return the splitter for a file that begins with `start`."""
        return Separated(self.columns, self.separator, start) if self.splits is None else self.splits()

    def _is_header(self, line: bytes) -> bool:
        return self.header is not None and _words(line.decode("utf-8", "replace")) == _words(self.header)

    def _lines(self, splitter: Splitter, first_line: int, block: bytes, bad: BadLines) -> Lines:
        """Return the request lines of a block; `first_line` is the number of its first line."""
        split = splitter.split(first_line, block)
        bad.passed.update(split.passed)
        # Most blocks contain no x, and searching for a single byte is fast.
        has_hex = (b"x" in block and b"0x" in block) or (b"X" in block and b"0X" in block)
        lines = self._converted(split, has_hex)
        headings = [row for row in lines.problems if self._is_heading(split, row)]
        if headings:
            bad.passed["heading"] += len(headings)
            lines = self._converted(split.without(headings), has_hex)
        return lines

    def _converted(self, split: Split, has_hex: bool) -> Lines:
        """Convert the columns of split lines to values, and find rows that cannot be read."""
        known, rows = self.columns, len(split.number)
        problems: Problems = {}

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
            problems=problems,
            malformed=split.malformed,
        )

    def _is_heading(self, split: Split, row: int) -> bool:
        known = self.columns
        names = [name for name in ("time", "offset", "size") if name in known.names]
        return all(begins_wordy(split.columns[known.column(name)][row].as_py()) for name in names)


def _words(header: str) -> list[str]:
    """Return the comma-separated words of a header, in lower case and without quotes and blanks."""
    return [word.strip(' \t"').lower() for word in header.rstrip(", \t\r").split(",")]
