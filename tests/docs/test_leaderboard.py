"""The leaderboard that comes with the documentation: its numbers can be had again, and pages show them."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from ssdgym.experiments.leaderboard.board import read_board
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.leaderboard.text import BEGIN, END, summary
from tests.docs.pages import PAGES, PINNED, ROOT
from tests.experiments.leaderboard.regenerated import regenerated

BOARDS = ROOT / "docs" / "leaderboard"
SHIPPED, OF_PAPERS = BOARDS / "leaderboard.json", BOARDS / "papers.json"
SHOWING = [page for page in PAGES if f"\n{BEGIN}\n" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.name)
def test_page__shows_the_summary_of_the_shipped_leaderboard(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    board = read_board(OF_PAPERS if page.stem == "papers_learned" else SHIPPED)
    assert shown == f"\n\n{summary(board)}\n"


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


def submissions() -> list[tuple[Path, dict[str, Any]]]:
    files = sorted((ROOT / "docs" / "leaderboard" / "submissions").glob("*.yaml"))
    return [(file, yaml.safe_load(file.read_text(encoding="utf-8"))) for file in files]


SCHEMA = json.loads((ROOT / "docs" / "leaderboard" / "submission.schema.json").read_text(encoding="utf-8"))


def test_submissions__have_the_form_of_the_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    (_, sent), *_ = submissions()
    jsonschema.validate(sent, SCHEMA)
    both, neither = {**sent, "agent": "mine.zip"}, {k: v for k, v in sent.items() if k != "policy"}
    for wrong in (both, neither, {**sent, "who": ""}, {**sent, "when": "today"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_submissions__those_in_the_folder_are_in_the_table_with_their_numbers() -> None:
    page = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    table = page[page.index("| suite | policy or agent |") :].splitlines()
    rows = [row for row in table[2:] if row.startswith("|")]
    assert len(rows) == len(submissions()) > 0
    for file, sent in submissions():
        jsonschema.validate(sent, SCHEMA)
        (board,) = (
            one for one in read_board(file.parent / sent["board"]).suites if one.suite == sent["suite"]
        )
        label, baseline = sent["policy"], load_suite(sent["suite"]).baseline
        ratios = np.log([np.divide(task.values[label], task.values[baseline]) for task in board.tasks])
        numbers = np.exp([ratios.mean(), ratios.mean(axis=1).max()])
        cells = [sent["suite"], label, *(f"{number:.3f}" for number in numbers), sent["who"], sent["code"]]
        assert f"| {' | '.join(cells)} | {board.version} |" in rows
