"""The figure of a trace: a real picture, whatever is missing from the trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from ssdgym.experiments.report.trace import trace_figure
from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.record import Records
from ssdgym.workloads.traces.statistics import summarize
from tests.workloads.traces.sources import PAGE, ArraySource, make_records

BLUE, ORANGE = (0.0, 0.447, 0.698), (0.835, 0.369, 0.0)


def draw(records: Records, path: Path) -> np.ndarray:
    summary = summarize(ArraySource(records))
    pixels = image.imread(trace_figure(summary, ArraySource(records), "a trace", path))
    assert pixels.shape[0] > 800 and pixels.shape[1] > 1200
    return pixels


def count(pixels: np.ndarray, color: tuple[float, float, float]) -> int:
    return int((abs(pixels[..., :3] - color) < 0.02).all(axis=-1).sum())


def test_figure__shows_reads_and_writes_each_in_its_color(tmp_path: Path) -> None:
    rows = [(t * 1000, t * PAGE, PAGE, t % 2, READ if t % 3 else WRITE) for t in range(60)]
    pixels = draw(make_records(rows), tmp_path / "trace.png")
    assert count(pixels, BLUE) > 100 and count(pixels, ORANGE) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["trace.png"]


def test_figure__of_reads_alone_has_nothing_but_the_key_in_the_color_of_writes(tmp_path: Path) -> None:
    pixels = draw(make_records([(t * 1000, t * PAGE, PAGE, 0, READ) for t in range(60)]), tmp_path / "t.png")
    assert 0 < count(pixels, ORANGE) < 300 < count(pixels, BLUE)


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 0, PAGE, 0, WRITE)],
        [(5, 7 * PAGE, PAGE, 0, WRITE)] * 3,
        [(0, 0, 0, 0, FLUSH)],
        [(0, 0, PAGE, 0, TRIM), (10, 0, PAGE, 0, TRIM)],
    ],
    ids=["one request", "all at once", "no bytes", "trims only"],
)
def test_figure__is_drawn_of_degenerate_traces(
    rows: list[tuple[int, int, int, int, int]], tmp_path: Path
) -> None:
    assert draw(make_records(rows), tmp_path / "trace.png").std() > 0
