"""Split the lines of a text format into columns."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ssdgym.types import IntArray
from ssdgym.workloads.traces.files import BYTE_ORDER_MARK, without_marks
from ssdgym.workloads.traces.reading.columns import Columns, is_wordy, written_lines
from ssdgym.workloads.traces.reading.fields import mask

if TYPE_CHECKING:
    import pyarrow as pa

#: Separators that are tried in this order if a format names none; if none fits, blanks separate columns.
_SEPARATORS = (",", ";", "|", "\t")
BLANKS = " "


class Split(NamedTuple):
    """A block of lines that is split into columns.

    Attributes:
        number: line numbers of the rows, shape (rows,).
        columns: the texts of each column, shape (rows,); shape (0,) for a column that is not needed.
        malformed: numbers of the lines that cannot be split, each with the reason.
        passed: number of ignored lines by kind.
    """

    number: IntArray
    columns: list[pa.Array]
    malformed: list[tuple[int, str]]
    passed: Mapping[str, int] = {}

    def without(self, rows: list[int]) -> Split:
        """Return the block without the given rows."""
        import pyarrow as pa

        kept = np.ones(len(self.number), bool)
        kept[rows] = False
        columns = [column.filter(pa.array(kept)) if len(column) else column for column in self.columns]
        return self._replace(number=self.number[kept], columns=columns)


class Splitter(ABC):
    """Splits the lines of one file. Blank lines are ignored.

    Lines that match `usual` are split all at once by pyarrow, other lines one by one by `row`.

    Attributes:
        columns: number of columns of a line.
        blanks: characters that are removed at both ends of a line.
        usual: regular expression of usual lines, with a group for each column; None: there are none. A line
            that matches a further group, `passed`, is ignored.
        passed: kind of these ignored lines, with {} for the text of the group `passed`.
    """

    columns: int
    blanks = " \t"
    usual: str | None = None
    passed = "{}"

    def found(self, lines: pa.Array) -> pa.StructArray | None:
        """Return the groups of `usual` for each line (null: no match), or None to split lines one by one."""
        import pyarrow.compute as pc

        return None if self.usual is None else pc.extract_regex(lines, self.usual)

    @abstractmethod
    def row(self, line: str) -> Sequence[str] | str:
        """Return the texts of the columns of a line, or, if the line is ignored, its kind as a text.

        Raises:
            ValueError: the line is bad. The message is a predicate, such as "has 2 columns instead of 5".
        """

    def split(self, first_line: int, block: bytes) -> Split:
        """Split a block of whole lines; `first_line` is the number of its first line."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = without_marks(block.replace(b"\r\n", b"\n")).decode("utf-8", "replace")
        lines = pc.split_pattern(pa.array([text]), "\n").flatten()[:-1]
        found = self.found(lines)
        is_usual = np.zeros(len(lines), bool) if found is None else mask(pc.is_valid(found))
        unusual = np.flatnonzero(~is_usual)
        numbers, rows, malformed = [], [], []
        passed: Counter[str] = Counter()
        for number, line in zip(unusual.tolist(), lines.take(pa.array(unusual)).to_pylist(), strict=True):
            if not (line := line.strip(self.blanks)):
                continue
            try:
                row = self.row(line)
            except ValueError as error:
                malformed.append((first_line + number, str(error)))
                continue
            if isinstance(row, str):
                passed[row] += 1
            else:
                numbers.append(number)
                rows.append(row)
        columns = [
            pa.array(column, pa.string()) for column in [*zip(*rows, strict=True)] or [()] * self.columns
        ]
        places = np.array(numbers, np.int64)
        if found is not None:
            found, own = found.filter(pa.array(is_usual)), np.flatnonzero(is_usual)
            if found.type.num_fields > self.columns:
                for one in pc.value_counts(found.field("passed")).to_pylist():
                    passed[self.passed.format(one["values"])] += one["counts"] if one["values"] else 0
                is_request = pc.equal(found.field("passed"), "")
                found, own = found.filter(is_request), own[mask(is_request)]
            places = np.append(own, places)
            order = np.argsort(places)
            columns = [
                pa.concat_arrays([found.field(k), column]).take(pa.array(order))
                for k, column in enumerate(columns)
            ]
            places = places[order]
        return Split(first_line + places, columns, malformed, +passed)


