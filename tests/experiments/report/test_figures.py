"""Figures: real pictures of a sensible size, the same bytes every time, and clear refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest
from matplotlib import image
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.figures import interval_figure, latency_figure
from ssdgym.experiments.report.style import FORMATS, PALETTE, inline_svg, save_figure
from tests.experiments.synthetic import grid

RESULTS = grid({"learned": -0.1, "greedy": 0.0}, seeds=3, workloads=("zipf", "uniform"))

DRAWN: dict[str, Callable[[], Figure]] = {
    "intervals": lambda: interval_figure(RESULTS, learned=["learned"]),
    "latency": lambda: latency_figure(RESULTS, learned=["learned"]),
}


@pytest.fixture(params=DRAWN.values(), ids=DRAWN)
def draw(request: pytest.FixtureRequest) -> Callable[[], Figure]:
    return request.param


def test_figure__is_a_picture_with_something_on_it(tmp_path: Path, draw: Callable[[], Figure]) -> None:
    pixels = image.imread(save_figure(draw(), tmp_path / "figure.png"))
    height, width = pixels.shape[:2]
    assert height > 150 and width > 800
    blue = (abs(pixels[..., :3] - to_rgb(PALETTE[0])) < 0.02).all(axis=-1)
    assert blue.sum() > 50, "the first policy is not there"
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]


@pytest.mark.parametrize("file_format", FORMATS)
def test_figure__is_the_same_bytes_again_whatever_the_user_has_set(tmp_path: Path, file_format: str) -> None:
    first = save_figure(DRAWN["intervals"](), tmp_path / f"first.{file_format}")
    with matplotlib.rc_context({"font.size": 30.0, "svg.hashsalt": "other", "savefig.dpi": 20}):
        again = save_figure(DRAWN["intervals"](), tmp_path / f"again.{file_format}")
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    assert not re.search(rb"20\d\d-\d\d-\d\d|CreationDate", first.read_bytes()), "tells when it was written"


def test_figure__axes_have_labels_with_units(draw: Callable[[], Figure]) -> None:
    figure = draw()
    texts = [figure.get_supxlabel(), figure.get_supylabel()]
    texts += [label for axes in figure.axes for label in (axes.get_xlabel(), axes.get_ylabel())]
    units = ("(flash pages / host pages)", "(µs)")
    assert any(text.endswith(units) for text in texts)


def test_intervals__show_every_interval_and_a_panel_over_all_tasks() -> None:
    figure = interval_figure(RESULTS)
    assert [axes.get_title() for axes in figure.axes] == ["zipf", "uniform", "all 2 tasks"]
    for axes in figure.axes:
        bars = [bar.lines[2][0].get_segments()[0] for bar in axes.containers]
        assert len(bars) == 2 and all(left[0] < right[0] for left, right in bars)


def test_intervals__a_single_seed_is_drawn_without_one() -> None:
    (axes,) = interval_figure(grid({"greedy": 0.0}, seeds=1)).axes
    (point,) = axes.containers
    assert point.lines[0].get_xdata() == [2.0] and not point.has_xerr


def test_intervals__a_policy_that_is_missing_on_a_task_leaves_a_gap_there() -> None:
    results = [*RESULTS, *grid({"fifo": 0.5}, seeds=3, workloads=("zipf",))]
    zipf, uniform, _ = interval_figure(results).axes
    assert (len(zipf.containers), len(uniform.containers)) == (3, 2)


def test_intervals__titles_name_only_the_options_in_which_the_panels_differ() -> None:
    results = [
        replace(result, ftl=f"gc.free_blocks={blocks},placement=hot_cold(bits=2,decay={blocks})")
        for blocks in (4, 8)
        for result in grid({"greedy": 0.0})
    ]
    titles = [axes.get_title() for axes in interval_figure(results).axes]
    assert titles == [
        "zipf\ngc.free_blocks=4\nplacement=hot_cold(bits=2,decay=4)",
        "zipf\ngc.free_blocks=8\nplacement=hot_cold(bits=2,decay=8)",
        "all 2 tasks",
    ]


def test_intervals__of_any_metric_are_in_its_unit() -> None:
    figure = interval_figure(RESULTS, "write_latency_ns/p99")
    assert figure.get_supxlabel() == "write latency p99 (µs)"
    # p99 is five times the mean of 250 µs times a write amplification of 1.9 and more
    assert figure.axes[0].containers[0].lines[0].get_xdata()[0] == pytest.approx(5 * 250 * 1.91)


def test_inline_svg__keeps_its_identifiers_to_itself_and_takes_the_page_s_text_colour() -> None:
    text = inline_svg(DRAWN["latency"](), "one")
    identifiers = re.findall(r'id="([^"]+)"', text)
    assert identifiers and len(set(identifiers)) == len(identifiers)
    assert all(name.startswith("one-") for name in identifiers)
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
    assert used and set(used) <= set(identifiers)
    assert text.startswith("<svg ") and "#000000" not in text and "<metadata>" not in text


def test_save__refuses_other_formats(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match=r"written as .png, .svg or .pdf, not as '.gif'"):
        save_figure(DRAWN["latency"](), tmp_path / "figure.gif")


def test_latency__refuses_results_without_that_latency() -> None:
    with pytest.raises(SsdgymError, match="no result has read latencies: run with event-driven timing"):
        latency_figure(RESULTS, operation="read")


def test_figure__refuses_no_results() -> None:
    with pytest.raises(SsdgymError, match="no task has the metric write_amplification"):
        interval_figure([])
