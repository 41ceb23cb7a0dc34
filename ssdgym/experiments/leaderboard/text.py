"""The leaderboard as text and as files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Group as Renderables

from ssdgym.experiments.leaderboard.board import LEARNED, Leaderboard, SuiteBoard, write_board
from ssdgym.experiments.leaderboard.tables import (
    LOSSES_TITLE,
    counted,
    losses_sentence,
    losses_table,
    standings_table,
    summary_table,
    tables_of,
)
from ssdgym.experiments.report.tables import Entry, Table, render
from ssdgym.files import write_between, write_bytes

#: Around the summary in a page.
BEGIN, END = "<!-- leaderboard -->", "<!-- /leaderboard -->"
#: Columns that a terminal has no room for.
_NOT_ON_TERMINAL = ("multiply-adds", "bytes", "better [95 %]")
#: Those of which a terminal has no notes.
_SHORT_ON_TERMINAL = ("× best rival [95 %]", "WA × best pair [95 %]", "CPU ×")
#: Losses on a terminal.
_MOST_LOSSES = 12


def rich_board(board: SuiteBoard) -> Renderables:
    """Return the losses and the standings of a suite for the terminal."""
    learned = {row.name for row in board.rows if row.kind in LEARNED}
    standings = _without_notes(standings_table(board, _NOT_ON_TERMINAL), _SHORT_ON_TERMINAL)
    if not board.losses:
        return Renderables(f"{LOSSES_TITLE}: {losses_sentence(board)}", standings.to_rich(learned))
    losses, rest = losses_table(board), len(board.losses) - _MOST_LOSSES
    if rest > 0:
        caption = f"{losses.caption} {rest} more are in the files."
        losses = replace(losses, rows=losses.rows[:_MOST_LOSSES], caption=caption)
    return Renderables(losses.to_rich(learned), standings.to_rich(learned))


def _without_notes(table: Table, headings: Collection[str]) -> Table:
    """Return a table whose entries have no notes in some columns."""
    short = [heading in headings for heading in table.headings]
    return replace(
        table,
        headings=tuple(
            heading.removesuffix(" [95 %]") if cut else heading
            for heading, cut in zip(table.headings, short, strict=True)
        ),
        rows=tuple(
            tuple(replace(entry, note="") if cut else entry for entry, cut in zip(row, short, strict=True))
            for row in table.rows
        ),
    )


def markdown_board(board: Leaderboard) -> str:
    """Return all tables as Markdown, each with a heading and a caption."""
    return "\n".join(_markdown_lines(board))


def _markdown_lines(board: Leaderboard) -> Iterator[str]:
    yield "# Leaderboard"
    yield ""
    yield f"ssdgym {board.version}, engine {board.engine_hash}."
    for suite in board.suites:
        yield ""
        yield f"## {suite.suite}: {suite.description}"
        yield ""
        yield facts(suite)
        if not suite.losses:
            yield from ("", f"### {LOSSES_TITLE}", "", losses_sentence(suite))
        for table in tables_of(suite):
            yield from ("", f"### {table.title}", "", table.caption, "")
            yield from table.to_markdown()
    yield ""


def facts(board: SuiteBoard) -> str:
    """Return a sentence on what was run."""
    seeds = f"{counted(len(board.seeds), 'seed')} from {board.seeds[0]}"
    return (
        f"{counted(len(board.tasks), 'task')} of the split {' and '.join(board.splits)}, {seeds}, "
        f"{board.host_pages:,} host pages after {board.warmup:,} of warm-up."
    )


def summary(board: Leaderboard) -> str:
    """Return what was run and lost in sentences, and one short table for all suites, as Markdown."""
    table = summary_table(board.suites)
    in_code = ((row[0], Entry(f"`{row[1].text}`"), *row[2:]) for row in table.rows)
    return "\n".join(
        [
            *(f"* `{suite.suite}`: {facts(suite)} {losses_sentence(suite)}" for suite in board.suites),
            "",
            *replace(table, rows=tuple(in_code)).to_markdown(),
            "",
        ]
    )


def write_summary(page: Path, board: Leaderboard) -> Path:
    """Replace what a Markdown page has between the marks of a leaderboard by the summary."""
    return write_between(page, BEGIN, END, summary(board))


TEMPLATE = "leaderboard.html.j2"


def write_leaderboard(board: Leaderboard, folder: Path) -> list[Path]:
    """Write `leaderboard.md`, `leaderboard.html` and `leaderboard.json`."""
    markdown, page = folder / "leaderboard.md", folder / "leaderboard.html"
    write_bytes(markdown, markdown_board(board).encode())
    write_bytes(page, html_board(board).encode())
    return [markdown, page, write_board(board, folder / "leaderboard.json")]


def html_board(board: Leaderboard) -> str:
    """Return the leaderboard as an HTML page."""
    return render(
        TEMPLATE,
        {
            "facts": [("ssdgym", board.version), ("engine hash", board.engine_hash)],
            "suites": [_suite(suite) for suite in board.suites],
        },
    )


def _suite(board: SuiteBoard) -> dict[str, Any]:
    return {
        "title": f"{board.suite}: {board.description}",
        "facts": facts(board),
        "no_losses": () if board.losses else (LOSSES_TITLE, losses_sentence(board)),
        "tables": tables_of(board),
        "learned": [row.name for row in board.rows if row.kind in LEARNED],
    }
