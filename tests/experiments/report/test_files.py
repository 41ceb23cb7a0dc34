"""A report: every file it names is there, and says what was found."""

from __future__ import annotations

from pathlib import Path

from ssdgym.experiments.report.figures import report_figures
from ssdgym.experiments.report.files import write_figures, write_report
from ssdgym.experiments.results import read_results
from tests.experiments.synthetic import grid


def test_report__writes_data_table_and_figures(tmp_path: Path) -> None:
    results = grid({"learned": -0.1, "greedy": 0.0}, seeds=3)
    paths = write_report(results, tmp_path, learned=["learned"])
    assert [path.name for path in paths] == [
        "results.csv",
        "results.parquet",
        "results.md",
        "results.tex",
        "write_amplification.png",
        "write_latency.png",
        "performance_profile.png",
        "probability_of_improvement.png",
    ]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert read_results(paths[0]) == read_results(paths[1]) == results
    assert "learned beats greedy" in paths[2].read_text(encoding="utf-8")


def test_figures__of_a_single_policy_compare_nothing() -> None:
    assert [found.name for found in report_figures(grid({"greedy": 0.0}))] == [
        "write_amplification",
        "write_latency",
    ]


def test_figures__a_single_seed_has_no_probability_of_improvement() -> None:
    results = grid({"greedy": 0.0, "fifo": 0.5}, seeds=1, workloads=("zipf", "uniform"))
    assert [found.name for found in report_figures(results)] == [
        "write_amplification",
        "write_latency",
        "performance_profile",
    ]


def test_figures__are_written_in_every_format(tmp_path: Path) -> None:
    paths = write_figures(grid({"greedy": 0.0}, seeds=2), tmp_path)
    assert [path.name for path in paths] == [
        f"{name}.{ending}"
        for name in ("write_amplification", "write_latency")
        for ending in ("png", "svg", "pdf")
    ]
    assert all(path.stat().st_size > 3_000 for path in paths)
