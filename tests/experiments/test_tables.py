"""Tables: every number where it belongs, gaps shown as gaps, verdicts per task and over all."""

from __future__ import annotations

import io

from rich.console import Console

from ssdgym.experiments.tables import markdown_table, rich_tables, sections, verdicts
from tests.experiments.synthetic import grid


def test_sections__rank_policies_and_add_one_over_all_tasks() -> None:
    found = sections(grid({"fifo": 0.5, "greedy": 0.0}, workloads=("zipf", "uniform")))
    assert [section.title for section in found] == [
        "zipf on demo-mlc (placement=sep_gc)",
        "uniform on demo-mlc (placement=sep_gc)",
        "all 2 tasks",
    ]
    assert all([policy for policy, _ in section.rows] == ["greedy", "fifo"] for section in found)


def test_sections__a_single_task_needs_no_section_over_all() -> None:
    assert len(sections(grid({"greedy": 0.0}))) == 1


def test_markdown__shows_interval_counts_and_microseconds_and_a_dash_for_what_is_absent() -> None:
    lines = markdown_table(grid({"greedy": 0.0})).splitlines()
    assert lines[0] == "### zipf on demo-mlc (placement=sep_gc)"
    cells = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    assert cells == [
        "greedy",
        "2.020 [2.007, 2.037]",
        "102,000",
        "1,563",
        "- / - / -",
        "505 / 2,525 / 10,100",
    ]


def test_rich__fits_a_hundred_columns_and_loses_no_digit_on_eighty() -> None:
    results = grid({"windowed_greedy": 0.0})
    for width in (80, 100):
        console = Console(width=width, file=io.StringIO())
        console.print(rich_tables(results, learned=["windowed_greedy"]))
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert "windowed_greedy" in text and "[2.007," in text and "…" not in text


def test_verdicts__judge_every_task_and_all_of_them_against_the_best_there() -> None:
    found = verdicts(
        grid({"learned": -0.1, "fifo": 0.5, "greedy": 0.0}, workloads=("zipf", "uniform")), ["learned"]
    )
    assert [sentence.split(":")[0] for sentence in found] == [
        "zipf on demo-mlc (placement=sep_gc)",
        "uniform on demo-mlc (placement=sep_gc)",
        "all 2 tasks",
    ]
    assert all("learned beats greedy" in sentence for sentence in found)
