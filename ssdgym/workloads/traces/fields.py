"""Fields of a trace's lines: numbers, volumes, and lines that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.record import MOST_VOLUMES

_WHOLE = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,15})?")
_LONGEST_WHOLE = len(str(2**63))
_EXACT = Context(prec=100, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


class Malformed(Exception):
    """The reason why a line cannot be read; caught within the formats."""


def content(line: bytes) -> bytes:
    """Return a line without its ending, one CR of which may be left, and without blanks around it."""
    return line.removesuffix(b"\r").strip(b" \t")


def text_of(field: bytes, name: str) -> str:
    """Return a field that is read as text."""
    try:
        text = field.decode()
    except UnicodeDecodeError:
        raise Malformed(f"has {shown(field)} as its {name}, which is not UTF-8 text") from None
    if not is_proper(text):
        raise Malformed(f"has {shown(field)} as its {name}, which is empty or cannot be printed")
    return text


def is_proper(text: str) -> bool:
    """Return whether the text can be a name."""
    return text != "" and text.isprintable()


def _matched(field: bytes, name: str, pattern: re.Pattern[str], what: str) -> str:
    text = field.decode("ascii", "replace")
    if not pattern.fullmatch(text):
        raise Malformed(f"has {shown(field)} as its {name}, which is not {what}")
    return text


def whole(field: bytes, name: str) -> int:
    """Return a field that is a whole number of 64 bits."""
    text = _matched(field, name, _WHOLE, "a whole number")
    digits = text.lstrip("-").lstrip("0") or "0"
    number = (-1 if text[0] == "-" else 1) * int(digits) if len(digits) <= _LONGEST_WHOLE else 2**63
    if not -(2**63) <= number < 2**63:
        raise Malformed(f"has {shown(field)} as its {name}, which is beyond 64 bits")
    return number


def decimal(field: bytes, name: str) -> Decimal:
    """Return a field that is a decimal number of less than 2**63."""
    number = Decimal(_matched(field, name, _DECIMAL, "a number"))
    if number.copy_abs() >= 2**63:  # unlike abs, for any exponent
        raise Malformed(f"has {shown(field)} as its {name}, which is beyond 64 bits")
    return number


def decimal_time_ns(field: bytes, unit_ns: int) -> int:
    """Return a decimal time in whole nanoseconds, rounded down."""
    value = _EXACT.multiply(decimal(field, "time"), Decimal(unit_ns))
    return int(value.to_integral_value(context=_EXACT))


def shown(field: bytes) -> str:
    """Return how an error quotes a field that may be long or binary."""
    return repr(field.decode("ascii", "backslashreplace")[:40])


class BadLines:
    """Count of the bad lines of a file, with an error when there are too many.

    Attributes:
        count: bad lines left out so far.
        unit: what they are called: line, or record in a binary file.
    """

    def __init__(self, path: Path, allowed: int, unit: str = "line") -> None:
        self._path = path
        self.count = 0
        self._allowed = allowed
        self.unit = unit

    def add(self, line: int, reason: str) -> None:
        """Leave a bad line out."""
        self.count += 1
        if self.count > self._allowed:
            remedy = (
                f"that is more than the {self._allowed} bad lines that skip_bad allows"
                if self._allowed
                else "correct it, or set skip_bad to leave out bad lines"
            )
            raise SsdgymError(f"{self._path}: {self.unit} {line} {reason}; {remedy}.")


class VolumeNumbers:
    """Numbers of the volumes of a file, in the order in which they first appear."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers: dict[str, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The volumes so far, by number."""
        return tuple(self._numbers)

    def of(self, names: Sequence[str]) -> npt.NDArray[np.uint16]:
        """Return the number of each name, shape (len(names),); new names take the next numbers."""
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        if len(self._numbers) > MOST_VOLUMES:
            raise SsdgymError(f"{self._path}: the trace has more than {MOST_VOLUMES} volumes; split it.")
        return np.array(numbers, np.uint16)
