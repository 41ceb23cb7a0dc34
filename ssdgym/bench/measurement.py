"""A measured value, and the table of measured values that pages of the documentation hold."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssdgym.engine.core.kernel import entry
from ssdgym.files import write_between
from ssdgym.requests import Requests


class Spread(NamedTuple):
    """Median, smallest and largest of some repeats."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return that of some values."""
        return cls(statistics.median(values), min(values), max(values))


def in_turns(own: Callable[[], float], other: Callable[[], float], repeats: int) -> tuple[Spread, Spread]:
    """Measure two rates in turns; return that of the first, and its ratios to the second."""
    pairs = [(own(), other()) for _ in range(repeats)]
    return Spread.of([ours for ours, _ in pairs]), Spread.of([ours / theirs for ours, theirs in pairs])


# A kernel that does nothing but the memory touches of a host write.
#
# It reads a request, reads and writes the record of its logical page, and writes that of a physical page.

LOGICAL_PAGES = 59_813


def touching_memory(requests: Requests) -> Callable[[], int]:
    """Return what touches memory once for each request, and returns how many there are."""
    logical = np.zeros(LOGICAL_PAGES, np.dtype([("ppn", "i4"), ("version", "i4")]))
    physical = np.zeros(64_000, np.dtype([("lpn", "i4"), ("version", "i4")]))
    return lambda: _touch_memory(logical, physical, requests)


@entry
def _touch_memory(logical, physical, requests):  # type: ignore[no-untyped-def]
    """Touch the memory of one host write per request, without any decision."""
    ppn = 0
    for k in range(requests.shape[0]):
        lpn = requests[k].lpn
        record = logical[lpn]
        physical[record.ppn].lpn = -1
        record.ppn = ppn
        record.version += 1
        physical[ppn].lpn = lpn
        physical[ppn].version = record.version
        ppn += 1
        if ppn == physical.shape[0]:
            ppn = 0
    return requests.shape[0]


#: Around the table in a page.
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
HEADINGS = ("measurement", "median", "lowest to highest", "share of yardstick")


@dataclass(frozen=True)
class Measurement:
    """One measured value.

    Attributes:
        value: the median over the repeats.
        low: the smallest of them.
        high: the largest.
        unit: of `value`; per second, or seconds.
        expected: what ssdgym is built to reach on two cores of a server, in the same unit; `None`: no
            promise.
        yardstick: the rate of the memory touches alone, or of what `name` says, measured in between the
            repeats; `None` for times.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    expected: float | None
    yardstick: float | None = None

    @property
    def ratio(self) -> float | None:
        """The rate as a share of the yardstick's."""
        return None if self.yardstick is None else self.value / self.yardstick

    @property
    def reached(self) -> bool | None:
        """At least the expected rate, or at most the expected time."""
        if self.expected is None:
            return None
        return self.value <= self.expected if self.unit == "s" else self.value >= self.expected

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return vars(self) | {"ratio": self.ratio, "reached": self.reached}

    def texts(self) -> tuple[str, str, str, str]:
        """Return what stands in a row of the table of a page."""
        digits = 2 if self.unit == "s" else 3
        scale, unit = (1e6, f"M {self.unit}") if self.value >= 1e6 else (1.0, self.unit)
        value, low, high = (_rounded(number / scale, digits) for number in (self.value, self.low, self.high))
        return (
            self.name,
            f"{value} {unit}",
            f"{low} to {high}",
            _rounded(self.ratio, 2) if self.ratio else "-",
        )


def _rounded(number: float, digits: int) -> str:
    """Return a number with so many significant digits, and without an exponent."""
    decimals = digits - 1 - floor(log10(number)) if number else 0
    return f"{round(number, decimals):,.{max(decimals, 0)}f}"


def write_table(page: Path, found: Sequence[Measurement]) -> Path:
    """Replace what a Markdown page has between `BEGIN` and `END` by the table of measurements."""
    rows = (HEADINGS, ("---", *("---:" for _ in HEADINGS[1:])), *(item.texts() for item in found))
    return write_between(page, BEGIN, END, "".join(f"| {' | '.join(row)} |\n" for row in rows))