class Separated(Splitter):
    """Splits lines at separators: a block without quotes, comments, blanks and so on in a single step."""

    def __init__(self, known: Columns, separator: str | None, start: bytes) -> None:
        """Prepare to split a file.

        Args:
            known: columns of the file.
            separator: separator of columns; None: the separator that splits the first line into `known`.
            start: the first bytes of the file, with at least one whole line.
        """
        self.columns = len(known.names)
        self._known = known
        self._separator = separator or self._found(next(written_lines(start), ""))
        self.blanks = " " if self._separator == "\t" else " \t"
        self._is_first = True
        mark = self._separator.encode()
        self._unusual = [b"\r", b"#", b'"', BYTE_ORDER_MARK]
        self._unusual += [b"\t", b"  ", b"\n ", b" \n"] if mark == b" " else [b" ", b"\t"]
        if mark == b"\t":
            self._unusual.pop()

    def _found(self, line: str) -> str:
        counts = {mark: line.rstrip("\r \t").rstrip(mark).count(mark) + 1 for mark in _SEPARATORS}
        for separator, count in counts.items():
            if count == self.columns or (self._known.has_more and 1 < self.columns < count):
                return separator
        # If no separator fits, the most frequent one is used, so that the error names its number of columns.
        return (
            max(counts, key=counts.__getitem__) if len(line.split()) == 1 < max(counts.values()) else BLANKS
        )

    def split(self, first_line: int, block: bytes) -> Split:
        """See `Splitter`."""
        plain = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        is_unusual = plain[:1] == b" " or any(mark in plain for mark in self._unusual)
        columns = None if is_unusual else self._at_once(plain)
        if columns is None:
            return super().split(first_line, block)
        self._is_first = False
        return Split(first_line + np.arange(plain.count(b"\n")), columns, [])

    def _at_once(self, block: bytes) -> list[pa.Array] | None:
        """Return the columns of a block; None if a line is empty or has a wrong number of columns."""
        import pyarrow as pa
        import pyarrow.csv

        names = [str(number) for number in range(self.columns)]
        known = self._known
        numbers = [str(known.column(name)) for name in ("time", "offset", "size") if name in known.names]
        words = [str(known.column("op"))] if "op" in known.names else []
        words += map(str, known.volumes)
        coded = pa.dictionary(pa.int32(), pa.string())
        types = dict.fromkeys(numbers, pa.string()) | dict.fromkeys(words, coded)
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(block),
                pa.csv.ReadOptions(use_threads=False, column_names=names, block_size=len(block) + 1),
                pa.csv.ParseOptions(delimiter=self._separator, quote_char=False, double_quote=False),
                pa.csv.ConvertOptions(column_types=types, include_columns=[*types], null_values=[]),
            )
        except pa.ArrowInvalid:
            return None
        # pyarrow leaves out empty lines.
        if table.num_rows != block.count(b"\n"):
            return None
        columns = dict.fromkeys(names, pa.array([], pa.string()))
        for name in types:
            chunks = table[name].chunks
            columns[name] = chunks[0] if len(chunks) == 1 else table[name].combine_chunks()
        return [*columns.values()]

    def row(self, line: str) -> Sequence[str] | str:
        """See `Splitter`."""
        if line.startswith("#"):
            return "comment"
        separator = self._separator
        if '"' in line:
            # Separators within quotes do not separate columns.
            line = re.sub('"([^"]*)"', lambda found: found[1].replace(separator, "_"), line)
            line = line.strip(self.blanks)
        if separator == BLANKS:
            fields = re.split("[ \t]+", line)
        else:
            fields = [field.strip(self.blanks) for field in line.split(separator)]
        count, is_first = len(fields), self._is_first
        self._is_first = False
        ends_so = separator != BLANKS and count == self.columns + 1 and line.endswith(separator)
        if count == self.columns or ends_so or (self._known.has_more and count > self.columns):
            return fields[: self.columns]
        if is_first and separator == BLANKS and is_wordy(line):
            return "heading"
        raise ValueError(f"has {count} column{'' if count == 1 else 's'} instead of {self.columns}")
