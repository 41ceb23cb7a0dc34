"""The pages on papers: their pictures show the numbers of their tables."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
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


def test_ageing__by_writes_leaves_pages_to_move_and_free_blocks__as_figure_11_of_ippbe_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "examples")
    script = import_module("ageing")
    written = script.by_writes("ippbe-mlc-small", "uniform")
    aged = script.by_ssdsim(len(written.valid), written.pages)
    for plane in (aged, written):
        used = (plane.valid + plane.invalid).sum() / (plane.pages * len(plane.valid))
        assert used == pytest.approx(script.AGE, abs=0.01)
    assert not aged.valid.any() and (aged.invalid < aged.pages).all()
    assert written.valid[written.invalid > 0].min() > 0
    assert np.count_nonzero(written.valid + written.invalid) < 0.8 * len(written.valid)
    assert script.draw({"SSDsim": aged, "writes": written}, tmp_path / "ageing.svg").stat().st_size > 5000
