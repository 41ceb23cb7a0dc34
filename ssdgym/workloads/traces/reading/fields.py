"""Convert texts of a trace's lines to numbers, names and volumes; count lines that cannot be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.types import IntArray
from ssdgym.workloads.traces.record import MOST_VOLUMES

if TYPE_CHECKING:
    import pyarrow as pa

_DECIMAL = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?0*[0-9]{1,15})?")
_EXACT = Context(prec=100, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)

#: For each row that cannot be read, the first reason: a predicate such as "has '-' as its size, ...".
Problems = dict[int, str]
#: The different texts of a column, and for each row the index of its text, shape (rows,).
Texts = tuple[list[str], IntArray]


def whole_numbers(column: pa.Array, name: str, problems: Problems, has_hex: bool = False) -> IntArray:
    """Return the whole numbers of 64 bits in a column, shape (rows,); 0 for a row without a whole number.

    Args:
        column: the texts.
        name: name of the column.
        problems: mapping to which a reason is added for each row without a whole number.
        has_hex: whether texts may be hexadecimal, such as 0x10; they are problems, but pyarrow converts them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not has_hex:
        try:
            return pc.cast(column, pa.int64()).to_numpy()
        except pa.ArrowInvalid:
            pass
    values = np.zeros(len(column), np.int64)
    for row, text in enumerate(column.to_pylist()):
        try:
            values[row] = whole_number(text, name)
        except ValueError as error:
            problems.setdefault(row, str(error))
    return values


def whole_number(text: str, name: str) -> int:
    """Return the whole number of 64 bits that a text contains.

    Raises:
        ValueError: the text is no such number. The message is a predicate with `name`, the column's name.
    """
    if not re.fullmatch("-?[0-9]+", text):
        raise ValueError(f"has {shown(text)} as its {name}, which is not a whole decimal number")
    # Only the first digits are converted, as Python refuses to convert thousands.
    digits = text.lstrip("-").lstrip("0") or "0"
    number = int(digits[:20]) * (-1 if text.startswith("-") else 1)
    if len(digits) > 19 or not -(2**63) <= number < 2**63:
        raise ValueError(f"has {shown(text)} as its {name}, which is beyond 64 bits")
    return number


def times(
    column: pa.Array, unit_ns: int, problems: Problems, has_hex: bool = False
) -> tuple[IntArray, IntArray]:
    """Return times as whole units of `unit_ns` and remaining nanoseconds, rounded down, each (rows,).

    Times in nanoseconds must be whole numbers; times in other units may have decimals. The other arguments
    are those of `whole_numbers`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    none = np.zeros(len(column), np.int64)
    if unit_ns == 1:
        return whole_numbers(column, "time", problems, has_hex), none
    if not has_hex:
        try:
            return pc.cast(column, pa.int64()).to_numpy(), none
        except pa.ArrowInvalid:
            pass
    column = pc.utf8_rtrim(column, ":")  # ftrace and perf print a colon after the time
    places = len(str(unit_ns)) - 1
    parts = pc.extract_regex(column, r"^(?P<whole>[0-9]{1,18})(?:\.(?P<fraction>[0-9]*))?$")
    usual = mask(pc.is_valid(parts)) if 10**places == unit_ns else np.zeros(len(column), bool)
    kept = parts.filter(pa.array(usual))
    whole, fraction = np.zeros(len(column), np.int64), np.zeros(len(column), np.int64)
    whole[usual] = pc.cast(kept.field("whole"), pa.int64()).to_numpy()
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(kept.field("fraction"), 0, places), places, "0")
    fraction[usual] = pc.cast(digits, pa.int64()).to_numpy()
    for row in np.flatnonzero(~usual).tolist():
        text = column[row].as_py()
        if not _DECIMAL.fullmatch(text):
            problems.setdefault(row, f"has {shown(text)} as its time, which is not a number")
        elif not -(2**63) <= Decimal(text) < 2**63:
            problems.setdefault(row, f"has {shown(text)} as its time, which is beyond 64 bits")
        else:
            exact = _EXACT.multiply(Decimal(text), Decimal(unit_ns))
            whole[row], fraction[row] = divmod(int(exact.to_integral_value(context=_EXACT)), unit_ns)
    return whole, fraction


def texts(column: pa.Array, name: str, problems: Problems) -> Texts:
    """Return the texts of a column called `name`; unprintable and empty texts are added to `problems`."""
    coded = column.dictionary_encode()  # the column may be encoded already
    known, index = coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)
    for number, text in enumerate(known):
        if "\ufffd" in text:
            reason = f"has {shown(text)} as its {name}, which is not UTF-8 text"
        elif not text or not text.isprintable():
            reason = f"has {shown(text)} as its {name}, which is empty or cannot be printed"
        else:
            continue
        for row in np.flatnonzero(index == number).tolist():
            problems.setdefault(row, reason)
    return known, index


def joined(columns: Sequence[Texts]) -> Texts:
    """Return the texts of several columns, joined by `_` in each row, as the texts of one column."""
    names, index = columns[0]
    for more, its_index in columns[1:]:
        pairs, index = _distinct(index * len(more) + its_index, len(names) * len(more))
        names = [f"{names[pair // len(more)]}_{more[pair % len(more)]}" for pair in pairs.tolist()]
    return names, index


def _distinct(values: IntArray, below: int) -> tuple[IntArray, IntArray]:
    """Return the different values in rising order, and for each value its index; values are 0..below-1."""
    if below > len(values) + 1024:
        different, index = np.unique(values, return_inverse=True)
        return different, index
    different = np.flatnonzero(np.bincount(values, minlength=below))
    table = np.zeros(below, np.int64)
    table[different] = np.arange(len(different))
    return different, table[values]


def mask(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Convert booleans of pyarrow to a NumPy array."""
    return values.to_numpy(zero_copy_only=False).astype(bool)


def shown(text: str) -> str:
    """Return the text of a field for an error, in quotes, cut off after 40 characters and in ASCII."""
    return ascii(text.replace("\ufffd", "?")[:40])


class BadLines:
    """Counts the lines of a file that are no requests, and raises once more than `allowed` lines are bad.

    Attributes:
        count: number of bad lines left out so far.
        unit: word for a line in errors: line, or record for a binary file.
        passed: number of ignored lines by kind, such as `heading`.
        first_ns: time of the first request as in the file, in ns; None before it is read.
    """

    def __init__(self, path: Path, allowed: int) -> None:
        self._path = path
        self.count = 0
        self._allowed = allowed
        self.unit = "line"
        self.passed: Counter[str] = Counter()
        self.first_ns: int | None = None

    def add(self, line: int, reason: str) -> None:
        """Count a bad line; raise an error with `reason`, a predicate, if more are bad than allowed."""
        self.count += 1
        if self.count > self._allowed:
            remedy = (
                f"that is more than the {self._allowed} bad lines that skip_bad allows"
                if self._allowed
                else "correct it, or set skip_bad (--set skip_bad=1) to leave out bad lines"
            )
            raise SsdgymError(f"{self._path}: {self.unit} {line} {reason}; {remedy}.")


class VolumeNumbers:
    """Numbers the volumes of a file in the order in which they first appear."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers: dict[str, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the volumes so far; the position of a name is the volume's number."""
        return tuple(self._numbers)

    def of(self, names: Sequence[str]) -> npt.NDArray[np.uint16]:
        """Return the number of each name, shape (len(names),); new names get the next numbers."""
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        if len(self._numbers) > MOST_VOLUMES:
            raise SsdgymError(f"{self._path}: the trace has more than {MOST_VOLUMES} volumes; split it.")
        return np.array(numbers, np.uint16)
