"""Figures of papers: their configurations and the runs that they take."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from ssdgym.cli import WRONG_INPUT, main
from ssdgym.config.device import load_device
from ssdgym.config.loading import parse_mapping
from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import FigureConfig, ScaleConfig
from ssdgym.experiments.papers.figures import figures, learned_agents, papers, points_of, scale_of, with_bars
from ssdgym.experiments.papers.report import device_lines, paths_of
from ssdgym.experiments.papers.samples import Place
from ssdgym.experiments.runs.evaluate import check_runs
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.simulator import Simulator
from ssdgym.simulator.preconditioning import write_until_collecting
from ssdgym.workloads.traces.loading import TraceConfig
from tests.engine.devices import same_as
from tests.experiments.papers.made import PAGES, SMALL, runs_of, tiny_figure

PLAIN = ({"metric": "erases", "unit": "blocks"},)
ALL = [(paper, figure) for paper in papers() for figure in figures(paper)]


@pytest.mark.parametrize(("paper", "figure"), ALL, ids=[f"{paper}-{one.figure}" for paper, one in ALL])
def test_every_figure_could_be_run_at_every_scale(paper: str, figure: FigureConfig) -> None:
    assert figure.paper == paper
    assert set(figure.scales) == {"smoke", "small", "paper"}
    assert any(panel.claims for panel in figure.panels)
    for device in figure.devices:
        assert load_device(device).name == device
    for scale in figure.scales.values():
        points = points_of(figure, scale, None)
        places = [point.place for point in points]
        assert {place.series for place in places} == set(figure.bars)
        assert {place.variant for place in places} == set(figure.variant_names)
        seeds = [1 if place.variant in figure.also_at else scale.seeds for place in set(places)]
        assert sum(seeds) == len(places)
        runs = [point.run for point in points]
        shown = {id(device): repr(device) for device in {id(run.device): run.device for run in runs}.values()}
        runs = {(shown[id(run.device)], run.ftl, run.policy): run for run in runs}
        check_runs(list(runs.values()))
    text = resources.files("ssdgym.configs").joinpath("papers", f"{paper}.yaml").read_text("utf-8")
    common = parse_mapping(text.partition("\n---\n")[0], "what figures share")["departures"]
    assert common and list(figure.departures[: len(common)]) == common
    assert len(set(figure.departures)) == len(figure.departures)


def test_figures__of_a_workload__only_those_that_play_it() -> None:
    assert [one.figure for one in figures("pen", None, ["prxy_0"]) if one.figure[0] in "35"] == ["3b"]
    with pytest.raises(SsdgymError, match="--workload w92: these figures play hm_0, prn_0, "):
        figures("pen", None, ["hm_0", "w92"])


def test_figures__of_which_the_paper_says_nothing__are_ours() -> None:
    ours = [one.figure for one in figures("subftl") if not one.is_of_the_paper]
    assert ours == ["depth", "footprint"]


def test_departures__what_a_figure_adds_to_those_of_its_paper() -> None:
    (figure,) = figures("block-size", "1")
    assert figure.departures[-1].startswith("traces whose victims hold no valid page on blocks of 1 MiB")


def test_runs__devices_are_fitted_and_named_as_before(traces: Path) -> None:
    figure = tiny_figure(fit="address_space", over_provisioning={"made": 1.0})
    runs = runs_of(figure, SMALL, traces)
    # A trace draws nothing: another seed would only be a copy.
    assert [(run.policy, run.seed) for run in runs] == [("greedy", 1), ("fifo", 1)]
    for run in runs:
        assert (run.device.name, run.device.logical_pages, run.workload_name) == ("tiny", 800, "made")
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


def test_runs__files_of_a_figure__stand_before_its_synthetic_traces_where_they_are_at_hand(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder asked for, or that of SSDGYM_TRACES; in a closed loop where their times are lost."""
    file = {"path": "made.csv", "skip_bad": 3, "queue_depth": 4}
    figure = tiny_figure(workloads=("hm_0",), files={"hm_0": file}, compact=("hm_0",))

    def played(folder: Path | None) -> RunSpec:
        return runs_of(figure, SMALL, folder)[0]

    monkeypatch.delenv("SSDGYM_TRACES", raising=False)
    synthetic, real = played(None), played(traces)
    assert not isinstance(synthetic.workload, TraceConfig) and dict(synthetic.ftl) == {}
    assert isinstance(real.workload, TraceConfig) and real.workload.skip_bad == 3
    assert dict(real.ftl) == {"queue_depth": 4} and real.label == "hm_0"
    assert synthetic.workload.addresses == real.workload.addresses == "compact"
    # A whole trace of that name goes before it, and has times of its own.
    (traces / "hm_0.csv").write_bytes((traces / "made.csv").read_bytes())
    assert dict(played(traces).ftl) == {}
    (traces / "hm_0.csv").unlink()
    assert runs_of(tiny_figure(), SMALL, traces)[0].workload.addresses == "fold"
    monkeypatch.setenv("SSDGYM_TRACES", str(traces))
    assert played(None).workload == real.workload
    monkeypatch.setenv("SSDGYM_TRACES", str(traces / "elsewhere"))
    assert played(None).workload == synthetic.workload


