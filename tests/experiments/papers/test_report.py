"""From the results of a figure to its report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ssdgym.experiments.papers.checks import check_claims
from ssdgym.experiments.papers.diagrams import bars
from ssdgym.experiments.papers.report import (
    assumed_lines,
    beside,
    claim_lines,
    claims_table,
    cost_lines,
    draw,
    footprint_lines,
    markdown,
    paths_of,
    rewrite_lines,
)
from ssdgym.experiments.papers.samples import Place
from ssdgym.experiments.results import Result
from tests.experiments.papers.made import SMALL, measured, runs_of, tiny_figure


def test_a_figure_from_its_runs_to_its_report(traces: Path, tmp_path: Path) -> None:
    figure = tiny_figure()
    (panel,) = figure.panels
    samples = measured(figure, SMALL, traces)
    results = [sample.result for sample in samples]
    diagram = bars(figure, panel, samples)
    (shown,) = diagram.rows
    of_bars = dict(zip(diagram.number_columns, shown.estimates, strict=True))
    assert shown.names == ("made",) and of_bars["fifo"].value == 1.0
    (finding,) = check_claims(figure, panel, samples)
    change = finding.measured[0].value
    assert change == pytest.approx(of_bars["greedy"].value - 1)
    text = markdown(figure, ("smoke", figure.scales["smoke"]), [(diagram, [finding])], samples)
    assert f"| greedy writes less | section 1 | -10.0% | {change:+.1%} (no interval) | holds within" in text
    assert "- the trace is made up\n" in text
    assert "- assumed of tiny, all: invented for tests\n" in text
    (footprint,) = footprint_lines(results)
    assert footprint.startswith("footprint of made on tiny: 800 pages, 800 of the ")
    # 800 pages in order, and every third of them three times over.
    (rewrites,) = rewrite_lines(results)
    assert rewrites == "rewrites of made: 50.0% of the pages that it writes"
    assert "\n- played from files: made\n" in text
    assert text.endswith(f"- {footprint}\n- {rewrites}\n")
    assert claim_lines("7", [finding])[0].endswith(finding.verdict)
    (row,) = claims_table([(figure, "7", [finding])]).to_dict("records")
    assert (row["paper"], row["claim"], row["ours"]) == ("a paper", "greedy writes less", False)
    assert (row["value"], row["verdict"]) == (change, finding.verdict)
    assert row["per_workload"] == f"made {change:+.1%}"
    assert assumed_lines(results) == []
    assert paths_of(figure, tmp_path)[1] == tmp_path / "figure7.png"
    assert draw(figure, [diagram], tmp_path / "figure.png").stat().st_size > 5000
    assert cost_lines(results)[0].startswith("time of made: ")
    assert "for 2 runs" in cost_lines(results)[0]


def test_claims__beside_those_of_others__by_their_words() -> None:
    words = {"paper": "a paper", "figure": "1", "claimed": "lower", "verdict": "holds"}
    now = pd.DataFrame([{**words, "claim": claim, "measured": "-1 %"} for claim in ("less", "more")])
    before = pd.DataFrame([{**words, "claim": "less", "measured": "-2 %"}])
    table = beside(now, before=before)
    assert table["measured"].tolist() == ["-1 %"] * 2
    assert table["measured_before"].tolist() == ["-2 %", pytest.approx(float("nan"), nan_ok=True)]
    with pytest.raises(pd.errors.MergeError):
        beside(now, before=pd.concat([before, before.assign(verdict="does not hold")]))


def test_variants_are_a_second_axis__in_runs_tables_and_pictures(traces: Path, tmp_path: Path) -> None:
    figure = tiny_figure(
        axis="free blocks",
        variants={"few": {"ftl.gc.free_blocks": 3}, "small": {"geometry.blocks_per_plane": 24}},
        panels=(
            {"name": "a", "metric": "write_amplification", "unit": "1"},
            {"name": "b", "metric": "duration_ns", "unit": "ms", "per_unit": 1e6},
        ),
    )
    few, _, small, _ = runs_of(figure, SMALL, traces)
    assert (few.ftl, few.device.geometry.blocks_per_plane) == ((("gc.free_blocks", 3),), 32)
    assert (small.ftl, small.device.geometry.blocks_per_plane) == ((), 24)
    assert small.device_name == "tiny(geometry.blocks_per_plane=24)"
    samples = measured(figure, SMALL, traces)
    panels = [bars(figure, panel, samples) for panel in figure.panels]
    assert [row.names for row in panels[1].rows] == [("made", "few"), ("made", "small")]
    (expected,) = (
        sample.result.metric("duration_ns") / 1e6
        for sample in samples
        if sample.place == Place("fifo", "made", "small")
    )
    assert panels[1].rows[1].estimates[panels[1].number_columns.index("fifo")].value == expected
    text = markdown(figure, ("smoke", figure.scales["smoke"]), [(one, []) for one in panels], [])
    assert "| trace | free blocks | greedy | fifo |" in text
    assert "\n| made | small | " in text
    assert draw(figure, panels, tmp_path / "figure.png").stat().st_size > 5000


def test_footprints__devices_with_the_same_together_and_means_over_seeds() -> None:
    def made(device: str, seed: int, left: int) -> Result:
        facts = {"trace_pages": 5000 + seed, "footprint_pages": left}
        return Result(device, "", "made", "greedy", seed, metrics={"workload": facts, "logical_pages": 1200})

    results = [made(device, seed, 1000) for device in ("tiny", "demo") for seed in (0, 2)]
    assert footprint_lines([*results, made("third", 1, 1200)]) == [
        "footprint of made on tiny, demo: 5,001 pages, 1,000 of the 1,200 logical ones",
        "footprint of made on third: 5,001 pages, 1,200 of the 1,200 logical ones",
    ]


def test_footprints__of_a_generated_workload_that_has_no_trace() -> None:
    metrics = {"workload": {"footprint_pages": 700}, "logical_pages": 1200}
    results = [Result("tiny", "", "zipf99", "greedy", seed, metrics=metrics) for seed in (1, 2)]
    assert footprint_lines(results) == ["footprint of zipf99 on tiny: 700 of the 1,200 logical ones"]


def test_a_claim_about_traces_that_were_not_all_run_says_so(traces: Path) -> None:
    figure = tiny_figure(workloads=("made", "src1_2"))
    samples = measured(tiny_figure(), SMALL, traces)
    (line,) = claim_lines("7", check_claims(figure, figure.panels[0], samples))
    assert ", on 1 of 2 traces | " in line
