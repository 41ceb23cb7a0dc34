"""Figures of papers: their configurations, the runs they take, and one run from end to end."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from ssdgym.cli import WRONG_INPUT, main
from ssdgym.config.device import load_device
from ssdgym.config.loading import parse_mapping
from ssdgym.errors import SsdgymError
from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.checks import check_claims
from ssdgym.experiments.papers.config import FigureConfig, ScaleConfig
from ssdgym.experiments.papers.diagrams import KINDS
from ssdgym.experiments.papers.diagrams.bars import Bars
from ssdgym.experiments.papers.diagrams.base import Diagram, Row
from ssdgym.experiments.papers.figures import figures, papers, points_of, scale_of
from ssdgym.experiments.papers.picture import diagrams_of, draw
from ssdgym.experiments.papers.report import (
    assumed_lines,
    claim_lines,
    cost_lines,
    device_lines,
    footprint_lines,
    markdown,
    paths_of,
)
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.run_spec import RunSpec
from ssdgym.simulator import Simulator
from ssdgym.simulator.ageing import write_until_collecting
from ssdgym.workloads.traces.loading import TraceConfig

SMALL = ScaleConfig(seeds=2)
PAGES = [*range(800), *[page for _ in range(3) for page in range(0, 800, 3)]]
ALL = [(paper, figure) for paper in papers() for figure in figures(paper)]


def tiny_figure(**fields: Any) -> FigureConfig:
    """A figure of two policies on a trace called ``made``."""
    return FigureConfig(
        **{
            "paper": "a paper",
            "figure": "7",
            "title": "Pages relocated",
            "devices": ("tiny",),
            "policies": ("greedy", "fifo"),
            "workloads": ("made",),
            "preconditioning": "repeat",
            "series": "policy",
            "panels": (
                {
                    "metric": "write_amplification",
                    "unit": "1",
                    "normalise_to": "fifo",
                    "claims": (
                        {
                            "kind": "change",
                            "said": "greedy writes less",
                            "source": "section 1",
                            "series": "greedy",
                            "against": "fifo",
                            "change": -0.1,
                        },
                    ),
                },
            ),
            "departures": ("the trace is made up",),
            "scales": {"smoke": {"seeds": 2}},
            **fields,
        }
    )


def runs_of(figure: FigureConfig, scale: ScaleConfig, traces: Path | None) -> list[RunSpec]:
    return [point.run for point in points_of(figure, scale, traces)]


def measured(figure: FigureConfig, scale: ScaleConfig, traces: Path) -> list[Sample]:
    points = points_of(figure, scale, traces)
    results = run_all([point.run for point in points], workers=1)
    return [Sample(point.place, result) for point, result in zip(points, results, strict=True)]


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the trace ``made``: pages 0..799 in order, then every third of them three times over."""
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))
    lines = [f"{1000 + at},h,0,Write,{page * 4096},4096,1" for at, page in enumerate(PAGES)]
    (tmp_path / "made.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize(("paper", "figure"), ALL, ids=[f"{paper}-{one.figure}" for paper, one in ALL])
def test_every_figure_names_devices_that_exist_and_its_own_paper(paper: str, figure: FigureConfig) -> None:
    assert figure.paper == paper
    assert set(figure.scales) == {"smoke", "small", "paper"}
    assert any(panel.claims for panel in figure.panels)
    for device in figure.devices:
        assert load_device(device).name == device
    for scale in figure.scales.values():
        places = [point.place for point in points_of(figure, scale, None)]
        assert {place.series for place in places} == set(figure.bars)
        assert {place.variant for place in places} == set(figure.variant_names)
        assert len(set(places)) * scale.seeds == len(places)


@pytest.mark.parametrize(("paper", "figure"), ALL, ids=[f"{paper}-{one.figure}" for paper, one in ALL])
def test_every_figure_has_the_departures_of_its_paper_first_and_none_twice(
    paper: str, figure: FigureConfig
) -> None:
    text = resources.files("ssdgym.configs").joinpath("experiments", paper, "common.yaml").read_text("utf-8")
    common = parse_mapping(text, "common.yaml")["departures"]
    assert common
    assert list(figure.departures[: len(common)]) == common
    assert len(set(figure.departures)) == len(figure.departures)


def test_departures__what_a_figure_adds_to_those_of_its_paper() -> None:
    (figure,) = figures("block-size", "3")
    assert figure.departures[-1].startswith("where next to nothing is relocated, erases fall")


def test_runs__devices_are_fitted_and_named_as_before(traces: Path) -> None:
    figure = tiny_figure(fit="address_space", over_provisioning={"made": 1.0})
    runs = runs_of(figure, SMALL, traces)
    # A trace draws nothing: another seed would only be a copy.
    assert [(run.policy, run.seed) for run in runs] == [("greedy", 1), ("fifo", 1)]
    for run in runs:
        assert (run.device.name, run.device.host_pages, run.workload_name) == ("tiny", 800, "made")
        assert run.device.spare_ratio == pytest.approx(1.0, abs=0.05)
        assert run.workload.addresses == "fold"


def test_runs__a_trace_stands_before_its_synthetic_one(traces: Path) -> None:
    figure = tiny_figure(workloads=("src1_2",))
    synthetic = runs_of(figure, ScaleConfig(seeds=1, head=100), None)[0].workload
    assert len(runs_of(tiny_figure(workloads=("src1_2",)), SMALL, None)) == 4
    assert (synthetic.kind, synthetic.transforms[-1].requests) == ("synthetic", 100)
    assert runs_of(figure, SMALL, traces)[0].workload.kind == "synthetic"
    (traces / "src1_2.csv.gz").write_bytes((traces / "made.csv").read_bytes())
    assert runs_of(figure, SMALL, traces)[0].workload == TraceConfig(
        path=traces / "src1_2.csv.gz", addresses="fold"
    )


def test_repeat__measures_the_time_after_the_first_collection(traces: Path) -> None:
    run = runs_of(tiny_figure(), SMALL, traces)[0]
    result = run_policy(run)
    # What was collected in the first time is not in the metrics, nor is anything else of it.
    assert result.metrics["host_pages_written"] == len(PAGES)
    assert result.metrics["erases"] > 0
    # In a closed loop, or an open one, time goes on: a repetition does not arrive all at once in the past.
    assert result.metrics["duration_ns"] > 0


def test_repeat__gives_up_where_nothing_is_ever_collected(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssdgym.experiments.runs.run._MOST_REPETITIONS", 2)
    run = runs_of(tiny_figure(devices=("demo",)), SMALL, traces)[0]
    with pytest.raises(SsdgymError, match="played 2 times it made the device collect nothing"):
        run_policy(run)


def test_a_figure_from_its_runs_to_its_report(traces: Path, tmp_path: Path) -> None:
    figure = tiny_figure()
    (panel,) = figure.panels
    samples = measured(figure, SMALL, traces)
    results = [sample.result for sample in samples]
    bars = Bars(figure, panel, samples)
    assert bars.groups == [("made", "")]
    assert bars.estimates[Place("fifo", "made", "")].value == 1.0
    (finding,) = check_claims(figure, panel, samples)
    change = finding.measured[0].value
    assert change == pytest.approx(bars.estimates[Place("greedy", "made", "")].value - 1)
    text = markdown(figure, ("smoke", figure.scales["smoke"]), [(bars, [finding])], results)
    assert f"| greedy writes less | section 1 | -10.0% | {change:+.1%} (one seed" in text
    assert "- the trace is made up\n" in text
    assert "- assumed of tiny, all: invented for tests\n" in text
    (footprint,) = footprint_lines(results)
    assert footprint.startswith("footprint of made on tiny: 800 pages, 800 of the ")
    assert text.endswith(f"- {footprint}\n")
    assert claim_lines("7", [finding])[0].endswith(finding.verdict)
    assert assumed_lines(results) == []
    assert paths_of(figure, tmp_path)[1] == tmp_path / "figure7.png"
    assert draw(figure, [bars], tmp_path / "figure.png").stat().st_size > 5000
    assert cost_lines(results)[0].startswith("time of made: ")
    assert "for 2 runs" in cost_lines(results)[0]


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
    panels = [Bars(figure, panel, samples) for panel in figure.panels]
    assert panels[1].groups == [("made", "few"), ("made", "small")]
    (expected,) = (
        sample.result.metric("duration_ns") / 1e6
        for sample in samples
        if sample.place == Place("fifo", "made", "small")
    )
    assert panels[1].estimates[Place("fifo", "made", "small")].value == expected
    text = markdown(figure, ("smoke", figure.scales["smoke"]), [(one, []) for one in panels], [])
    assert "| trace | free blocks | greedy | fifo |" in text
    assert "\n| made | small | " in text
    assert draw(figure, panels, tmp_path / "figure.png").stat().st_size > 5000


def test_another_kind_of_diagram_is_one_class(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A panel names it; its table and its picture stand beside those of the bars."""
    monkeypatch.setitem(KINDS, "dots", Bars)  # so that it is forgotten afterwards

    class Dots(Diagram):
        kind = "dots"
        name_columns = ("seed",)
        number_columns = ("erases",)
        rows = [Row(("1",), [Estimate(3.0, 2.0, 4.0)])]
        width = 3.0

        def draw(self, axes: Axes, is_last: bool) -> None:
            axes.plot([1], [3.0], "o", label=f"last: {is_last}")

    panel = {"metric": "erases", "unit": "blocks"}
    figure = tiny_figure(panels=({"name": "a", **panel}, {"name": "b", "diagram": "dots", **panel}))
    diagrams = diagrams_of(figure, measured(figure, SMALL, traces))
    assert [type(diagram) for diagram in diagrams] == [Bars, Dots]
    text = markdown(figure, ("smoke", SMALL), [(diagram, []) for diagram in diagrams], [])
    assert "\n| seed | erases |\n|---|---:|\n| 1 | 3.000 [2.000, 4.000] |\n" in text
    assert draw(figure, diagrams, tmp_path / "figure.png").stat().st_size > 5000


def test_a_variant_can_be_another_device(traces: Path) -> None:
    figure = tiny_figure(
        axis="device", variants={"one": {}, "other": {"device": "demo", "ftl.timing": "none"}}
    )
    assert figure.all_devices == ("tiny", "demo")
    one, _, other, _ = points_of(figure, SMALL, traces)
    assert (one.run.device_name, one.run.ftl) == ("tiny", ())
    assert (other.run.device_name, other.run.ftl) == ("demo", (("timing", "none"),))
    assert other.place == Place("greedy", "made", "other")
    # A scale replaces it as it does the others, and what is assumed of it is told.
    scale = ScaleConfig(seeds=1, devices={"demo": "tiny"})
    assert {point.run.device_name for point in points_of(figure, scale, traces)} == {"tiny"}
    assert any(line.startswith("assumed of demo, ") for line in device_lines(figure))
    with pytest.raises(SsdgymError, match="nowhere"):
        points_of(tiny_figure(variants={"other": {"device": "nowhere"}}), SMALL, traces)


def test_panels_of_a_figure_without_a_number_are_named_after_its_word() -> None:
    panels = (
        {"name": "a", "metric": "erases", "unit": "1"},
        {"name": "b", "metric": "requests", "unit": "1"},
    )
    names = {
        title: [one.number_of(panel) for panel in one.panels]
        for title in ("7", "limit")
        for one in [tiny_figure(figure=title, panels=panels)]
    }
    assert names == {"7": ["7a", "7b"], "limit": ["limit-a", "limit-b"]}
    assert tiny_figure(figure="limit").number_of(tiny_figure().panels[0]) == "limit"


def test_footprints__devices_with_the_same_together_and_means_over_seeds() -> None:
    def made(device: str, seed: int, left: int) -> Result:
        facts = {"trace_pages": 5000 + seed, "footprint_pages": left}
        return Result(device, "", "made", "greedy", seed, metrics={"workload": facts, "logical_pages": 1200})

    results = [made(device, seed, 1000) for device in ("tiny", "demo") for seed in (0, 2)]
    assert footprint_lines([*results, made("third", 1, 1200)]) == [
        "footprint of made on tiny, demo: 5,001 pages, 1,000 of the 1,200 logical ones",
        "footprint of made on third: 5,001 pages, 1,200 of the 1,200 logical ones",
    ]


def test_a_variant_that_no_device_can_have_is_named(traces: Path) -> None:
    with pytest.raises(SsdgymError, match="variants.wrong: a device has no field name.x"):
        points_of(tiny_figure(variants={"wrong": {"name.x": 1}}), SMALL, traces)


def test_a_scale_runs_other_devices_under_the_figures_names(traces: Path) -> None:
    scale = ScaleConfig(seeds=1, devices={"demo": "tiny"})
    plain = ({"metric": "erases", "unit": "blocks"},)
    (point, _) = points_of(tiny_figure(devices=("demo",), series="device", panels=plain), scale, traces)
    assert (point.place.series, point.run.device_name) == ("demo", "tiny")


def test_the_mean_is_over_all_traces_or_not_at_all(traces: Path) -> None:
    figure = tiny_figure(workloads=("made", "other"))
    made = measured(tiny_figure(), SMALL, traces)
    other = [Sample(one.place._replace(workload="other"), one.result) for one in made]
    bars = Bars(figure, figure.panels[0], [*made, *other])
    assert bars.groups[-1] == ("mean", "")
    alone = bars.estimates[Place("greedy", "made", "")].value
    assert bars.estimates[Place("greedy", "mean", "")].value == pytest.approx(alone)
    lacking = [Sample(one.place, replace(one.result, metrics={})) for one in other]
    bars = Bars(figure, figure.panels[0], [*made, *lacking])
    assert isnan(bars.estimates[Place("greedy", "mean", "")].value)


def test_panels_can_be_asked_for_by_their_letter() -> None:
    (one,) = figures("speedupgc", "12b")
    assert [panel.name for panel in one.panels] == ["b"]
    assert paths_of(one, Path()) == (Path("figure12b.md"), Path("figure12b.png"))
    assert len(figures("speedupgc", "12")[0].panels) == 3
    assert [figure.figure for figure in figures("speedupgc")] == ["3", "8", "9", "10", "11", "12", "13", "14"]
    with pytest.raises(SsdgymError, match="--figure 12d: of speedupgc there are the figures 3a, 3b, 8"):
        figures("speedupgc", "12d")


def test_until_gc__every_plane_has_collected_under_the_policy_itself_and_no_time_has_passed() -> None:
    sims = [Simulator("tiny", policy=policy, seed=5) for policy in ("greedy", "fifo", "greedy")]
    written = [write_until_collecting(sim, seed) for sim, seed in zip(sims, (1, 1, 2), strict=True)]
    for sim, count in zip(sims, written, strict=True):
        geometry = sim.device.geometry
        erases = sim.state.sub_block["erases"][0].reshape(geometry.planes, -1)
        assert erases.any(axis=1).all()
        # It ends soon after the first collection: nothing has been collected many times over.
        assert count < geometry.physical_pages * 1.2
        assert (sim.now_ns, sim.metrics()["host_pages_written"]) == (0, 0)
        assert sim.state.params["timed"][0, 0] == 1
    assert not sims[0].same_as(sims[2])
    again = Simulator("tiny", policy="greedy", seed=5)
    write_until_collecting(again, 1)
    assert again.same_as(sims[0])
    with pytest.raises(SsdgymError, match="is in use"):
        write_until_collecting(again, 1)


def test_until_gc__is_drawn_by_the_seed_of_the_run(traces: Path) -> None:
    plain = ({"metric": "erases", "unit": "blocks"},)
    figure = tiny_figure(preconditioning="until_gc", policies=("greedy",), panels=plain)
    runs = runs_of(figure, SMALL, traces)
    # A trace draws nothing, but what comes before it does.
    assert [run.seed for run in runs] == [1, 2]
    first, second = (run_policy(run).metrics for run in runs)
    assert first["host_pages_written"] == second["host_pages_written"] == len(PAGES)
    assert first["relocated_pages"] != second["relocated_pages"]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SsdgymError, match="there is no paper 'nobody' to reproduce: choose"):
        figures("nobody")
    with pytest.raises(
        SsdgymError, match="--figure 99: of block-size there are the figures 1, 2, 3, 4, 5, b"
    ):
        figures("block-size", "99")
    with pytest.raises(SsdgymError, match="--scale paper: figure 7 of a paper has the scales smoke"):
        scale_of(tiny_figure(), "paper")
    assert main(["reproduce", "nobody"]) == WRONG_INPUT


@pytest.mark.slow
def test_command__prints_every_claim_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["reproduce", "block-size", "--figure", "3", "--scale", "smoke", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    first = capsys.readouterr()
    assert "| paper at least -80.0% | here " in first.out
    assert "assumed of fin1: " in first.out
    assert "footprint of fin1 on shin-3d1, shin-3d2, shin-3d3, shin-3d4, shin-3d5, shin-3d6: " in first.out
    assert main(command) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert "6 of 6 runs are finished already" in again.err


def test_a_claim_about_traces_that_were_not_all_run_says_so(traces: Path) -> None:
    figure = tiny_figure(workloads=("made", "src1_2"))
    samples = measured(tiny_figure(), SMALL, traces)
    (line,) = claim_lines("7", check_claims(figure, figure.panels[0], samples))
    assert ", on 1 of 2 traces | " in line
