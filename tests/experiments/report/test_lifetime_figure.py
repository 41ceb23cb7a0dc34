"""The figure of lifetimes: which policies none beats, and where it is drawn at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.figures import (
    LIFE,
    Point,
    lifetime_figure,
    points_of,
    report_figures,
    unbeaten,
)
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate
from tests.experiments.synthetic import grid

#: Write amplification above 2, and millions of host pages.
LIVES = {"level": (0.1, 2.0), "none": (0.0, 1.0), "eager": (0.5, 1.9), "same": (0.1, 2.0)}


def lived(ended: bool = True, workloads: tuple[str, ...] = ("zipf",)) -> list[Result]:
    made = grid({name: offset for name, (offset, _) in LIVES.items()}, seeds=3, workloads=workloads)
    return [
        replace(
            one,
            metrics={
                **one.metrics,
                "end_of_life": ended,
                "lifetime": {"host_pages_written": 1e6 * LIVES[one.policy][1] + one.seed},
            },
        )
        for one in made
    ]


def points(pairs: list[tuple[int, int]]) -> list[Point]:
    none = float("nan")
    return [
        Point(str(k), Estimate(float(wa), none, none), Estimate(float(life), none, none))
        for k, (wa, life) in enumerate(pairs)
    ]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_unbeaten__those_that_a_sweep_by_write_amplification_leaves(pairs: list[tuple[int, int]]) -> None:
    """Of each write amplification the longest lives, if they are longer than all with less of it."""
    expected, longest = [], 0
    for amplification in sorted({wa for wa, _ in pairs}):
        best = max(life for wa, life in pairs if wa == amplification)
        if best > longest:
            expected += [k for k, pair in enumerate(pairs) if pair == (amplification, best)]
            longest = best
    assert sorted(int(point.policy) for point in unbeaten(points(pairs))) == sorted(expected)


def test_figure__the_beaten_are_faint_and_the_line_joins_the_others() -> None:
    results = lived(workloads=("zipf", "uniform"))
    figure = lifetime_figure(results, learned=["level"])
    assert [axes.get_title() for axes in figure.axes] == ["zipf", "uniform", "all 2 tasks"]
    drawn = {container.get_label(): container.lines[0] for container in figure.axes[0].containers}
    assert {name: line.get_alpha() < 1 for name, line in drawn.items()} == {
        "level": False,
        "none": False,
        "eager": True,
        "same": False,
    }
    assert drawn["level"].get_markerfacecolor() == "none"
    (steps,) = (line for line in figure.axes[0].lines if line.get_linestyle() == ":")
    assert steps.get_ydata() == pytest.approx([1.0, 2.0, 2.0], abs=1e-5)
    assert [point.policy for point in unbeaten(points_of(results))] == ["none", "level", "same"]


def test_figure__one_device_with_other_fields__titles_have_the_fields_alone() -> None:
    made = lived()
    devices = ("demo(capacity.over_provisioning=0.07)", "demo(capacity.over_provisioning=0.28)")
    both = [replace(one, device=device) for device in devices for one in made]
    titles = [axes.get_title() for axes in lifetime_figure(both).axes]
    assert titles[:2] == [f"zipf\ncapacity.over_provisioning={share}" for share in (0.07, 0.28)]


def test_figure__short_lives__in_thousands_and_every_policy_with_a_mark_of_its_own() -> None:
    many = grid({f"policy {k}": k / 10 for k in range(12)}, seeds=2, workloads=("zipf",))
    life = {"end_of_life": True, "lifetime": {"host_pages_written": 9_000.0}}
    figure = lifetime_figure([replace(one, metrics={**one.metrics, **life}) for one in many])
    assert figure.axes[0].get_ylabel() == "lifetime (thousand host pages)"
    lines = [container.lines[0] for container in figure.axes[0].containers]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 12
    assert lines[1].get_ydata()[0] == pytest.approx(9.0)


@pytest.mark.parametrize("results", [grid({"a": 0.0}), lived(ended=False)], ids=["no lives", "no ends"])
def test_report__without_lives_to_the_end__has_no_such_figure(results: list[Result]) -> None:
    assert "lifetime" not in [found.name for found in report_figures(results)]
    with pytest.raises(SsdgymError, match="no task has lifetimes in all of its results"):
        lifetime_figure(results)


def test_report__with_them__has_it() -> None:
    assert "lifetime" in [found.name for found in report_figures(lived())]
    assert all(one.measured(LIFE) for one in lived())
