"""The pages on papers: their pictures show the numbers of their tables."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.pages import PINNED, ROOT

PAPERS = sorted((ROOT / "docs" / "reproductions").glob("*.md"))


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.stem)
def test_picture__is_that_of_the_table(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "examples")
    script = import_module("claims")
    drawn = tmp_path / "claims.svg"
    monkeypatch.setattr(sys, "argv", ["claims.py", str(page), "--out", str(drawn)])
    script.main()
    assert capsys.readouterr().out.strip() == str(drawn)
    shown = (ROOT / "docs" / "pictures" / f"{page.stem}.svg").read_bytes()
    assert drawn.read_bytes() == shown or not PINNED, "draw it again: docs/examples/claims.py"
    assert len(script.read(page).columns) >= 3
