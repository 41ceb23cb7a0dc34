"""Figures: real pictures of a sensible size, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib import image

from ssdgym.errors import SsdgymError
from ssdgym.experiments.figures import latency_figure, write_amplification_figure
from tests.experiments.synthetic import grid

RESULTS = grid({"learned": -0.1, "greedy": 0.0}, seeds=3, workloads=("zipf", "uniform"))


@pytest.mark.parametrize("draw", [write_amplification_figure, latency_figure])
def test_figure__is_a_picture_with_something_on_it(tmp_path: Path, draw) -> None:  # type: ignore[no-untyped-def]
    pixels = image.imread(draw(RESULTS, tmp_path / "figure.png", learned=["learned"]))
    height, width = pixels.shape[:2]
    assert height > 400 and width > 800
    # the blue of the first policy of the palette is there
    assert ((abs(pixels[..., :3] - (0.0, 0.447, 0.698)) < 0.02).all(axis=-1)).sum() > 100
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]


def test_write_amplification__a_single_seed_is_drawn_without_an_interval(tmp_path: Path) -> None:
    path = write_amplification_figure(grid({"greedy": 0.0}, seeds=1), tmp_path / "figure.png")
    assert path.stat().st_size > 5_000


def test_latency__refuses_results_without_that_latency(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="no result has read latencies, run with event-driven timing"):
        latency_figure(RESULTS, tmp_path / "figure.png", operation="read")


def test_figure__refuses_no_results(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="at least one result"):
        write_amplification_figure([], tmp_path / "figure.png")
