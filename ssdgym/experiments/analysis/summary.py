"""The numbers of a report: what was measured for every group of tasks and policy, as value and as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ssdgym.experiments.analysis.comparison import WRITE_AMPLIFICATION, summarize
from ssdgym.experiments.analysis.ftls import ftl_names, side_by_side
from ssdgym.experiments.analysis.tasks import TaskGroup, groups_of, measured, policies_of
from ssdgym.experiments.results import Result

ABSENT = "-"
#: Above this share of the relocated pages a policy is judged by its space more than by its choices.
MUCH_OVERFLOW = 0.01


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        heading: what is measured, with the unit.
        metrics: names of metrics, one number for each.
        text: turns a number into text.
        parts: what tells the metrics apart; a single empty one for a single metric.
        interval: whether the text has the interval, too.
        needs_some: whether a column of zeros says nothing and is left out.
    """

    heading: str
    metrics: tuple[str, ...]
    text: Callable[[float], str]
    parts: tuple[str, ...] = ("",)
    interval: bool = False
    needs_some: bool = False

    @property
    def title(self) -> str:
        """The heading with its parts, on one line."""
        interval = "[95 %]" if self.interval else ""
        return " ".join(filter(None, (self.heading, interval, " / ".join(self.parts))))


def _latency_column(operation: str) -> Column:
    parts = ("mean", "p99", "p99.9")
    metrics = tuple(f"{operation}_latency_ns/{part}" for part in parts)
    return Column(f"{operation} (µs)", metrics, lambda value_ns: f"{value_ns / 1_000:,.0f}", parts)


