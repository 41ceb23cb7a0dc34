"""The sortable tables of the HTML report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ssdgym.experiments.analysis.comparison import Advantage, advantage, policies_of, task_title
from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.analysis.summary import ABSENT, COLUMNS, Row, Section, sections
from ssdgym.experiments.report.files import best_policy, makes_improvement, whole
from ssdgym.experiments.results import Result


@dataclass(frozen=True)
class HtmlCell:
    """A cell: its text, what stands smaller behind it, and the number it is sorted by, if it is one."""

    text: str
    note: str = ""
    number: float | None = None


@dataclass(frozen=True)
class HtmlTable:
    """A sortable table: a caption, headings, and rows whose first cell names the row."""

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[HtmlCell, ...], ...]


def html_tables(results: Sequence[Result], reference: str | None) -> Iterator[HtmlTable]:
    """Over several tasks together, each task by itself, and everybody against one."""
    found = sections(results)
    for section in found:
        if len(section.group.tasks) > 1:
            rows = tuple((HtmlCell(row.policy), *_number_cells(row)) for row in section.rows)
            yield _without_gaps(_sentence(section.title), section.caption, ("policy", *_headings()), rows)
    single = [section for section in found if len(section.group.tasks) == 1]
    if single:
        yield _task_table(single)
    group = whole(results)
    if makes_improvement(group):
        against = reference or best_policy(group)
        yield _advantage_table(
            [
                advantage(group.results, against, policy)
                for policy in policies_of(group.results)
                if policy != against
            ],
            f"{group.title}, {len(group.seeds)} seeds",
        )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _headings() -> Iterator[str]:
    for column in COLUMNS:
        for part in column.parts:
            yield f"{column.heading.replace(' (', f' {part} (') if part else column.heading}"


def _number_cells(row: Row) -> Iterator[HtmlCell]:
    for cells in row.cells:
        for cell in cells:
            yield HtmlCell(cell.text, cell.interval, cell.estimate.value if cell.estimate else None)


def _task_table(found: Sequence[Section]) -> HtmlTable:
    """One row per task and policy; the device and the FTL have columns only where there are several."""
    tasks = [section.group.tasks[0] for section in found]
    shown = [part for part in (2, 0, 1) if part == 2 or len({task[part] for task in tasks}) > 1]
    names = {2: "workload", 0: "device", 1: "FTL options"}
    rows = [
        (
            HtmlCell(row.policy),
            *(HtmlCell(task[part]) for part in shown),
            HtmlCell(str(len(section.group.seeds)), number=len(section.group.seeds)),
            *_number_cells(row),
        )
        for section, task in zip(found, tasks, strict=True)
        for row in section.rows
    ]
    headings = ("policy", *(names[part] for part in shown), "seeds", *_headings())
    title = "Each task" if len(found) > 1 else _sentence(task_title(tasks[0]))
    return _without_gaps(title, found[0].caption, headings, rows)


def _without_gaps(
    title: str, caption: str, headings: Sequence[str], rows: Sequence[tuple[HtmlCell, ...]]
) -> HtmlTable:
    """The table without columns of which nothing was measured anywhere."""
    shown = [i for i in range(len(headings)) if any(row[i].text != ABSENT for row in rows)]
    return HtmlTable(
        title,
        caption,
        tuple(headings[i] for i in shown),
        tuple(tuple(row[i] for i in shown) for row in rows),
    )


def _advantage_table(found: Sequence[Advantage], what: str) -> HtmlTable:
    ours = found[0].ours
    rows = tuple(
        (
            HtmlCell(one.theirs),
            _share_cell(one.difference, signed=True),
            _share_cell(one.improvement, signed=False),
            HtmlCell("better" if one.beats else "worse" if one.loses else "undecided"),
        )
        for one in found
    )
    headings = (
        "policy",
        f"WA of {ours} relative to it",
        f"a run of {ours} is better",
        f"{ours} is, on average",
    )
    caption = (
        f"{what}. Differences are paired by task and seed, geometric means over the tasks; probabilities are "
        "means over the tasks; in brackets 95 % intervals. Better and worse are said only where the interval "
        "of the difference excludes zero."
    )
    return HtmlTable(f"{ours} against the others", _sentence(caption), headings, rows)


def _share_cell(found: Estimate, *, signed: bool) -> HtmlCell:
    form = "{:+.1%}" if signed else "{:.0%}"
    low, high = form.format(found.low), form.format(found.high)
    return HtmlCell(form.format(found.value), f"[{low}, {high}]", found.value)