def test_runs__ftls_can_have_devices_with_other_fields() -> None:
    ftls = {"plain": {}, "roomy": {"device.capacity.over_provisioning": 1.0, "queue_depth": 2}}
    figure = tiny_figure(series="ftl", policies=("greedy",), ftls=ftls, workloads=("hm_0",), panels=PLAIN)
    plain, roomy = runs_of(figure, ScaleConfig(seeds=1), None)
    assert plain.device == load_device("tiny")
    assert roomy.device.logical_pages == roomy.device.geometry.physical_pages // 2
    assert roomy.ftl == (("queue_depth", 2),)
    assert roomy.device_name == "tiny(capacity.over_provisioning=1.0)"


def test_runs__volumes_of_traces_at_hand__lie_as_asked(traces: Path) -> None:
    points = points_of(tiny_figure(), SMALL, traces, "overlay")
    assert {point.run.workload.volumes for point in points} == {"overlay"}
    points = points_of(tiny_figure(workloads=("src1_2",)), SMALL, traces, "overlay")
    assert {point.run.workload.kind for point in points} == {"synthetic"}


def test_runs__seeds_are_given__only_what_draws_has_them(traces: Path) -> None:
    figure = tiny_figure(policies=("greedy",), workloads=("made", "src1_2"), panels=PLAIN)
    points = points_of(figure, SMALL, traces, seeds=(3, 5, 7))
    assert [(point.place.workload, point.run.seed) for point in points] == [
        ("made", 1),
        ("src1_2", 3),
        ("src1_2", 5),
        ("src1_2", 7),
    ]


def test_runs__at_variants_without_verdicts__are_of_the_first_seed() -> None:
    (figure,) = figures("subftl", "8")
    points = points_of(figure, scale_of(figure, "small"), None, seeds=(4, 5))
    seeds = {point.place.variant: set() for point in points}
    for point in points:
        seeds[point.place.variant].add(point.run.seed)
    assert seeds == {"stated": {4, 5}, "longer": {4}, "longest": {4}}


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


def test_runs__generated_workloads_have_lengths_and_fields_of_their_own() -> None:
    figure = tiny_figure(
        workloads=("zipf99",),
        workloads_from="configs",
        workload_fields={"footprint": 0.5},
        preconditioning="fill(share=0.5)",
        axis="exponent",
        variants={"own": {}, "none": {"workload.theta": 0, "ftl.gc.free_blocks": 3}},
        scales={"smoke": {"seeds": 2, "lengths": {"zipf99": {"warmup": 5, "host_pages": 20}}}},
    )
    points = points_of(figure, figure.scales["smoke"], None)
    # Two policies and two seeds for each variant: what is generated is drawn by the seed.
    assert len(points) == 8
    own, none = points[0].run, points[-1].run
    assert (own.workload.theta, own.workload.footprint, own.ftl) == (0.99, 0.5, ())
    assert (none.workload.theta, none.workload.footprint, none.ftl) == (0, 0.5, (("gc.free_blocks", 3),))
    assert (own.warmup, own.host_pages, own.day_requests, own.seed) == (5, 20, None, 1)
    assert own.preconditioning == "fill(share=0.5)"
    with pytest.raises(SsdgymError, match="--traces: the figures of a paper play no traces; leave it out"):
        points_of(figure, figure.scales["smoke"], Path())
    with pytest.raises(SsdgymError, match="field wrong is unknown"):
        points_of(figure.model_copy(update={"workload_fields": {"wrong": 1}}), figure.scales["smoke"], None)


