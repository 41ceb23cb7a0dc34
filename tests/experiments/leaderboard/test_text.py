"""Leaderboards as text and files: losses come first, and what is read is what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.board import Leaderboard, read_board
from ssdgym.experiments.leaderboard.text import (
    losses_of,
    markdown_board,
    standings_table,
    summary,
    write_leaderboard,
)
from tests.experiments.leaderboard.made import made_board, made_leaderboard, row

BOARD = made_leaderboard()


def markdown(board: Leaderboard) -> str:
    return "\n".join(markdown_board(board))


def test_losses__come_first() -> None:
    text = markdown(BOARD)
    assert text.index("Where learned policies lose") < text.index("made: standings")
    assert "best fixed pair, midas, on how many of the 2 tasks: cost_benefit+dac on 0, ours on 1." in text
    assert "+36.8%" in text and "4 of 4" in text


def test_losses__without_any__a_sentence_says_so() -> None:
    suite = made_board()
    rows = tuple(row for row in suite.rows if row.name != "ours")
    board = BOARD.model_copy(update={"suites": (suite.model_copy(update={"rows": rows}),)})
    assert "cost_benefit+dac on 0." in markdown(board)
    fixed = tuple(row for row in suite.rows if row.kind != "learned")
    board = BOARD.model_copy(update={"suites": (suite.model_copy(update={"rows": fixed}),)})
    assert "No policy of this suite has learned." in markdown(board)


def test_losses__every_task_where_a_learned_policy_is_worse__the_worst_first() -> None:
    ((ratio, name, task, worse, runs),) = losses_of(BOARD.suites[0])
    assert (name, task.workload, worse, runs) == ("ours", "hot90", 4, 4)
    assert ratio == pytest.approx((1.9 * 2.1 * 2.4 * 2.4) ** 0.25 / 1.6)
    assert row(BOARD.suites[0], "ours").worst == pytest.approx(ratio, rel=1e-15)


def test_standings__on_a_terminal__learned_ones_are_bold() -> None:
    table = standings_table(BOARD.suites[0]).to_rich(["ours"])
    names = [entry.text for entry, *_ in standings_table(BOARD.suites[0]).rows]
    assert [name for name, line in zip(names, table.rows, strict=True) if line.style == "bold"] == ["ours"]


def test_markdown__has_every_entry_and_every_task() -> None:
    text = markdown(BOARD)
    for one in BOARD.suites[0].rows:
        assert f"| {one.name} |" in text
    assert "| zipf99 | tiny | 2.400 | 1.100 | 1.700 | ours | 2.100 | 1.700 |" in text


def test_summary__a_section_for_each_suite__of_what_has_learned_best_pair_rivals_and_bound() -> None:
    text = summary(BOARD.model_copy(update={"suites": BOARD.suites * 2}))
    shown = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert shown == 2 * ["greedy+oracle_k", "cost_benefit+dac", "midas", "ours", "cost_benefit+sepbit"]
    assert "| `ours` | learned, 2 seeds |" in text and text.count("### made") == 2
    assert text.count("tasks: cost_benefit+dac on 0, ours on 1.") == 2


def test_markdown__names_of_others__are_no_html_and_no_columns() -> None:
    evil = "<script>\n|[a](b)"
    (suite,) = BOARD.suites
    rows = tuple(row.model_copy(update={"name": evil, "kind": "learned"}) for row in suite.rows)
    changed = suite.model_copy(update={"suite": evil, "description": evil, "rows": rows})
    board = BOARD.model_copy(update={"suites": (changed,)})
    for text in (summary(board), markdown(board)):
        assert "&lt;script>" in text and "<" not in text and "](" not in text
        tables = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("| ")]
        assert tables and all(line.endswith(" |") for line in tables)


def test_files__the_json_is_the_leaderboard(tmp_path: Path) -> None:
    paths = write_leaderboard(BOARD, tmp_path)
    assert [path.name for path in paths] == ["leaderboard.md", "leaderboard.json"]
    assert read_board(paths[-1]) == BOARD


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{", "no leaderboard of this version"), ("{}", "suites: Field required")],
)
def test_read__something_else__one_sentence(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.json"
    path.write_text(text)
    with pytest.raises(SsdgymError, match=expected):
        read_board(path)
    with pytest.raises(SsdgymError, match="cannot be read"):
        read_board(tmp_path / "nowhere.json")
