"""Write a leaderboard: JSON, Markdown, and one HTML file that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ssdgym.experiments.leaderboard.board import Leaderboard, SuiteBoard, write_board
from ssdgym.experiments.leaderboard.tables import LOSSES_TITLE, losses_sentence, tables_of
from ssdgym.experiments.leaderboard.text import facts, markdown_board
from ssdgym.experiments.report.pages import render
from ssdgym.files import write_bytes

TEMPLATE = "leaderboard.html.j2"


def write_leaderboard(board: Leaderboard, folder: Path) -> list[Path]:
    """Write `leaderboard.md`, `leaderboard.html` and `leaderboard.json`.

    Args:
        board: what to write.
        folder: an existing one.

    Returns:
        The paths.

    Raises:
        SsdgymError: a file cannot be written.
    """
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
        "learned": [row.name for row in board.rows if row.kind == "learned"],
    }
