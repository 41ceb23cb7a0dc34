"""The script that draws what td_lifetime has learned."""

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
