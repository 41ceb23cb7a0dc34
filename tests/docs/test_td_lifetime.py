"""The scripts that draw what td_lifetime has learned, and how it learns."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest


def test_script__draws_a_table_and_the_streams(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "examples")
    script = import_module("td_lifetime")
    picture = tmp_path / "table.svg"
    words = ["td_lifetime.py", "--device", "demo-placement", "--host-pages", "20000", "--out", str(picture)]
    monkeypatch.setattr(sys, "argv", words)
    script.main()
    assert capsys.readouterr().out.strip() == str(picture)
    assert "planned streams" in picture.read_text() or picture.stat().st_size > 10_000


def test_script__draws_the_picture_of_the_readme_in_both_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "examples")
    script = import_module("demo_picture")
    monkeypatch.setattr(sys, "argv", ["demo_picture.py", "--windows", "2", "--out", str(tmp_path)])
    script.main()
    pictures = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [picture.name for picture in pictures] == ["demo-light.svg", "demo-dark.svg"]
    assert pictures[0].read_bytes() != pictures[1].read_bytes()
