"""Tables: every number where it belongs, gaps shown as gaps, verdicts per task and over all."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from ssdgym.experiments.report.summary import Shown, cautions, markdown_table, tables, verdicts
from tests.experiments.synthetic import grid


def test_tables__rank_policies_and_add_one_over_all_tasks() -> None:
    found = tables(Shown.of(grid({"fifo": 0.5, "greedy": 0.0}, workloads=("zipf", "uniform"))))
    assert [table.title for table in found] == [
        "zipf on demo-mlc (placement=sep_gc)",
        "uniform on demo-mlc (placement=sep_gc)",
        "all 2 tasks",
    ]
    assert all([row[0].text for row in table.rows] == ["greedy", "fifo"] for table in found)


def test_tables__a_single_task_needs_no_table_over_all() -> None:
    assert len(tables(Shown.of(grid({"greedy": 0.0})))) == 1


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_markdown__shows_interval_counts_and_microseconds_and_a_dash_for_what_one_lacks() -> None:
    reads = {"read_latency_ns": {"mean": 80_000.0, "p99": 90_000.0}}
    read = [replace(one, metrics={**one.metrics, **reads}) for one in grid({"fifo": 0.5})]
    lines = markdown_table(Shown.of([*grid({"greedy": 0.0}), *read])).splitlines()
    assert lines[0] == "### zipf on demo-mlc (placement=sep_gc)"
    assert cells(lines[-2]) == [
        "greedy",
        "2.020 [2.007, 2.037]",
        "398.4",
        "1,563",
        *("-", "-"),
        *("505", "2,525", "10,100"),
    ]
    assert cells(lines[-1])[4:6] == ["80", "90"]


def test_overflow__above_one_per_cent__a_note_says_that_space_is_compared() -> None:
    with_share = {
        policy: [
            replace(one, metrics={**one.metrics, "overflow_share": share}) for one in grid({policy: 0.0})
        ]
        for policy, share in (("sepbit", 0.024), ("dac", 0.009), ("single", 0.0))
    }
    results = [result for found in with_share.values() for result in found]
    (note,) = cautions(Shown.of(results).results)
    assert note.startswith("sepbit: up to 2.4% of the relocated pages") and "about space" in note
    assert "overflow" in markdown_table(Shown.of(results))
    assert "overflow" not in markdown_table(Shown.of(with_share["single"]))


def test_no_erase__in_a_run_that_writes__a_note_says_that_nothing_was_collected() -> None:
    fresh = {"erases": 0, "host_pages_written": 500}
    found = grid({"greedy": 0.0, "fifo": 0.0})
    results = [
        replace(one, metrics={**one.metrics, **(fresh if one.policy == "fifo" else {})}) for one in found
    ]
    (note,) = cautions(Shown.of(results).results)
    assert note.startswith("fifo: at least one measured run erased no block; its write amplification says")
    both = [replace(one, metrics={**one.metrics, **fresh}) for one in found]
    assert [note.partition(":")[0] for note in cautions(Shown.of(both).results)] == ["greedy, fifo"]
    only_reads = [replace(one, metrics={**one.metrics, **fresh, "host_pages_written": 0}) for one in found]
    assert cautions(Shown.of(only_reads).results) == []


def test_markdown__columns_that_no_row_has_are_left_out() -> None:
    writes = [f"write {part} (µs)" for part in ("mean", "p99", "p99.9")]
    headings = ["policy", "WA [95 %]", "moved MiB", "erases", *writes]
    assert cells(markdown_table(Shown.of(grid({"greedy": 0.0}))).splitlines()[4]) == headings
    metrics = {"requests_per_s": 5_000.4, "request_waf": 1.03, "rmw_share": 0.0}
    timed = [replace(one, metrics={**one.metrics, **metrics}) for one in grid({"greedy": 0.0})]
    lines = markdown_table(Shown.of(timed)).splitlines()
    assert cells(lines[4]) == [*headings[:2], "request WAF", *headings[2:4], "IOPS", *writes]
    assert cells(lines[-1])[2:6] == ["1.030", "398.4", "1,563", "5,000"]
    some = [replace(one, metrics={**one.metrics, "rmw_share": 0.25}) for one in timed]
    assert cells(markdown_table(Shown.of(some)).splitlines()[4])[3] == "RMW"
    assert cells(markdown_table(Shown.of(some)).splitlines()[-1])[3] == "25.0%"


FTLS = ("kind=cgm,queue_depth=32", "kind=subftl,queue_depth=32")


def test_markdown__several_ftls__one_table_with_a_row_for_each_and_policy() -> None:
    results = [
        replace(one, ftl=ftl)
        for number, ftl in enumerate(FTLS)
        for one in grid({"greedy": number, "fifo": 0.5 + number}, workloads=("zipf", "uniform"))
    ]
    lines = markdown_table(Shown.of(results)).splitlines()
    titles = [line for line in lines if line.startswith("#")]
    assert titles == [
        "### zipf on demo-mlc (queue_depth=32)",
        "### uniform on demo-mlc (queue_depth=32)",
        "### all 2 tasks",
    ]
    last = [cells(line)[:2] for line in lines[-6:]]
    assert [name for name, _ in last] == [
        "FTL, policy",
        "---",
        "cgm, greedy",
        "cgm, fifo",
        "subftl, greedy",
        "subftl, fifo",
    ]
    assert [wa.split()[0] for _, wa in last[2:]] == ["2.020", "2.520", "3.020", "3.520"]


def test_markdown__several_ftls_and_one_policy__rows_are_ftls() -> None:
    results = [replace(one, ftl=ftl) for ftl in FTLS for one in grid({"greedy": 0.0})]
    lines = markdown_table(Shown.of(results)).splitlines()
    assert lines[0] == "### zipf on demo-mlc (queue_depth=32), greedy"
    assert [cells(line)[0] for line in lines[4:]] == ["FTL", "---", "cgm", "subftl"]


def test_markdown__whole_pages_beside_parts__have_no_write_amplification_and_the_caption_says_so() -> None:
    metrics = {"host_pages_written": 90, "rmw_reads": 80, "logical_pages": 25}
    fine = [
        replace(one, ftl="kind=cgm", metrics={**one.metrics, **metrics, "logical_pages": 100})
        for one in grid({"greedy": 0.0})
    ]
    coarse = [replace(one, ftl="mapping=page", metrics={**one.metrics, **metrics}) for one in fine]
    lines = markdown_table(Shown.of([*coarse, *fine])).splitlines()
    assert [cells(line)[:2] for line in lines[-2:]] == [["cgm", "2.020 [2.007, 2.037]"], ["page", "-"]]
    assert "WA has a dash where an FTL counts whole pages" in lines[2]
    whole = [replace(one, metrics={**one.metrics, "rmw_reads": 0}) for one in coarse]
    text = markdown_table(Shown.of([*whole, *fine]))
    assert "| page | 2.020" in text and "dash" not in text


@pytest.mark.parametrize("width", [50, 80, 120])
def test_rich__loses_no_digit_on_any_terminal(width: int) -> None:
    (table,) = tables(Shown.of(grid({"windowed_greedy": 0.0})))
    console = Console(width=width, file=io.StringIO())
    console.print(table.to_rich(["windowed_greedy"]))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text and all(len(line) <= width for line in text.splitlines())
    if width > 50:
        assert "windowed_greedy" in text and "[2.007," in text and "10,100" in text


def test_verdicts__each_ftl_is_judged_by_itself() -> None:
    results = [
        replace(one, ftl=ftl)
        for ftl, learned in zip(FTLS, (-0.1, 1.5), strict=True)
        for one in grid({"learned": learned, "greedy": 0.0})
    ]
    cgm, subftl = verdicts(Shown.of(results, ["learned"]))
    assert "cgm, learned beats cgm, greedy" in cgm
    assert "subftl, learned does NOT beat subftl, greedy" in subftl


def test_verdicts__judge_every_task_and_all_of_them_against_the_best_there() -> None:
    results = grid({"learned": -0.1, "fifo": 0.5, "greedy": 0.0}, workloads=("zipf", "uniform"))
    found = verdicts(Shown.of(results, ["learned"]))
    assert [sentence.split(":")[0] for sentence in found] == [
        "zipf on demo-mlc (placement=sep_gc)",
        "uniform on demo-mlc (placement=sep_gc)",
        "all 2 tasks",
    ]
    assert all("learned beats greedy" in sentence for sentence in found)


def test_latex__is_booktabs_with_everything_escaped_and_the_numbers_of_the_markdown() -> None:
    results = grid({"cost_benefit(exponent=0.5)": 0.0}, workloads=("50%_zipf",))
    (table,) = tables(Shown.of(results))
    text = table.to_latex()
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 1
    assert text.startswith("% 50%_zipf on demo-mlc (placement=sep_gc). Interquartile mean over 5 seeds;")
    (row,) = [line for line in text.splitlines() if "exponent" in line]
    plain = [cell.replace(r"\_", "_") for cell in row.strip().removesuffix(r" \\").split(" & ")]
    assert plain == cells(markdown_table(Shown.of(results)).splitlines()[-1])
    assert r"WA [95 \%]" in text


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
    table = tables(Shown.of(grid({"greedy": 0.0}, seeds=seeds, workloads=workloads)))[-1]
    assert table.caption.startswith(said)


def test_tables__of_an_uneven_grid_compare_what_can_be_compared() -> None:
    results = grid({"fifo": 0.5, "greedy": 0.0}, seeds=5)
    last = [table.to_markdown() for table in tables(Shown.of(results[:-1]))]
    assert last == [table.to_markdown() for table in tables(Shown.of([r for r in results if r.seed < 4]))]