COLUMNS = (
    Column("WA", (WRITE_AMPLIFICATION,), "{:.3f}".format, interval=True),
    Column("request WAF", ("request_waf",), "{:.3f}".format),
    Column("RMW", ("rmw_share",), "{:.1%}".format, needs_some=True),
    Column("moved MiB", ("moved_bytes",), lambda moved: f"{moved / 2**20:,.1f}"),
    Column("overflow", ("overflow_share",), "{:.2%}".format, needs_some=True),
    Column("erases", ("erases",), "{:,.0f}".format),
    Column("IOPS", ("requests_per_s",), "{:,.0f}".format),
    _latency_column("read"),
    _latency_column("write"),
)


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes:
        text: a word, a number as text, or `ABSENT`.
        note: what stands behind it, such as an interval; empty without one.
        number: the number; `None` for a word and where nothing was measured.
    """

    text: str
    note: str = ""
    number: float | None = None


@dataclass(frozen=True)
class PolicyRow:
    """One policy, or one on one of several FTLs: for each of `COLUMNS`, an entry for each of its metrics."""

    policy: str
    entries: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Section:
    """The rows of one task, or of several tasks together, in rising order of write amplification.

    Attributes:
        group: the tasks.
        rows: one for each policy, or for each of several FTLs and policy.
        heading: of the column of their names.
        policy: of all rows, where they are named by their FTLs alone.
    """

    group: TaskGroup
    rows: tuple[PolicyRow, ...]
    heading: str
    policy: str = ""

    @property
    def headings(self) -> list[str]:
        """The headings of the columns that have something to show, that of the names first."""
        return [self.heading, *(COLUMNS[number].title for number in shown_columns(self.rows))]

    @property
    def texts(self) -> list[list[str]]:
        """For each row, the text of every column."""
        return [[" / ".join(parts) for parts in row] for row in self.parts]

    @property
    def parts(self) -> list[list[list[str]]]:
        """For each row and column, the texts of its metrics."""
        shown = shown_columns(self.rows)
        return [
            [[row.policy], *(_texts(COLUMNS[number], row.entries[number]) for number in shown)]
            for row in self.rows
        ]

    @property
    def title(self) -> str:
        """The name of the tasks, and of the policy if all rows have the same."""
        return ", ".join(filter(None, (self.group.title, self.policy)))

    @property
    def caption(self) -> str:
        """Sentences on what the numbers are, and of how many seeds."""
        what = describe(len(self.group.seeds), len(self.group.tasks), "in brackets")
        wrote = [result for result in self.group.results if result.metrics.get("host_pages_written")]
        if not all(result.measured(WRITE_AMPLIFICATION) for result in wrote):
            what += " WA has a dash where an FTL counts whole pages of which the host writes parts."
        return what


def shown_columns(rows: Sequence[PolicyRow]) -> list[int]:
    """Return the numbers of the columns of which some row has something to show."""
    return [
        number
        for number, column in enumerate(COLUMNS)
        if any(
            entry.number or (entry.number is not None and not column.needs_some)
            for row in rows
            for entry in row.entries[number]
        )
    ]


def describe(seeds: int, tasks: int, where: str) -> str:
    """Return a sentence on what the numbers of so many seeds and tasks are.

    Args:
        seeds: how many runs per task.
        tasks: how many tasks, each counting the same.
        where: the place of the intervals, such as `in brackets`.
    """
    if seeds < 2:
        what = "The value of one seed, which has no interval"
        return f"{what}, mean over {tasks} tasks." if tasks > 1 else f"{what}."
    # Of fewer than four numbers the interquartile mean leaves none out.
    what = f"{'interquartile mean' if seeds >= 4 else 'mean'} over {seeds} seeds"
    what = f"Mean over {tasks} tasks of the {what}" if tasks > 1 else what[0].upper() + what[1:]
    return f"{what}; {where} the 95 % interval of a bootstrap stratified by task."


def sections(results: Sequence[Result]) -> list[Section]:
    """Return one section per task, and one each over the held-out and over all tasks if there are several.

    Every number is the interquartile mean over seeds, over several tasks the mean of theirs; its interval
    is a bootstrap stratified by task. Of several FTLs each has rows of its own, and none is averaged with
    another one.
    """
    policies = policies_of(results)
    heading, policy = "policy", ""
    if any(ftl_names(results)):
        heading, policy = ("FTL", policies[0]) if len(policies) == 1 else ("FTL, policy", "")
    shown, _ = side_by_side(results)
    return [_section(group, heading, policy) for group in groups_of(shown) if group.results]


def overflow_notes(results: Sequence[Result]) -> list[str]:
    """Return a sentence for every policy of which so many pages overflowed that it is judged by its space.

    Args:
        results: of any runs.
    """
    worst: dict[str, float] = {}
    for result in results:
        share = result.metrics.get("overflow_share") or 0.0
        worst[result.policy] = max(worst.get(result.policy, 0.0), share)
    return [
        f"{policy}: up to {share:.1%} of the relocated pages went to another stream than their own, since "
        "free blocks were short: the comparison is about space; raise gc.free_blocks or over_provisioning."
        for policy, share in worst.items()
        if share > MUCH_OVERFLOW
    ]


def _section(group: TaskGroup, heading: str, policy: str) -> Section:
    rows = [_row(group.results, row) for row in policies_of(group.results)]
    return Section(group, tuple(sorted(rows, key=_rank)), heading, policy)


def _rank(row: PolicyRow) -> float:
    """Return the write amplification; without one, as of runs that wrote nothing, the row comes last."""
    number = row.entries[0][0].number
    return math.inf if number is None else number


def _row(results: Sequence[Result], policy: str) -> PolicyRow:
    own = [result for result in results if result.policy == policy]
    return PolicyRow(
        policy,
        tuple(tuple(_entry(own, policy, metric, column) for metric in column.metrics) for column in COLUMNS),
    )


def _entry(results: Sequence[Result], policy: str, metric: str, column: Column) -> Entry:
    if not measured(results, metric):
        return Entry(ABSENT)
    estimate = summarize(results, policy, metric)
    has_interval = not math.isnan(estimate.low)
    interval = f"[{column.text(estimate.low)}, {column.text(estimate.high)}]" if has_interval else ""
    return Entry(column.text(estimate.value), interval, estimate.value)


def _texts(column: Column, entries: Sequence[Entry]) -> list[str]:
    return [
        f"{entry.text} {entry.note}" if column.interval and entry.note else entry.text for entry in entries
    ]
