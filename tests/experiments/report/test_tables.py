"""Tables: every number where it belongs, gaps shown as gaps, verdicts per task and over all."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ssdgym.experiments.analysis.summary import sections
from ssdgym.experiments.report.tables import latex_escaped, latex_table, markdown_table, rich_tables, verdicts
from tests.experiments.synthetic import grid


def test_sections__rank_policies_and_add_one_over_all_tasks() -> None:
    found = sections(grid({"fifo": 0.5, "greedy": 0.0}, workloads=("zipf", "uniform")))
    assert [section.title for section in found] == [
        "zipf on demo-mlc (placement=sep_gc)",
        "uniform on demo-mlc (placement=sep_gc)",
        "all 2 tasks",
    ]
    assert all([row.policy for row in section.rows] == ["greedy", "fifo"] for section in found)


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


def test_latex__is_booktabs_with_everything_escaped_and_the_numbers_of_the_markdown() -> None:
    results = grid({"cost_benefit(exponent=0.5)": 0.0}, workloads=("50%_zipf",))
    text = latex_table(results)
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == text.count(r"\bottomrule") == 1
    assert r"\caption{50\%\_zipf on demo-mlc (placement=sep\_gc). Interquartile mean over 5 seeds;" in text
    (row,) = [line for line in text.splitlines() if "exponent" in line]
    cells = row.strip().removesuffix(r" \\").split(" & ")
    plain = [cell.replace("{[}", "[").replace("{]}", "]").replace(r"\_", "_") for cell in cells]
    markdown = markdown_table(results).splitlines()[-1]
    assert plain == [cell.strip() for cell in markdown.strip("|").split("|")]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b & 5 % #1 {x} $y$", r"a\_b \& 5 \% \#1 \{x\} \$y\$"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("[1] (µs)", r"{[}1{]} ($\mu$s)"),
    ],
)
def test_latex__escapes_what_it_would_take_for_commands(text: str, escaped: str) -> None:
    assert latex_escaped(text) == escaped


@pytest.mark.parametrize(
    ("seeds", "tasks", "said"),
    [
        (5, 1, "Interquartile mean over 5 seeds; in brackets the 95 % interval"),
        (5, 4, "Mean over 4 tasks of the interquartile mean over 5 seeds; in brackets"),
        (3, 1, "Mean over 3 seeds; in brackets"),
        (1, 1, "The value of one seed, which has no interval."),
        (1, 2, "The value of one seed, which has no interval, mean over 2 tasks."),
    ],
)
def test_caption__says_which_mean_how_many_seeds_and_where_the_interval_is(
    seeds: int, tasks: int, said: str
) -> None:
    workloads = tuple(f"workload-{number}" for number in range(tasks))
    section = sections(grid({"greedy": 0.0}, seeds=seeds, workloads=workloads))[-1]
    assert section.caption.startswith(said)


def test_tables__of_an_uneven_grid_compare_what_can_be_compared() -> None:
    results = grid({"fifo": 0.5, "greedy": 0.0}, seeds=5)
    last = [section.rows[0].texts() for section in sections(results[:-1])]
    assert last == [section.rows[0].texts() for section in sections([r for r in results if r.seed < 4])]
