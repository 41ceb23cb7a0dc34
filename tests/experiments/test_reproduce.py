"""Figures of papers: their configurations, the cells they take, and one run from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.cli import WRONG_INPUT, main
from ssdgym.config.device import load_device
from ssdgym.config.recorded import TraceConfig
from ssdgym.config.reproduce import FigureConfig, ScaleConfig
from ssdgym.errors import SsdgymError
from ssdgym.experiments.claims import check_claims
from ssdgym.experiments.evaluate import evaluate, run_cell
from ssdgym.experiments.paper_report import assumed_lines, bars_of, claim_lines, draw, markdown
from ssdgym.experiments.reproduce import cells_of, figures, papers, scale_of

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
            "metric": "write_amplification",
            "unit": "1",
            "normalise_to": "fifo",
            "claims": (
                {
                    "said": "greedy writes less",
                    "source": "section 1",
                    "series": "greedy",
                    "against": "fifo",
                    "statistic": "mean",
                    "change": -0.1,
                },
            ),
            "departures": ("the trace is made up",),
            "scales": {"smoke": {"seeds": 2}},
            **fields,
        }
    )


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
    assert figure.claims
    for device in figure.devices:
        assert load_device(device).name == device


def test_cells__devices_are_fitted_and_named_as_before(traces: Path) -> None:
    figure = tiny_figure(fit="address_space", over_provisioning={"made": 1.0})
    cells = cells_of(figure, SMALL, traces)
    # A trace draws nothing: another seed would only be a copy.
    assert [(cell.policy, cell.seed) for cell in cells] == [("greedy", 1), ("fifo", 1)]
    for cell in cells:
        assert (cell.device.name, cell.device.host_pages, cell.workload_name) == ("tiny", 800, "made")
        assert cell.device.spare_ratio == pytest.approx(1.0, abs=0.05)
        assert cell.workload.addresses == "fold"


def test_cells__a_trace_stands_before_its_stand_in(traces: Path) -> None:
    figure = tiny_figure(workloads=("src1_2",))
    stand_in = cells_of(figure, ScaleConfig(seeds=1, head=100), None)[0].workload
    assert len(cells_of(tiny_figure(workloads=("src1_2",)), SMALL, None)) == 4
    assert (stand_in.kind, stand_in.transforms[-1].requests) == ("stand_in", 100)
    assert cells_of(figure, SMALL, traces)[0].workload.kind == "stand_in"
    (traces / "src1_2.csv.gz").write_bytes((traces / "made.csv").read_bytes())
    assert cells_of(figure, SMALL, traces)[0].workload == TraceConfig(
        path=traces / "src1_2.csv.gz", addresses="fold"
    )


def test_repeat__measures_the_time_after_the_first_collection(traces: Path) -> None:
    cell = cells_of(tiny_figure(), SMALL, traces)[0]
    result = run_cell(cell)
    # What was collected in the first time is not in the metrics, nor is anything else of it.
    assert result.metrics["host_pages_written"] == len(PAGES)
    assert result.metrics["erases"] > 0
    # In a closed loop, or an open one, time goes on: a repetition does not arrive all at once in the past.
    assert result.metrics["duration_ns"] > 0


def test_repeat__gives_up_where_nothing_is_ever_collected(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssdgym.experiments.evaluate._MOST_REPETITIONS", 2)
    cell = cells_of(tiny_figure(devices=("demo",)), SMALL, traces)[0]
    with pytest.raises(SsdgymError, match="played 2 times it made the device collect nothing"):
        run_cell(cell)


def test_a_figure_from_its_cells_to_its_report(traces: Path, tmp_path: Path) -> None:
    figure = tiny_figure()
    results = evaluate(cells_of(figure, SMALL, traces), workers=1)
    bars = bars_of(figure, results)
    assert bars.estimates["fifo", "made"].value == 1.0
    (finding,) = check_claims(figure, results)
    assert finding.measured.value == pytest.approx(bars.estimates["greedy", "made"].value - 1)
    text = markdown(figure, "smoke", bars, [finding], results)
    assert f"| greedy writes less | section 1 | -10.0% | {finding.measured.value:+.1%} (one seed" in text
    assert text.endswith("- the trace is made up\n")
    assert claim_lines(figure, [finding])[0].endswith(finding.verdict)
    assert assumed_lines(results) == []
    assert draw(figure, bars, tmp_path / "figure.png").stat().st_size > 5000


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SsdgymError, match="there is no paper 'nobody' to reproduce: choose"):
        figures("nobody")
    with pytest.raises(SsdgymError, match="--figure 99: of block-size there are the figures 3"):
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
    assert "assumed of hm_0: " in first.out
    assert main(command) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert "6 of 6 cells are finished already" in again.err


def test_a_claim_about_traces_that_were_not_all_run_says_so(traces: Path) -> None:
    figure = tiny_figure(workloads=("made", "src1_2"))
    results = evaluate(cells_of(tiny_figure(), SMALL, traces), workers=1)
    (line,) = claim_lines(figure, check_claims(figure, results))
    assert ", on 1 of 2 traces | " in line
