"""The files of a leaderboard: what is read is what was written, and the page needs no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.board import read_board
from ssdgym.experiments.leaderboard.text import html_board, write_leaderboard
from tests.experiments.leaderboard.made import made_leaderboard

BOARD = made_leaderboard()


def test_files__the_json_is_the_leaderboard(tmp_path: Path) -> None:
    paths = write_leaderboard(BOARD, tmp_path)
    assert [path.name for path in paths] == ["leaderboard.md", "leaderboard.html", "leaderboard.json"]
    assert read_board(paths[-1]) == BOARD


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{", "no leaderboard of this version"), ('{"version": "0"}', "engine_hash: Field required")],
)
def test_read__something_else__one_sentence(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.json"
    path.write_text(text)
    with pytest.raises(SsdgymError, match=expected):
        read_board(path)
    with pytest.raises(SsdgymError, match="cannot be read"):
        read_board(tmp_path / "nowhere.json")


def test_html__has_losses_first_and_loads_nothing() -> None:
    page = html_board(BOARD)
    assert page.index("Where learned policies lose") < page.index("made: standings")
    assert "http://" not in page and "https://" not in page and "src=" not in page
    assert 'class="words learned">ours<' in page
