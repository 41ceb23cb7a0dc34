"""`ssdgym report`: files where they are asked for, and one sentence for what is no result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ssdgym.cli import main
from ssdgym.experiments.results import write_results
from tests.experiments.synthetic import grid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "results"
    path.mkdir()
    write_results(grid({"greedy": 0.0, "fifo": 0.5}, seeds=2), path / "results")
    return path


def test_report__help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--help"]) == 0
    assert capsys.readouterr().out.count("ssdgym report results/evaluate") == 3


def test_report__is_written_beside_the_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    assert "greedy against the others" in (folder / "report.html").read_text(encoding="utf-8")


def test_report__of_one_file_goes_where_it_is_told_to(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "page.html"
    assert main(["report", str(folder / "results.csv"), "--out", str(out), "--reference", "fifo"]) == 0
    assert "fifo against the others" in out.read_text(encoding="utf-8")
    assert not (folder / "report.html").exists()


def test_report__figures_and_tables_for_a_paper(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures"
    assert main(["report", str(folder), "--figures", str(figures), "--json"]) == 0
    files = [Path(name) for name in json.loads(capsys.readouterr().out)["files"]]
    assert files[0] == folder / "report.html"
    assert sorted(files[1:]) == sorted(figures.iterdir())
    assert {path.suffix for path in files[1:]} == {".md", ".tex", ".png", ".svg", ".pdf"}
    assert len(files) == 1 + 2 + 4 * 3


@pytest.mark.parametrize("arguments", [["--reference", "gredy"], ["--learned", "gredy"]])
def test_report__a_policy_that_is_not_there_is_refused(
    folder: Path, arguments: list[str], refusal: Callable[..., str]
) -> None:
    said = refusal("report", str(folder), *arguments)
    assert "no results of the policy 'gredy'; choose from greedy, fifo" in said
    assert not (folder / "report.html").exists()


def test_report__a_folder_without_results_is_refused(tmp_path: Path, refusal: Callable[..., str]) -> None:
    assert f"{tmp_path}: holds no results.parquet" in refusal("report", str(tmp_path))
    assert "no such results file" in refusal("report", str(tmp_path / "missing.parquet"))


def test_report__a_file_without_a_single_result_is_refused(folder: Path, refusal: Callable[..., str]) -> None:
    write_results([], folder / "results")
    assert f"{folder}: there are no results to report" in refusal("report", str(folder))


def test_report__damaged_results_are_refused(folder: Path, refusal: Callable[..., str]) -> None:
    file = folder / "results.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    assert "results.parquet: not a readable Parquet file" in refusal("report", str(folder))


def test_report__a_place_that_cannot_be_written_is_refused(
    folder: Path, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "taken").write_text("")
    inside = str(tmp_path / "taken" / "report.html")
    assert "taken: cannot be written to" in refusal("report", str(folder), "--out", inside)
    assert "give --out a name that ends in .html" in refusal("report", str(folder), "--out", str(folder))
    store = folder / "runs.sqlite"
    assert "ends in .html" in refusal("report", str(folder), "--out", str(store))
