"""The pages on papers: their tables have every claim, their pictures show the numbers of their tables."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ssdgym.experiments.papers.claims import VERDICTS
from ssdgym.experiments.papers.figures import figures
from tests.docs.pages import PINNED, ROOT

TABLE = ROOT / "docs" / "tables" / "paper-claims.csv"
PAPERS = sorted((ROOT / "docs" / "reproductions").glob("*.md"))


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "examples")


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
    assert len(script.read(page).columns) >= 2


def test_tables__have_every_claim_of_the_papers_and_a_verdict_on_each(scripts: None) -> None:
    script = import_module("paper_tables")
    table = pd.read_csv(TABLE, dtype=str, keep_default_na=False)
    claims = {
        (paper, figure.number_of(panel), claim.said, claim.describe()): claim.is_ours
        for paper in script.PAPERS
        for figure in figures(paper)
        for panel in figure.panels
        for claim in panel.claims
    }
    words = list(zip(*(table[name] for name in ("paper", "figure", "claim", "claimed")), strict=True))
    assert len(set(words)) == len(words) and set(words) <= set(claims)
    assert {of_paper for of_paper, is_ours in claims.items() if not is_ours} <= set(words)
    for column in ("verdict before", "verdict now"):
        told = table[column].str.replace(r"carried by .*", "carried by one trace", regex=True)
        told = told.str.replace(r" \(.*|:.*", "", regex=True)
        assert set(told) <= {*VERDICTS, "none"}
    moved = table[table["verdict before"] != "none"]
    now = moved["verdict now"].str.replace(r"carried by .*", "carried by one trace", regex=True)
    differs = moved["verdict before"] != now.str.replace(r" \(.*|:.*", "", regex=True)
    assert (moved["moved by"] != "").equals(differs)


def test_tables__of_pages__are_made_of_that_of_every_claim(
    scripts: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = import_module("paper_tables")
    shown = ROOT / "docs" / "reproductions" / "claims"
    for path in (TABLE, shown / "rows.yaml"):
        copied = tmp_path / path.relative_to(ROOT / "docs")
        copied.parent.mkdir(parents=True)
        copied.write_bytes(path.read_bytes())
    monkeypatch.setattr(sys, "argv", ["paper_tables.py", "--docs", str(tmp_path)])
    script.main()
    written = sorted((tmp_path / "reproductions" / "claims").glob("*.csv"))
    assert len(written) >= 10
    for path in written:
        assert path.read_bytes() == (shown / path.name).read_bytes(), (
            "make it again: docs/examples/paper_tables.py"
        )


def test_tables__a_verdict_is_moved_only_where_it_differs(scripts: None) -> None:
    script = import_module("paper_tables")
    columns = ["paper", "figure", "claim", "claimed", "ours", "measured", "verdict", "why"]
    rows = [
        [
            "ippbe",
            "12",
            "less",
            "-1 %",
            False,
            "-2 % (2 dies of a chip: -3 %)",
            "holds",
            "holds (by arithmetic: so)",
        ],
        ["ippbe", "13", "more", "+1 %", True, "-2 %", "does not hold", "does not hold"],
        ["ippbe", "14", "new", "+1 %", True, "+1 %", "holds", "holds"],
    ]
    now = pd.DataFrame(rows, columns=columns)
    kept = now[:2].assign(**{"verdict before": "holds"})
    table = script.every_claim(now, kept, now[:1].assign(measured="-4 %"))
    assert table["moved by"].tolist() == ["", "one die in each chip, as printed", ""]
    assert table["verdict before"].tolist() == ["holds", "holds", "none"]
    spec = {"heading": "of", "beside": {"2 dies of a chip": "2 dies"}, "rows": {"pages": "12: less"}}
    assert script.table_of(table, "ippbe-measured", spec) == [
        ["of", "claimed", "scale `small`", "2 dies", "scale `paper`", "verdict before", "verdict"],
        ["pages", "-1 %", "-2 %", "-3 %", "-4 %", "holds", "holds"],
    ]


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
