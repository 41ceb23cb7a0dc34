"""Results as a table, for the terminal and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ssdgym.experiments.comparison import (
    WRITE_AMPLIFICATION,
    advantage,
    best_heuristic,
    groups_of,
    policies_of,
    score_matrix,
    verdict,
)
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Scores, mean_over_tasks, stratified_bootstrap

ABSENT = "-"


@dataclass(frozen=True)
class Column:
    """One column: its heading, the metrics it shows, and how their scores (runs x tasks) become text."""

    heading: str
    metrics: tuple[str, ...]
    text: Callable[[Scores], str]


def _with_interval(scores: Scores) -> str:
    estimate = stratified_bootstrap(scores, mean_over_tasks)
    if math.isnan(estimate.low):
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _count(scores: Scores) -> str:
    return f"{mean_over_tasks(scores):,.0f}"


def _microseconds(scores: Scores) -> str:
    return f"{mean_over_tasks(scores) / 1_000:,.0f}"


def _latencies(operation: str) -> tuple[str, ...]:
    return tuple(f"{operation}_latency_ns/{name}" for name in ("mean", "p99", "p99.9"))


COLUMNS = (
    Column("WA [95 %]", (WRITE_AMPLIFICATION,), _with_interval),
    Column("relocated pages", ("relocated_pages",), _count),
    Column("erases", ("erases",), _count),
    Column("read (µs) mean / p99 / p99.9", _latencies("read"), _microseconds),
    Column("write (µs) mean / p99 / p99.9", _latencies("write"), _microseconds),
)


@dataclass(frozen=True)
class Section:
    """The rows of one task, or of all tasks together: a title, and (policy, cells) in rising order of WA."""

    title: str
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def sections(results: Sequence[Result]) -> list[Section]:
    """One section per task, and one each over the held-out and over all tasks where there are several.

    Every number is the interquartile mean over seeds, over several tasks the mean of theirs; its interval
    is a bootstrap stratified by task.
    """
    return [_section(title, group) for title, group in groups_of(results)]


def _section(title: str, results: Sequence[Result]) -> Section:
    amplification = {
        policy: mean_over_tasks(score_matrix(results, policy, WRITE_AMPLIFICATION))
        for policy in policies_of(results)
    }
    ranked = sorted(amplification, key=amplification.__getitem__)
    return Section(title, tuple((policy, _cells(results, policy)) for policy in ranked))


def _cells(results: Sequence[Result], policy: str) -> tuple[str, ...]:
    mine = [result for result in results if result.policy == policy]
    return tuple(
        " / ".join(_cell(mine, policy, metric, column.text) for metric in column.metrics)
        for column in COLUMNS
    )


def _cell(results: Sequence[Result], policy: str, metric: str, text: Callable[[Scores], str]) -> str:
    if not all(result.measured(metric) for result in results):
        return ABSENT
    return text(score_matrix(results, policy, metric))


def rich_tables(results: Sequence[Result], learned: Sequence[str] = ()) -> Group:
    """Tables for the terminal, one per section; the rows of ``learned`` policies stand out in bold."""
    return Group(*(_rich_table(section, learned) for section in sections(results)))


def _rich_table(section: Section, learned: Sequence[str]) -> Table:
    table = Table(
        title=section.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    table.add_column("policy", no_wrap=True)
    for column in COLUMNS:
        # Headings break in two lines; the cells set the width, and fold only on a narrow terminal.
        heading = Text(column.heading.replace(" mean", "\nmean").replace("d pages", "d\npages"))
        table.add_column(heading, justify="right", overflow="fold")
    for policy, cells in section.rows:
        table.add_row(policy, *cells, style="bold" if policy in learned else "")
    return table


def markdown_table(results: Sequence[Result]) -> str:
    """The same table as Markdown, one heading and one table per section."""
    heading = _markdown_row(["policy", *(column.heading for column in COLUMNS)])
    rule = _markdown_row(["---", *("---:" for _ in COLUMNS)])
    blocks = []
    for section in sections(results):
        rows = [_markdown_row([policy, *cells]) for policy, cells in section.rows]
        blocks.append("\n".join([f"### {section.title}", "", heading, rule, *rows]))
    return "\n\n".join(blocks) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def verdicts(results: Sequence[Result], learned: Sequence[str]) -> list[str]:
    """For every learned policy and group of tasks, one sentence against the best heuristic there."""
    sentences = []
    for title, group in groups_of(results):
        best = best_heuristic(group, learned)
        if best is not None:
            sentences += [f"{title}: {verdict(advantage(group, ours, best))}" for ours in learned]
    return sentences
