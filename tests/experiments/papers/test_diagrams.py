"""Kinds of diagrams: their tables and their pictures."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.config import PanelConfig
from ssdgym.experiments.papers.diagrams import bars
from ssdgym.experiments.papers.report import diagrams_of, draw, markdown
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.report.style import legend_below
from ssdgym.experiments.results import Result
from tests.experiments.papers.claimed import figure as erases_figure
from tests.experiments.papers.claimed import samples
from tests.experiments.papers.made import SMALL, measured, tiny_figure


def test_panels_of_a_figure__have_their_tables_and_one_picture(traces: Path, tmp_path: Path) -> None:
    panel = {"metric": "erases", "unit": "blocks"}
    figure = tiny_figure(panels=({"name": "a", **panel}, {"name": "b", **panel}))
    diagrams = diagrams_of(figure, measured(figure, SMALL, traces))
    assert [diagram.panel.name for diagram in diagrams] == ["a", "b"]
    text = markdown(figure, ("smoke", SMALL), [(diagram, []) for diagram in diagrams], [])
    assert text.count("\n| trace | greedy | fifo |\n| --- | ---: | ---: |\n| made | ") == 2
    assert draw(figure, diagrams, tmp_path / "figure.png").stat().st_size > 5000
    (axes,) = Figure().subplots(1, squeeze=False)[0]
    diagrams[0].draw(axes, True)
    (row,) = diagrams[0].rows
    assert [bar.get_height() for bar in axes.patches] == [one.value for one in row.estimates]


def test_the_mean_is_over_all_traces_or_not_at_all(traces: Path) -> None:
    figure = tiny_figure(workloads=("made", "other"))
    made = measured(tiny_figure(), SMALL, traces)
    other = [Sample(one.place._replace(workload="other"), one.result) for one in made]
    first, _, last = bars(figure, figure.panels[0], [*made, *other]).rows
    assert (first.names, last.names) == (("made",), ("mean",))
    assert [one.value for one in last.estimates] == pytest.approx([one.value for one in first.estimates])
    lacking = [Sample(one.place, replace(one.result, metrics={})) for one in other]
    *_, last = bars(figure, figure.panels[0], [*made, *lacking]).rows
    assert all(isnan(one.value) for one in last.estimates)


#: Two fields with two values each, and erases in each of the four cells.
CELLS = {
    f"{x}, {y}": {"workload.theta": x, "ftl.gc.free_blocks": y, "workload.footprint": 0.5}
    for x in (0, 1)
    for y in (2, 3)
}
MAP_PANEL = {"metric": "erases", "unit": "blocks", "diagram": "heat_map"}


def test_a_heat_map_has_a_cell_for_each_variant(tmp_path: Path) -> None:
    values = {"0, 2": 10, "0, 3": 20, "1, 2": 30, "1, 3": 40}
    found = samples(
        {
            (bar, name, cell): [value * scale, value * scale]
            for bar, scale in (("small", 1), ("big", 2))
            for name in "ab"
            for cell, value in values.items()
        }
    )
    panel = {**MAP_PANEL, "normalise_to": "small", "normalise_at": "0, 3"}
    figure = erases_figure(variants=CELLS, axis="theta, blocks", panels=(panel,))
    (diagram,) = diagrams_of(figure, found)
    assert diagram.name_columns == ("trace", "theta", "ftl.gc.free_blocks")
    assert diagram.unit == "small at 0, 3 = 1"
    cells = {row.names: [one.value for one in row.estimates] for row in diagram.rows}
    assert cells["a", "0", "2"] == [0.5, 1.0]
    assert cells["b", "1", "3"] == [2.0, 4.0]
    assert draw(figure, [diagram], tmp_path / "figure.png").stat().st_size > 5000


def test_stacked_bars_show_the_parts_of_a_metric(tmp_path: Path) -> None:
    metrics = {"total": 10, "one": 4, "other": 6}
    found = [
        Sample(Place("big", name, variant), Result("big", "", name, "greedy", 1, metrics=metrics))
        for name in "ab"
        for variant in "12"
    ]
    panel = {"metric": "total", "unit": "s", "per_unit": 2, "diagram": "stacked", "parts": ("one", "other")}
    figure = erases_figure(variants={"1": {}, "2": {}}, axis="n", devices=("big",), panels=(panel,))
    (diagram,) = diagrams_of(figure, found)
    assert (diagram.name_columns, diagram.number_columns) == (("trace", "n"), ("one", "other"))
    assert [row.names for row in diagram.rows][-2:] == [("mean", "1"), ("mean", "2")]
    assert all([one.value for one in row.estimates] == [2.0, 3.0] for row in diagram.rows)
    assert draw(figure, [diagram], tmp_path / "figure.png").stat().st_size > 5000
    with pytest.raises(SsdgymError, match="a stacked diagram shows the parts of one series; give its panel"):
        diagrams_of(erases_figure(panels=(panel,)), found)


def test_lines_show_samples_and_their_means_in_a_table(tmp_path: Path) -> None:
    """Without samples, or relative to a series, there is nothing to draw."""
    column, metrics = "free_pages/mean", {"free_pages": {"mean": 12.0, "threshold": 10}}
    series = {"host_pages": [10, 20, 30, 40], column: [40.0, 14.0, 10.0, 12.0]}
    result = Result("big", "", "a", "greedy", 1, metrics=metrics, series=series)
    panel = {"metric": column, "unit": "pages", "diagram": "lines", "window": (0.5, 1.0)}
    figure = erases_figure(devices=("big",), panels=(panel,))
    (diagram,) = diagrams_of(figure, [Sample(Place("big", "a", ""), result)])
    assert [[one.value for one in row.estimates] for row in diagram.rows] == [[12.0]]
    (axes,) = Figure().subplots(1, squeeze=False)[0]
    diagram.draw(axes, True)
    line, threshold = axes.get_lines()
    assert [list(line.get_xdata()), list(line.get_ydata())] == [[20, 30, 40], [14.0, 10.0, 12.0]]
    assert list(threshold.get_ydata()) == [10, 10]
    assert draw(figure, [diagram], tmp_path / "figure.png").stat().st_size > 5000
    plain = [Sample(Place("big", "a", ""), replace(result, series={}))]
    with pytest.raises(SsdgymError, match="lines show what samples have; set sample_pages"):
        diagrams_of(figure, plain)
    with pytest.raises(
        ValueError, match="shows a window from 0.5 to 0.5; give two rising shares from 0 to 1"
    ):
        PanelConfig(**{**panel, "window": (0.5, 0.5)})


def test_a_heat_map_needs_variants_of_two_fields() -> None:
    one = {"0": {"workload.theta": 0}, "1": {"workload.theta": 1}}
    with pytest.raises(SsdgymError, match="variants that differ in two fields, not in 1; draw it as bars"):
        diagrams_of(erases_figure(variants=one, panels=(MAP_PANEL,)), [])


def test_picture__its_legend_names_what_all_panels_show() -> None:
    picture = Figure()
    panels = picture.subplots(2)
    for axes, labels in zip(panels, (("reads", "writes"), ("writes", "erases")), strict=True):
        for label in labels:
            axes.bar([0], [1], label=label)
    legend_below(picture, *panels)
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["reads", "writes", "erases"]


@pytest.mark.parametrize("label", ["speedupgc_{}", "a series with a rather long name {}", "{}"])
def test_a_legend__is_never_wider_than_its_picture(label: str) -> None:
    picture = Figure(figsize=(6.4, 3.0), layout="constrained")
    axes = picture.subplots()
    for number in range(7):
        axes.plot([0, 1], label=label.format(number))
    legend_below(picture, axes, columns=6)
    FigureCanvasAgg(picture).draw()
    (legend,) = picture.legends
    assert legend.get_window_extent().width <= picture.bbox.width
