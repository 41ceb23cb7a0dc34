"""The leaderboard that comes with the documentation: its numbers can be had again, and pictures show them."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import pytest

from ssdgym.experiments.leaderboard.board import read_board
from ssdgym.experiments.leaderboard.suites import load_suite
from tests.docs.pages import PINNED, ROOT
from tests.experiments.leaderboard.regenerated import regenerated

BOARDS = ROOT / "docs" / "leaderboard"
SHIPPED, OF_PAPERS = BOARDS / "leaderboard.json", BOARDS / "papers.json"


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize(("name", "board"), [("standings", SHIPPED), ("papers", OF_PAPERS)])
def test_picture__shows_the_shipped_leaderboard(
    name: str, board: Path, look: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "examples")
    drawn = import_module("standings").draw(read_board(board), look, tmp_path / "drawn.svg")
    shown = ROOT / "docs" / "pictures" / f"{name}-{look}.svg"
    assert drawn.read_bytes() == shown.read_bytes() or not PINNED, "draw it again: make figures"


@pytest.mark.parametrize(
    ("count", "members"),
    [pytest.param(1, 1, id="one"), pytest.param(3, None, id="members of three rows", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "suite", ["wa", "memory", "latency", "traces", "passes", "speedupgc", "ippbe", "subftl", "pen"]
)
def test_numbers__are_had_again_from_the_shipped_weights(suite: str, count: int, members: int | None) -> None:
    if suite in ("traces", "passes") and "SSDGYM_TRACES" not in os.environ:
        pytest.skip("SSDGYM_TRACES does not name a folder of traces")
    boards = (*read_board(SHIPPED).suites, *read_board(OF_PAPERS).suites)
    (board,) = (board for board in boards if board.suite == suite)
    for said, measured in regenerated(board, load_suite(suite), count=count, members=members):
        assert said == measured
