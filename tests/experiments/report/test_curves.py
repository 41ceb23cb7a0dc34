"""Curves over what an experiment varies, and the short names of policies in tables and figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ssdgym.experiments.report.comparison import short_names
from ssdgym.experiments.report.figures import curve_figure, report_figures, varied_fields
from ssdgym.experiments.report.files import write_html_report
from ssdgym.experiments.report.summary import Shown, markdown_table
from ssdgym.experiments.results import Result

LONG = "cost_benefit(since_close=1)+td_lifetime"
FIELD = "capacity.over_provisioning"


def runs(*values: float, policies: tuple[str, ...] = ("greedy", LONG)) -> list[Result]:
    """Return results whose write amplification is 1 / value, and 0.5 more for the second policy."""
    return [
        Result(
            f"demo({FIELD}={value})",
            "",
            "zipf99",
            policy,
            seed,
            metrics={"write_amplification": 1 / value + 0.5 * number, "host_pages_written": 10},
        )
        for value in values
        for number, policy in enumerate(policies)
        for seed in (1, 2)
    ]


def test_curve__has_the_means_over_the_values_in_order() -> None:
    results = runs(0.25, 0.1)
    assert list(varied_fields(results)) == [FIELD]
    figure = curve_figure(results, FIELD)
    assert figure is not None
    (axes,) = figure.axes
    lines = {
        line.get_color(): line for line in axes.get_lines() if line.get_marker() not in ("_", "|", "None")
    }
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in lines.values()]
    assert drawn == [([0.1, 0.25], [10, 4]), ([0.1, 0.25], [10.5, 4.5])]
    assert axes.get_xlabel() == FIELD
    assert f"curve_{FIELD.replace('.', '_')}" in [found.name for found in report_figures(Shown.of(results))]


@pytest.mark.parametrize("results", [runs(0.1), [replace(one, device="demo") for one in runs(0.1, 0.25)]])
def test_curve__of_one_value__is_none(results: list[Result]) -> None:
    assert list(varied_fields(results)) == []


def test_curve__over_an_ftl_option__and_none_where_a_policy_lacks_a_value() -> None:
    results = [
        replace(one, device="demo", ftl=f"gc.free_blocks={blocks}") for blocks in (4, 8) for one in runs(0.1)
    ]
    assert list(varied_fields(results)) == ["ftl.gc.free_blocks"]
    assert curve_figure(results, "ftl.gc.free_blocks") is not None
    some = [one for one in results if (one.policy, one.ftl) != ("greedy", "gc.free_blocks=4")]
    assert curve_figure(some, "ftl.gc.free_blocks") is None


def test_short_names__are_the_last_parts__whole_where_two_end_alike() -> None:
    assert short_names(["greedy", LONG, "ippbe(limit=4, tau=1e+0)"]) == {
        "greedy": "greedy",
        LONG: "td_lifetime",
        "ippbe(limit=4, tau=1e+0)": "ippbe(limit=4, tau=1e+0)",
    }
    alike = ["greedy+sepbit", "cost_benefit+sepbit"]
    assert short_names(alike) == {name: name for name in alike}


def test_report__shows_short_names__and_what_they_stand_for(tmp_path: Path) -> None:
    results = runs(0.1)
    assert "| td_lifetime |" in markdown_table(Shown.of(results))
    path = write_html_report(results, tmp_path / "report.html", tmp_path, reference=LONG)
    page = path.read_text(encoding="utf-8")
    assert ">td_lifetime</th>" in page and f"<b>td_lifetime</b> is {LONG}" in page
