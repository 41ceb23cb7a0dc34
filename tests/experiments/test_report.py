"""A report: every file it names is there, and says what was found."""

from __future__ import annotations

from pathlib import Path

from ssdgym.experiments.report import write_report
from ssdgym.experiments.results import read_results
from tests.experiments.synthetic import grid


def test_report__writes_data_table_and_figures(tmp_path: Path) -> None:
    results = grid({"learned": -0.1, "greedy": 0.0}, seeds=3)
    paths = write_report(results, tmp_path, learned=["learned"])
    assert [path.name for path in paths] == [
        "results.csv",
        "results.parquet",
        "results.md",
        "write_amplification.png",
        "write_latency.png",
    ]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert read_results(paths[0]) == read_results(paths[1]) == results
    assert "learned beats greedy" in paths[2].read_text(encoding="utf-8")
