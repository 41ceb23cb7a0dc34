"""Claims without a verdict: what was played writes too little, or nothing published can be compared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ssdgym.experiments.papers.checks import CheckedClaim, check_claims
from ssdgym.experiments.papers.report import claim_lines, diagrams_of, markdown
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.results import Result
from tests.experiments.papers.claimed import MEASURED, claim, figure
from tests.experiments.papers.made import SMALL, measured, tiny_figure

CHANGE = claim("change", change=-0.5)


def made(writes: dict[str, int], big: int = 50) -> list[Sample]:
    """Runs of two seeds on two devices with 100 spare pages, from what the host writes on each workload."""
    return [
        Sample(
            Place(series, name, ""),
            Result(series, "", name, "", seed, metrics={"erases": erases, "host_pages_written": pages}),
            spare_pages=100,
        )
        for name, pages in writes.items()
        for series, erases in (("small", 100), ("big", big))
        for seed in (1, 2)
    ]


def check(samples: list[Sample], *claims: dict[str, Any], **fields: Any) -> list[CheckedClaim]:
    one = figure(*claims, **{"least_writes": 1, **fields})
    return check_claims(one, one.panels[0], samples)


@pytest.mark.parametrize(("pages", "verdict"), [(100, "holds within a factor two"), (99, "not measured")])
@pytest.mark.parametrize("big", [50, 45])
def test_the_input_decides_what_is_judged_and_no_outcome(pages: int, verdict: str, big: int) -> None:
    (checked,) = check(made({"a": pages}, big), CHANGE)
    assert checked.verdict == verdict
    # What was found is shown either way.
    assert checked.measured[0].value == pytest.approx(big / 100 - 1)


def test_the_verdict_says_why_there_is_none() -> None:
    (checked,) = check(made({"a": 42}), CHANGE)
    why = "0.42 host pages per spare page, under 1"
    assert checked.verdict_text == f"not measured: {why}"
    assert checked.unmeasured == {"a": why}
    assert claim_lines("1", [checked])[0].endswith(f"| not measured: {why}")


def test_a_workload_that_writes_too_little_is_left_out_where_others_are_left() -> None:
    (checked,) = check(made({"a": 10, "b": 100}), CHANGE)
    assert checked.workloads == ("b",) and checked.verdict == "holds within a factor two"
    assert "(without a: not measured there)" in checked.measured_text
    (nowhere,) = check(made({"a": 10, "b": 20}), CHANGE)
    assert nowhere.verdict_text.startswith("not measured: on no trace, such as a: 0.10 host pages per spare")
    (every,) = check(made({"a": 10, "b": 100}), CHANGE, least_writes=None)
    assert every.workloads == ("a", "b")


def test_a_panel_can_be_about_something_else() -> None:
    panel = {"metric": "erases", "unit": "blocks", "always_measured": True, "claims": (CHANGE,)}
    (checked,) = check(made({"a": 0}), panels=(panel,))
    assert checked.verdict == "holds within a factor two"
    (incomparable,) = check(made({"a": 0}), {**CHANGE, "not_comparable": {"why": "nobody knows"}})
    assert incomparable.verdict_text == "not comparable: nobody knows"


def test_what_is_written_stands_beneath_the_figure(traces: Path) -> None:
    one = tiny_figure(least_writes=0.5)
    played = measured(one, SMALL, traces)
    spare = played[0].spare_pages
    text = markdown(one, ("smoke", SMALL), [(diagrams_of(one, played)[0], [])], played)
    assert (
        "\nClaims are judged where this is at least 0.5:\n\n"
        f"- host pages written per spare page on made: {1601 / spare:.2f}\n"
    ) in text


#: Claims on which no verdict is given, whatever was measured.
ASSUMED = [replace(sample, result=replace(sample.result, assumed="extent_bytes")) for sample in MEASURED]


def verdict(samples: list[Sample], scale: str, **reason: Any) -> str:
    one = figure(claim("value", not_comparable={"why": "nobody knows", **reason}))
    (checked,) = check_claims(one, one.panels[0], samples, scale)
    return checked.verdict


def test_the_reason_stands_beside_what_was_measured() -> None:
    one = figure(claim("value", not_comparable={"why": "nobody knows"}))
    (checked,) = check_claims(one, one.panels[0], MEASURED)
    assert checked.measured[0].value == pytest.approx((75 + 200) / 2)
    assert checked.verdict_text == "not comparable: nobody knows"
    (line,) = claim_lines("1", [checked])
    assert line.endswith(" times the paper's | not comparable: nobody knows")


def test_it_may_hold_for_some_scales_only() -> None:
    assert verdict(MEASURED, "small", scales=["smoke", "small"]) == "not comparable"
    assert verdict(MEASURED, "paper", scales=["smoke", "small"]) == "holds within a factor two"


def test_it_may_hold_for_synthetic_traces_only() -> None:
    assert verdict(ASSUMED, "paper", played="synthetic") == "not comparable"
    assert verdict(MEASURED, "paper", played="synthetic") == "holds within a factor two"


def test_what_was_not_measured_is_not_called_incomparable() -> None:
    assert verdict([], "paper") == "not measured"