def test_runs__a_scale_changes_traces_and_variants(traces: Path) -> None:
    figure = tiny_figure(
        workloads=("made", "src1_2"),
        axis="layers",
        variants={"plain": {}, "part": {"geometry.blocks_per_plane": 32, "run.host_pages": 90}},
    )
    scale = ScaleConfig(
        seeds=1,
        transforms=({"kind": "scale_space", "factor": 2}, {"kind": "scale_time", "factor": 0.5}),
        head=20,
        heads={"src1_2": 30},
        variants={"part": {"geometry.blocks_per_plane": 24, "run.warmup": 10}, "unknown": {}},
    )
    points = points_of(figure, scale, traces)
    made, *_, other = (point.run for point in points)
    assert [one.kind for one in made.workload.transforms] == ["scale_space", "scale_time", "head"]
    assert (made.workload.transforms[-1].requests, other.workload.transforms[-1].requests) == (20, 30)
    assert (made.warmup, made.host_pages) == (0, None)
    assert (other.warmup, other.host_pages) == (10, 90)
    assert other.device.geometry.blocks_per_plane == 24
    assert other.device_name == "tiny(geometry.blocks_per_plane=24)"


def test_runs__ftls_can_have_policies_of_their_own() -> None:
    figure = tiny_figure(
        policies=("greedy",),
        workloads=("src1_2",),
        series="ftl",
        ftls={"own": {"gc.free_blocks": 3}, "other": {"policy": "fifo"}},
        panels=PLAIN,
    )
    points = points_of(figure, ScaleConfig(seeds=1), None)
    assert [(point.place.series, point.run.policy, point.run.ftl) for point in points] == [
        ("own", "greedy", (("gc.free_blocks", 3),)),
        ("other", "fifo", ()),
    ]


def test_runs__the_series_can_be_ftls() -> None:
    figure = tiny_figure(
        policies=("greedy",),
        workloads=("src1_2",),
        series="ftl",
        ftl={"gc.free_blocks": 3, "queue_depth": 4},
        ftls={"few": {"gc.free_blocks": 2}, "own": {}},
        panels=({"metric": "erases", "unit": "blocks", "normalise_to": "few"},),
    )
    assert figure.bars == ("few", "own")
    scale = ScaleConfig(seeds=1, ftl={"queue_depth": 1, "gc.mode": "barrier"})
    points = points_of(figure, scale, None)
    assert [(point.place.series, dict(point.run.ftl)) for point in points] == [
        ("few", {"gc.free_blocks": 2, "queue_depth": 4, "gc.mode": "barrier"}),
        ("own", {"gc.free_blocks": 3, "queue_depth": 4, "gc.mode": "barrier"}),
    ]


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


def test_a_variant_that_no_device_can_have_is_named(traces: Path) -> None:
    with pytest.raises(SsdgymError, match="variants.wrong: field name.x does not exist"):
        points_of(tiny_figure(variants={"wrong": {"name.x": 1}}), SMALL, traces)


def test_a_scale_runs_other_devices_under_the_figures_names(traces: Path) -> None:
    scale = ScaleConfig(seeds=1, devices={"demo": "tiny"})
    (point,) = points_of(
        tiny_figure(devices=("demo",), policies=("greedy",), series="device", panels=PLAIN), scale, traces
    )
    assert (point.place.series, point.run.device_name) == ("demo", "tiny")


def test_panels_can_be_asked_for_by_their_letter() -> None:
    (one,) = figures("speedupgc", "12b")
    assert [panel.name for panel in one.panels] == ["b"]
    assert paths_of(one, Path()) == (Path("figure12b.md"), Path("figure12b.png"))
    assert len(figures("speedupgc", "12")[0].panels) == 3
    assert [figure.figure for figure in figures("speedupgc")][:3] == ["3", "7", "8"]
    with pytest.raises(
        SsdgymError, match="--figure 12d: of speedupgc there are the figures 3a, 3b, 7a, 7b, 7c, 8a, 8b"
    ):
        figures("speedupgc", "12d")


