"""The leaderboard that comes with the documentation: its numbers can be had again, and pages show them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ssdgym.config.loading import load_config
from ssdgym.experiments.leaderboard import submission
from ssdgym.experiments.leaderboard.board import read_board
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.leaderboard.text import BEGIN, END, summary
from tests.docs.pages import PAGES, ROOT
from tests.experiments.leaderboard.regenerated import regenerated

SHIPPED = sorted((ROOT / "docs" / "leaderboard").glob("*.json"))
SHOWING = [page for page in PAGES if f"\n{BEGIN}\n" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.name)
def test_page__shows_the_summary_of_the_shipped_leaderboard(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    assert shown == f"\n\n{summary(read_board(SHIPPED[0]))}\n"


@pytest.mark.parametrize(
    ("count", "members"),
    [pytest.param(1, 1, id="one"), pytest.param(3, None, id="members of three rows", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("suite", ["wa", "memory", "latency", "traces", "passes"])
def test_numbers__are_had_again_from_the_shipped_weights(suite: str, count: int, members: int | None) -> None:
    if suite in ("traces", "passes") and "SSDGYM_TRACES" not in os.environ:
        pytest.skip("SSDGYM_TRACES does not name a folder of traces")
    (board,) = (board for board in read_board(SHIPPED[0]).suites if board.suite == suite)
    for said, measured in regenerated(board, load_suite(suite), count=count, members=members):
        assert said == measured


def test_submissions__those_in_the_folder_are_in_the_table() -> None:
    page = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    rows = page[page.index(submission.BEGIN) : page.index(submission.END)].strip().splitlines()[4:]
    files = (ROOT / "docs" / "leaderboard" / "submissions").glob("*.yaml")
    sent = [load_config(submission.SubmissionConfig, path, "submissions") for path in files]
    assert len(rows) == len(sent) > 0
    for one in sent:
        assert any(f"| {one.suite} | {one.decider} |" in row and one.who in row for row in rows)
