"""Synthetic traces of figures: under the names of the traces, and with other values along the variants."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import ScaleConfig
from ssdgym.experiments.papers.figures import figures, points_of, scale_of
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.workloads.traces.loading import TraceConfig
from tests.experiments.papers.made import tiny_figure

ONE = ScaleConfig(seeds=1)
VARIANTS = {
    "as assumed": {},
    "no memory": {"synthetic": "{}"},
    "half": {"workload.writes.replay_share": 0.5},
    "no bursts": {"workload.arrivals": "poisson", "workload.dispersion_1s": None},
}


def first_runs(scale: ScaleConfig = ONE, traces: Path | None = None, **fields: object) -> dict[str, RunSpec]:
    """The runs of the first policy by variant, on a trace that has a synthetic one with memory."""
    figure = tiny_figure(workloads=("stg_0",), synthetic="{}-memory", **fields)
    points = points_of(figure, scale, traces)
    return {point.place.variant: point.run for point in points if point.run.policy == "greedy"}


def test_a_synthetic_trace_of_another_name_is_called_as_the_trace() -> None:
    (run,) = first_runs().values()
    assert (run.workload.name, run.workload_name) == ("stg_0-memory", "stg_0")


def test_a_file_takes_its_place_unless_all_are_to_be_synthetic(traces: Path) -> None:
    file = traces / "stg_0.csv"
    file.write_bytes((traces / "made.csv").read_bytes())
    assert first_runs(traces=traces)[""].workload == TraceConfig(path=file, addresses="fold")
    of_synthetic = first_runs(traces=traces, workloads_from="synthetic")
    assert of_synthetic[""].workload.name == "stg_0-memory"


def test_variants_change_what_is_assumed() -> None:
    scale = ScaleConfig(seeds=1, head=50, transforms=({"kind": "scale_space", "factor": 8},))
    played = {name: run.workload for name, run in first_runs(scale, axis="b", variants=VARIANTS).items()}
    assert [trace.name for trace in played.values()] == ["stg_0-memory", "stg_0", *["stg_0-memory"] * 2]
    assert [trace.writes.replay_share for trace in played.values()] == [0.93, 0, 0.5, 0.93]
    assert [trace.arrivals for trace in played.values()] == ["cascade", "poisson", "cascade", "poisson"]
    assert {tuple(one.kind for one in trace.transforms) for trace in played.values()} == {
        ("scale_space", "head")
    }


def test_a_synthetic_trace_that_is_not_there_is_refused() -> None:
    with pytest.raises(SsdgymError, match="stg_0-nowhere"):
        first_runs(axis="b", variants={"other": {"synthetic": "{}-nowhere"}})


def test_a_scale_can_change_some_traces_in_a_way_of_their_own() -> None:
    scale = ScaleConfig(
        seeds=1,
        transforms=({"kind": "scale_time", "factor": 0.5},),
        transforms_of={"stg_0": ({"kind": "scale_space", "factor": 4},)},
    )
    points = points_of(tiny_figure(workloads=("stg_0", "ts_0")), scale, None)
    kinds = {point.place.workload: point.run.workload.transforms[0].kind for point in points}
    assert kinds == {"stg_0": "scale_space", "ts_0": "scale_time"}


@pytest.mark.parametrize(("preconditioning", "none_unmapped"), [("repeat", False), ("reads_repeat", True)])
def test_reads_repeat__what_is_read_is_there_when_the_trace_is_played_again(
    preconditioning: str, none_unmapped: bool
) -> None:
    scale = ScaleConfig(seeds=1, transforms=({"kind": "scale_space", "factor": 200},))
    run = first_runs(scale, preconditioning=preconditioning)[""]
    assert (run_policy(run).metrics["unmapped_reads"] == 0) == none_unmapped


@pytest.mark.parametrize("paper", ["ippbe", "block-size"])
def test_the_papers_of_ssdsim_play_traces_with_memory_that_read_what_is_there(paper: str) -> None:
    for figure in figures(paper):
        assert figure.preconditioning in ("reads", "reads_repeat")
        for point in points_of(figure, scale_of(figure, "smoke"), None):
            is_plain = point.place.variant == "no memory"
            assert point.run.workload.name == point.place.workload + ("" if is_plain else "-memory")