def test_until_gc__every_plane_has_collected_under_the_policy_itself_and_no_time_has_passed() -> None:
    sims = [Simulator("tiny", policy=policy, seed=5) for policy in ("greedy", "fifo", "greedy")]
    for sim, seed in zip(sims, (1, 1, 2), strict=True):
        write_until_collecting(sim, seed)
        geometry = sim.device.geometry
        erases = sim.state.sub_block["erases"][0].reshape(geometry.planes, -1)
        assert erases.any(axis=1).all()
        # It ends soon after the first collection: nothing has been collected many times over.
        assert sim.state.control["clock"][0, 0] < geometry.physical_pages * 1.2
        assert (sim.now_ns, sim.metrics()["host_pages_written"]) == (0, 0)
        assert sim.state.params["timed"][0, 0] == 1
    assert not same_as(sims[0], sims[2])
    again = Simulator("tiny", policy="greedy", seed=5)
    write_until_collecting(again, 1)
    assert same_as(again, sims[0])
    with pytest.raises(SsdgymError, match="is in use"):
        write_until_collecting(again, 1)


@pytest.mark.parametrize("preconditioning", ["until_gc", "until_gc_greedy"])
def test_until_gc__is_drawn_by_the_seed_of_the_run(preconditioning: str, traces: Path) -> None:
    figure = tiny_figure(preconditioning=preconditioning, policies=("greedy",), panels=PLAIN)
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
        SsdgymError, match="--figure 99: of block-size there are the figures 1, 2, 3, 4, 5, j"
    ):
        figures("block-size", "99")
    with pytest.raises(SsdgymError, match="--scale paper: figure 7 of a paper has the scales smoke"):
        scale_of(tiny_figure(), "paper")
    assert main(["reproduce", "nobody"]) == WRONG_INPUT


def test_a_figure_says_only_where_its_scales_are_not_those_of_its_paper() -> None:
    common, sweep = (figures("pen", number)[0].scales["paper"] for number in ("13", "depth"))
    assert (common.workloads, sweep.workloads) == ((), ("hm_0", "prn_1", "proj_1"))
    assert sweep == common.model_copy(update={"workloads": sweep.workloads})


def test_with_bars__policies_and_agents_stand_beside_the_papers_own_design() -> None:
    (figure,) = figures("subftl", "8")
    stump = "stump(feature=sector_writes, cut=0.25)"
    more = with_bars(figure, ["cost_benefit"], [stump])
    assert more.bars == (*figure.bars, stump, "cost_benefit")
    runs = {point.place.series: point.run for point in points_of(more, scale_of(more, "smoke"), None)}
    own, agent, policy = runs["subftl"], runs[stump], runs["cost_benefit"]
    assert (agent.agent, agent.policy) == (stump, stump)
    assert agent.environment is not None and agent.environment.id == "ssdgym/SubFTL-v0"
    assert replace(agent, agent=None, environment=None, policy=own.policy) == own
    assert replace(policy, policy=own.policy) == own
    check_runs([agent, policy])


def test_with_bars__of_policies__are_policies() -> None:
    (figure,) = figures("ippbe", "9")
    more = with_bars(figure, ["ippbe(limit=8)"], [])
    points = points_of(more, scale_of(more, "smoke"), None)
    assert {point.run.policy for point in points} == {*figure.policies, "ippbe(limit=8)"}


def test_learned__the_rules_found_and_the_first_of_each_trained_agent() -> None:
    stump = "stump(feature=sector_writes, cut=0.25)"
    assert learned_agents("subftl") == (stump, "subftl-v2-seed1")
    assert learned_agents("pen")[-2:] == ("pen-v1-seed1", "pen-ppo-v1-seed1")
    with pytest.raises(SsdgymError, match="--learned: no agent has learned the decision of block-size; name"):
        learned_agents("block-size")


@pytest.mark.parametrize(("paper", "number"), [("ippbe", "12"), ("pen", "13"), ("speedupgc", "11")])
def test_with_bars__agents_play_whole_traces(paper: str, number: str) -> None:
    more = with_bars(figures(paper, number)[0], [], ["random_action"])
    played = [one.run for one in points_of(more, scale_of(more, "smoke"), None) if one.run.agent]
    assert played and all(run.host_pages is None for run in played)
    check_runs(played)


def test_with_bars__where_there_can_be_none__stays_as_it_is() -> None:
    for paper, number in (("block-size", "1"), ("subftl", "2")):
        (figure,) = figures(paper, number)
        assert with_bars(figure, ["greedy"], ["random_action"]) == figure
