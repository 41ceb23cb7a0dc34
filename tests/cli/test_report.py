"""`ssdgym report`: files where they are asked for, and one sentence for what is no result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdgym.experiments.results import write_results
from tests.cli.conftest import Run
from tests.experiments.synthetic import grid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "results"
    path.mkdir()
    write_results(grid({"greedy": 0.0, "fifo": 0.5}, seeds=2), path / "results")
    return path


def test_report__is_written_beside_the_results(folder: Path, run: Run) -> None:
    assert run(["report", folder]).out == f"{folder / 'report.html'}\n"
    assert "greedy against the others" in (folder / "report.html").read_text(encoding="utf-8")


def test_report__of_one_file_goes_where_it_is_told_to(folder: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "new" / "page.html"
    run(["report", folder / "results.parquet", "--out", out])
    assert "greedy against the others" in out.read_text(encoding="utf-8")
    assert not (folder / "report.html").exists()


def test_report__figures_and_tables_for_a_paper(
    folder: Path, tmp_path: Path, printed: Callable[..., Any]
) -> None:
    figures = tmp_path / "figures"
    files = [Path(name) for name in printed("report", folder, "--figures", figures)["files"]]
    assert files[0] == folder / "report.html"
    assert sorted(files[1:]) == sorted(figures.iterdir())
    assert {path.suffix for path in files[1:]} == {".md", ".tex", ".png", ".svg", ".pdf"}
    assert len(files) == 1 + 2 + 2 * 3


def test_report__a_place_that_cannot_be_written_is_refused(
    folder: Path, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "taken").write_text("")
    inside = str(tmp_path / "taken" / "report.html")
    assert "taken: cannot be written to" in refusal("report", str(folder), "--out", inside)
    assert "give --out a name that ends in .html" in refusal("report", str(folder), "--out", str(folder))
    store = folder / "runs.sqlite"
    assert "ends in .html" in refusal("report", str(folder), "--out", str(store))
