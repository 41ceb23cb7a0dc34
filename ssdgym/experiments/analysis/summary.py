"""The numbers of a report: what was measured for every group of tasks and policy, as value and as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ssdgym.experiments.analysis.comparison import (
    WRITE_AMPLIFICATION,
    Group,
    groups_of,
    measured,
    policies_of,
    score_matrix,
)
from ssdgym.experiments.analysis.statistics import Estimate, mean_over_tasks, stratified_bootstrap
from ssdgym.experiments.results import Result

ABSENT = "-"


@dataclass(frozen=True)
class Column:
    """One column: its heading with the unit, what it shows of it, and how numbers become text.

    Attributes:
        heading: what is measured.
        metrics: one number for each of them.
        parts: what tells them apart; a single empty one for a single metric.
        text: of a number.
        interval: whether the text has the interval, too.
    """

    heading: str
    metrics: tuple[str, ...]
    parts: tuple[str, ...]
    text: Callable[[float], str]
    interval: bool = False

    @property
    def title(self) -> str:
        """The heading with its parts, on one line."""
        interval = "[95 %]" if self.interval else ""
        return " ".join(filter(None, (self.heading, interval, " / ".join(self.parts))))


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _microseconds(value_ns: float) -> str:
    return f"{value_ns / 1_000:,.0f}"


def _latency_column(operation: str) -> Column:
    parts = ("mean", "p99", "p99.9")
    metrics = tuple(f"{operation}_latency_ns/{part}" for part in parts)
    return Column(f"{operation} (µs)", metrics, parts, _microseconds)


COLUMNS = (
    Column("WA", (WRITE_AMPLIFICATION,), ("",), _ratio, interval=True),
    Column("relocated pages", ("relocated_pages",), ("",), _count),
    Column("erases", ("erases",), ("",), _count),
    _latency_column("read"),
    _latency_column("write"),
)


@dataclass(frozen=True)
class Cell:
    """One number of a row, or its absence.

    Attributes:
        estimate: what was measured; ``None`` where it was not.
        text: the value.
        interval: the interval, empty without one.
    """

    estimate: Estimate | None
    text: str
    interval: str


@dataclass(frozen=True)
class Row:
    """One policy: for each column, a cell for each of its metrics."""

    policy: str
    cells: tuple[tuple[Cell, ...], ...]

    def texts(self) -> list[str]:
        """The text of every column."""
        return [_column_text(column, cells) for column, cells in zip(COLUMNS, self.cells, strict=True)]


@dataclass(frozen=True)
class Section:
    """The rows of one task, or of several tasks together, in rising order of write amplification."""

    group: Group
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """What the tasks are."""
        return self.group.title

    @property
    def caption(self) -> str:
        """What the numbers are, and of how many seeds."""
        return describe(len(self.group.seeds), len(self.group.tasks), "in brackets")


def describe(seeds: int, tasks: int, where: str) -> str:
    """What the numbers of so many seeds and tasks are, and ``where`` their intervals stand: a sentence."""
    if seeds < 2:
        what = "The value of one seed, which has no interval"
        return f"{what}, mean over {tasks} tasks." if tasks > 1 else f"{what}."
    # Of fewer than four numbers the interquartile mean leaves none out.
    what = f"{'interquartile mean' if seeds >= 4 else 'mean'} over {seeds} seeds"
    what = f"Mean over {tasks} tasks of the {what}" if tasks > 1 else what[0].upper() + what[1:]
    return f"{what}; {where} the 95 % interval of a bootstrap stratified by task."


def sections(results: Sequence[Result]) -> list[Section]:
    """One section per task, and one each over the held-out and over all tasks where there are several.

    Every number is the interquartile mean over seeds, over several tasks the mean of theirs; its interval
    is a bootstrap stratified by task.
    """
    return [_section(group) for group in groups_of(results) if group.results]


def _section(group: Group) -> Section:
    rows = [_row(group.results, policy) for policy in policies_of(group.results)]
    return Section(group, tuple(sorted(rows, key=_write_amplification)))


def _write_amplification(row: Row) -> float:
    """What rows are ranked by; runs that wrote nothing have none and come last, in the order they are in."""
    estimate = row.cells[0][0].estimate
    return math.inf if estimate is None else estimate.value


def _row(results: Sequence[Result], policy: str) -> Row:
    mine = [result for result in results if result.policy == policy]
    return Row(
        policy,
        tuple(tuple(_cell(mine, policy, metric, column) for metric in column.metrics) for column in COLUMNS),
    )


def _cell(results: Sequence[Result], policy: str, metric: str, column: Column) -> Cell:
    if not measured(results, metric):
        return Cell(None, ABSENT, "")
    found = stratified_bootstrap(score_matrix(results, policy, metric), mean_over_tasks)
    interval = "" if math.isnan(found.low) else f"[{column.text(found.low)}, {column.text(found.high)}]"
    return Cell(found, column.text(found.value), interval)


def _column_text(column: Column, cells: Sequence[Cell]) -> str:
    return " / ".join(
        f"{cell.text} {cell.interval}" if column.interval and cell.interval else cell.text for cell in cells
    )
