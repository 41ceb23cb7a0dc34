"""Logs whose lines have many shapes: parse the usual ones by regular expressions over all lines at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ssdgym.types import IntArray
from ssdgym.workloads.traces.parsing.fields import Malformed
from ssdgym.workloads.traces.parsing.lines import BadLine, Lines, Row, WholeArray

if TYPE_CHECKING:
    import pyarrow as pa

#: A blank, and digits of a number that surely fits 64 bits, in such expressions.
BLANK = r"[ \t]+"
DIGITS = r"[0-9]{1,18}"


@dataclass(frozen=True)
class Rows:
    """The rows of a block in order of lines, arrays of shape (rows,).

    Attributes:
        number: line numbers.
        time, offset, size: as in `Row`.
        action, volume: the different texts, and the index of each row's; the action is what becomes an op.
        malformed: lines of no known shape.
    """

    number: IntArray
    time: WholeArray
    action: tuple[list[str], IntArray]
    offset: IntArray
    size: IntArray
    volume: tuple[list[str], IntArray]
    malformed: list[BadLine]

    def lines(self, tick_ns: int, op: npt.NDArray[np.uint8]) -> Lines:
        """Return the rows as request lines.

        Args:
            tick_ns: length of a tick of their times.
            op: what the action of each means, shape (rows,).
        """
        return Lines(
            self.number,
            self.time,
            tick_ns,
            op,
            self.action,
            self.offset,
            self.size,
            self.volume,
            self.malformed,
        )


def read_rows(
    first_line: int, block: bytes, usual: str, passed: str, by_hand: Callable[[bytes], Row | None]
) -> Rows:
    """Return the rows of whole lines, the first of which has number `first_line`.

    Args:
        first_line: its number.
        block: the lines.
        usual: matches most lines that are rows, with the groups time, action, offset, size, volume; without a
            group, it is 0 or empty. A group fraction holds nine more digits of the time.
        passed: matches most lines that are none and may be passed over.
        by_hand: reads any other line; returns None for one that may be passed over, raises Malformed.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    lines = pa.array(block.split(b"\n")[:-1], pa.binary())
    groups = pc.extract_regex(lines, usual)
    has_nul = _mask(pc.match_substring(lines, "\0")) if b"\0" in block else np.zeros(len(lines), bool)
    is_usual = _mask(pc.is_valid(groups)) & ~has_nul
    rest = np.flatnonzero(~is_usual & (has_nul | ~_mask(pc.match_substring_regex(lines, passed))))
    rows, numbers, malformed = _rest(lines, rest, by_hand)
    found = _usual(groups, is_usual)
    order = np.argsort(np.concatenate([np.flatnonzero(is_usual), numbers]), kind="stable")
    others = _columns(rows)
    time = np.concatenate([found[0], others[0]])[order]
    offset, size = (np.concatenate(pair)[order] for pair in ((found[1], others[1]), (found[2], others[2])))
    action, volume = (_joined(*pair, order) for pair in zip(found[3:], others[3:], strict=True))
    number = np.concatenate([np.flatnonzero(is_usual), numbers])[order] + first_line
    return Rows(
        number, time, action, offset, size, volume, [(first_line + row, text) for row, text in malformed]
    )


_Texts = tuple[list[str], IntArray]
_Columns = tuple[WholeArray, IntArray, IntArray, _Texts, _Texts]


def _usual(groups: pa.StructArray, is_usual: np.ndarray) -> _Columns:
    import pyarrow as pa
    import pyarrow.compute as pc

    groups = groups.filter(pa.array(is_usual))
    names = [field.name for field in groups.type]

    def whole(name: str) -> IntArray:
        if name not in names:
            return np.zeros(len(groups), np.int64)
        return pc.cast(pc.cast(groups.field(name), pa.string()), pa.int64()).to_numpy()

    def texts(name: str) -> _Texts:
        if name not in names:
            return [""], np.zeros(len(groups), np.int64)
        coded = groups.field(name).dictionary_encode()
        known = [text.decode() for text in coded.dictionary.to_pylist()]
        return known, coded.indices.to_numpy().astype(np.int64)

    time = whole("time") * 10**9 + whole("fraction") if "fraction" in names else whole("time")
    return time, whole("offset"), whole("size"), texts("action"), texts("volume")


def _rest(
    lines: pa.Array, rest: IntArray, by_hand: Callable[[bytes], Row | None]
) -> tuple[list[Row], IntArray, list[BadLine]]:
    rows: list[Row] = []
    numbers: list[int] = []
    malformed: list[BadLine] = []
    for number, line in zip(rest.tolist(), _bytes(lines, rest), strict=True):
        line = line.removesuffix(b"\r")
        if not line.strip(b" \t"):
            continue
        try:
            if b"\0" in line:
                raise Malformed("holds a NUL")
            row = by_hand(line)
        except Malformed as reason:
            malformed.append((number, str(reason)))
            continue
        if row is not None:
            rows.append(row)
            numbers.append(number)
    return rows, np.array(numbers, np.int64), malformed


def _bytes(lines: pa.Array, rows: IntArray) -> Iterator[bytes]:
    import pyarrow as pa

    yield from lines.take(pa.array(rows)).to_pylist()


def _columns(rows: list[Row]) -> _Columns:
    times, actions, offsets, sizes, volumes = zip(*rows, strict=True) if rows else ((),) * 5
    time = np.array(times, object) if rows else np.zeros(0, np.int64)
    return (
        time,
        np.array(offsets, np.int64),
        np.array(sizes, np.int64),
        (list(actions), np.arange(len(rows))),
        (list(volumes), np.arange(len(rows))),
    )


def _joined(left: _Texts, right: _Texts, order: IntArray) -> _Texts:
    index = np.concatenate([left[1], right[1] + len(left[0])])
    return [*left[0], *right[0]], index[order]


def _mask(values: pa.Array) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False).astype(bool)
