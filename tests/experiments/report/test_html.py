"""Files of a report; the page needs nothing else and leaves out, saying so, what makes no sense."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.files import (
    learned_of,
    specs_of,
    write_figures,
    write_html_report,
    write_tables,
)
from ssdgym.experiments.report.summary import Shown, tables
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import RunSpec
from tests.experiments.synthetic import grid, grid_of_runs

POLICIES = ("greedy", "cost_benefit", "fifo")


def real_grid(policies: Sequence[str] = POLICIES, seeds: Sequence[int] = range(100, 105)) -> list[Result]:
    return grid_of_runs(
        [
            RunSpec("tiny", workload, policy, seed, host_pages=3_000)
            for workload in ("zipf99", "hot90")
            for policy in policies
            for seed in seeds
        ]
    )


def report_of(results: Sequence[Result], tmp_path: Path, **options: object) -> str:
    path = write_html_report(results, tmp_path / "report.html", Path("results/x"), **options)  # type: ignore[arg-type]
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of the whole grid."""
    return report_of(real_grid(), tmp_path_factory.mktemp("report"))


class Outline(HTMLParser):
    """The identifiers and headings of a page, and whether its elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.identifiers: list[str] = []
        self.headings: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.identifiers += [value for name, value in attributes if name == "id" and value]
        if tag not in ("meta", "link"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.identifiers += [value for name, value in attributes if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("h2", "h3"):
            self.headings.append(data)


def test_report__has_tables_figures_configuration_and_commands(page: str) -> None:
    assert Outline(page).headings == [
        "Tables",
        "zipf99 on tiny",
        "hot90 on tiny",
        "all 2 tasks",
        "greedy against the others",
        "Figures",
        "Write amplification",
        "Write latency",
        "Configuration",
        "How to check it",
    ]
    assert "Mean over 2 tasks of the interquartile mean over 5 seeds; in brackets the 95 % interval" in page
    assert "<dt>seeds</dt><dd>5 (100, 101, 102, 103, 104)</dd>" in page
    assert "planes_per_die:" in page and "kind: zipf" in page
    assert "ssdgym replay results/x --row 1" in page and "ssdgym replay results/x<" in page


def test_report__has_the_numbers_and_intervals_of_the_other_tables(page: str) -> None:
    shown = [
        (entry.text, entry.note)
        for table in tables(Shown.of(real_grid()), intervals=True)
        for row in table.rows
        for entry in row
        if entry.number is not None
    ]
    assert len(shown) == 3 * 3 * 6
    for value, interval in shown:
        assert f'>{value} <span class="note">{interval}</span></td>' in page


def test_report__of_several_ftls_has_a_row_for_each_and_never_their_mean(tmp_path: Path) -> None:
    results = grid_of_runs(
        [
            RunSpec("tiny", "zipf99", policy, seed, host_pages=3_000, ftl=ftl)
            for ftl in ((("gc.free_blocks", 2),), (("gc.free_blocks", 4),))
            for policy in ("greedy", "fifo")
            for seed in (1, 2)
        ]
    )
    text = report_of(results, tmp_path, reference="gc.free_blocks=4, fifo", learned=["fifo"])
    assert Outline(text).headings[:5] == [
        "Agents against heuristics",
        "Tables",
        "zipf99 on tiny",
        "gc.free_blocks=4, fifo against the others",
        "Figures",
    ]
    for row in ("gc.free_blocks=2, greedy", "gc.free_blocks=4, greedy"):
        assert f'<th scope="row" class="words">{row}</th>' in text
    assert '<th scope="row" class="words learned">gc.free_blocks=2, fifo</th>' in text
    with pytest.raises(SsdgymError, match="no results of the policy 'greedy'; choose from gc.free_blocks=2"):
        report_of(results, tmp_path, reference="greedy")


def test_report__needs_nothing_from_anywhere_else(page: str) -> None:
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= namespaces
    assert not re.search(r"@import|@font-face|\bsrc=|<img|<iframe|<object", page)
    assert "default-src 'none'" in page


def test_report__is_well_formed_with_unique_identifiers_and_the_same_bytes_again(
    page: str, tmp_path: Path
) -> None:
    identifiers = Outline(page).identifiers
    assert len(identifiers) > 20 and len(set(identifiers)) == len(identifiers)
    assert report_of(real_grid(), tmp_path) == page


def test_report__a_single_seed_has_no_intervals_and_the_report_says_so(tmp_path: Path) -> None:
    text = report_of(real_grid(seeds=[100]), tmp_path)
    assert "There is a single seed: no interval, and no saying who is better." in text
    assert "The value of one seed, which has no interval." in text
    assert "against the others" not in text and "nan" not in text.casefold().replace("nand", "")


def test_report__a_single_result_is_enough(tmp_path: Path) -> None:
    text = report_of(real_grid(["greedy"], seeds=[100])[:1], tmp_path)
    assert Outline(text).headings[:2] == ["Before you read on", "Tables"]
    assert "2.000" in text


def test_report__of_an_uneven_grid_says_what_is_left_out(tmp_path: Path) -> None:
    text = report_of(real_grid()[:-1], tmp_path)
    assert "seed 104 is left out, since not every policy has them on every task." in text


def test_report__of_runs_that_cannot_be_compared_still_says_how_to_check_them(tmp_path: Path) -> None:
    results = [r for r in real_grid(["greedy"]) if r.seed < 102 and r.workload == "zipf99"]
    results += [r for r in real_grid(["fifo"]) if r.seed >= 102 and r.workload == "zipf99"]
    text = report_of(results, tmp_path)
    assert "nothing can be compared, since no seed was run with every policy and task" in text
    assert Outline(text).headings == ["Before you read on", "Configuration", "How to check it"]


def test_report__says_which_fields_are_assumed_and_which_engines_differ(tmp_path: Path) -> None:
    results = [replace(result, assumed="read_fraction") for result in real_grid()]
    results[0] = replace(results[0], engine_hash="another")
    text = report_of(results, tmp_path)
    assert "<li>zipf99: read_fraction</li>" in text
    assert "different versions of ssdgym or its engine" in text


def test_report__of_results_without_configurations_says_so(tmp_path: Path) -> None:
    text = report_of(grid({"greedy": 0.0, "fifo": 0.1}), tmp_path)
    assert "hold the names of devices and workloads, not their configurations" in text
    assert "How to check it" not in text


def test_report__of_runs_that_wrote_nothing_has_no_ratios_and_says_so(tmp_path: Path) -> None:
    read_only = [
        replace(r, metrics={"erases": 0, "read_latency_ns": {"p50": 50_000.0, "mean": 60_000.0}})
        for r in real_grid()
    ]
    mixed = [r if r.workload == "zipf99" else other for r, other in zip(real_grid(), read_only, strict=True)]
    for results, figures in (
        (mixed, ["Write amplification", "Read latency", "Write latency"]),
        (read_only, ["Read latency"]),
    ):
        text = report_of(results, tmp_path)
        headings = Outline(text).headings
        assert headings[headings.index("Figures") + 1 : headings.index("Configuration")] == figures
        assert "Some runs wrote nothing" in text


def test_report__names_are_text_not_markup(tmp_path: Path) -> None:
    text = report_of(grid({"<script>alert(1)</script>": 0.0, "a & b": 0.1}, workloads=("<b>",)), tmp_path)
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
    assert text.count("<script>") == 1
    Outline(text)


def test_report__singles_out_what_has_learned(tmp_path: Path) -> None:
    results = [replace(r, objective="erase" if r.policy == "greedy" else "") for r in real_grid()]
    assert learned_of(results) == ["greedy"]
    text = report_of(results, tmp_path)
    assert "Agents against heuristics" in Outline(text).headings
    assert "all 2 tasks: greedy beats cost_benefit" in text


def test_report__refuses_no_results_and_policies_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="results/x: there are no results to report"):
        report_of([], tmp_path)
    for options in ({"reference": "gredy"}, {"learned": ["gredy"]}):
        with pytest.raises(SsdgymError, match="no results of the policy 'gredy'; choose from greedy, cost_b"):
            report_of(real_grid(), tmp_path, **options)


def test_report__writes_tables_and_figures(tmp_path: Path) -> None:
    shown = Shown.of(grid({"learned": -0.1, "greedy": 0.0}, seeds=3), ["learned"])
    paths = [*write_tables(shown, tmp_path), *write_figures(shown, tmp_path, ["png"])]
    assert [path.name for path in paths] == [
        "results.md",
        "results.tex",
        "write_amplification.png",
        "write_latency.png",
    ]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert "learned beats greedy" in paths[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["{", "[]", '{"names": 1}', '{"names": {}}'])
def test_specs__damage_is_one_sentence(text: str) -> None:
    with pytest.raises(SsdgymError, match=r"of greedy on zipf99 \(seed 100\) does not describe a run"):
        specs_of([replace(real_grid()[0], spec=text)])
