"""Claims without a verdict: their runs have measured something else, or nothing published to compare with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.papers.checks import CheckedClaim, check_claims
from ssdgym.experiments.papers.config import MeasuredBy
from ssdgym.experiments.papers.report import claim_lines, diagrams_of, markdown
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.results import Result
from tests.experiments.papers.claimed import MEASURED, claim, figure
from tests.experiments.papers.made import SMALL, measured, tiny_figure

BY = {"part": "warm", "whole": "moved", "most": 0.9}
CHANGE = claim("change", change=-0.5)


def made(moves: dict[tuple[str, ...], tuple[int, int]], erases: dict[str, int] | None = None) -> list[Sample]:
    """Runs of two seeds from (warm, moved) by (series, workload) or (series, workload, variant)."""
    values = {"small": 100, "big": 50} | (erases or {})
    return [
        Sample(
            Place(place[0], place[1], place[2] if len(place) > 2 else ""),
            Result(
                place[0],
                "",
                place[1],
                "greedy",
                seed,
                metrics={"erases": values[place[0]], "warm": warm, "moved": moved},
            ),
        )
        for place, (warm, moved) in moves.items()
        for seed in (1, 2)
    ]


def check(samples: list[Sample], *claims: dict[str, Any], **fields: Any) -> list[CheckedClaim]:
    one = figure(*claims, measured_by=BY, **fields)
    return check_claims(one, one.panels[0], samples)


@pytest.mark.parametrize(
    ("warm", "verdict"),
    [(90, "holds within a factor two"), (91, "not measured"), (0, "holds within a factor two")],
)
def test_a_claim_is_judged_where_little_of_what_moved_is_warm(warm: int, verdict: str) -> None:
    (checked,) = check(made({("small", "a"): (warm, 100), ("big", "a"): (warm, 100)}), CHANGE)
    assert checked.verdict == verdict
    # What was found is shown either way.
    assert checked.measured[0].value == pytest.approx(-0.5)


def test_the_verdict_says_why_there_is_none() -> None:
    (checked,) = check(made({("small", "a"): (97, 100), ("big", "a"): (100, 100)}), CHANGE)
    assert checked.verdict_text == "not measured: 100.0% of moved are warm"
    assert checked.as_dict()["unmeasured"] == {"a": "100.0% of moved are warm"}
    assert claim_lines("1", [checked])[0].endswith("| not measured: 100.0% of moved are warm")
    (nothing,) = check(made({("small", "a"): (0, 0), ("big", "a"): (0, 0)}), CHANGE)
    assert nothing.verdict_text == "not measured: no moved"


def test_a_workload_that_does_not_measure_a_claim_is_left_out() -> None:
    samples = made(
        {(bar, name): (warm, 10) for bar in ("small", "big") for name, warm in (("a", 10), ("b", 0))}
    )
    (checked,) = check(samples, CHANGE)
    assert checked.workloads == ("b",) and checked.verdict == "holds within a factor two"
    assert "(without a: not measured there)" in checked.measured_text
    neither = made({(bar, name): (10, 10) for bar in ("small", "big") for name in "ab"})
    (nowhere,) = check(neither, CHANGE)
    assert nowhere.verdict_text == "not measured: on no trace, such as a: 100.0% of moved are warm"


def test_only_the_runs_that_a_claim_compares_count() -> None:
    """Each series of each trace by itself; another trace, variant or series does not matter."""
    both = made({("small", "a"): (1000, 1000), ("big", "a"): (0, 200), ("small", "b"): (0, 900)})
    others = made({("big", "b"): (0, 100)})
    everywhere, on_a, alone = check(
        [*both, *others], CHANGE, {**CHANGE, "workloads": ("a",)}, claim("at_most", value=60)
    )
    assert everywhere.workloads == ("b",)
    assert on_a.verdict == "not measured"  # all that the small device moved is warm
    assert alone.workloads == ("a", "b")  # the other series moved fresh pages only
    at_1, at_2 = check(
        made({(bar, "a", v): (warm, 10) for bar in ("small", "big") for v, warm in (("1", 10), ("2", 0))}),
        {**CHANGE, "variants": "1"},
        {**CHANGE, "variants": "2", "at": "2"},
        axis="n",
        variants={"1": {}, "2": {}},
    )
    assert (at_1.verdict, at_2.verdict) == ("not measured", "holds within a factor two")


def test_a_panel_can_be_about_something_else() -> None:
    samples = made({("small", "a"): (100, 100), ("big", "a"): (100, 100)})
    panel = {"metric": "erases", "unit": "blocks", "always_measured": True, "claims": (CHANGE,)}
    (checked,) = check(samples, panels=(panel,))
    assert checked.verdict == "holds within a factor two"
    reason = {"why": "nobody knows"}
    (incomparable,) = check(samples, {**CHANGE, "not_comparable": reason})
    assert incomparable.verdict_text == "not comparable: nobody knows"


def test_the_shares_stand_beneath_the_figure(traces: Path) -> None:
    samples = made({("small", "a"): (50, 100), ("big", "a"): (10, 30), ("small", "b"): (0, 0)})
    assert MeasuredBy(**BY).lines(samples) == [
        "warm of moved on a: small 50.0%, big 33.3%",
        "warm of moved on b: small -",
    ]
    one = tiny_figure(measured_by={"part": "padded_pages", "whole": "relocated_pages", "most": 0.5})
    played = measured(one, SMALL, traces)
    text = markdown(one, ("smoke", SMALL), [(diagrams_of(one, played)[0], [])], played)
    assert (
        "\nClaims are judged where this is at most 50%:\n\n- padded_pages of relocated_pages on made: gr"
        in text
    )


def test_runs_without_these_metrics_are_an_error() -> None:
    with pytest.raises(SsdgymError, match="has no metric 'cold'"):
        one = figure(CHANGE, measured_by={**BY, "part": "cold"})
        check_claims(one, one.panels[0], made({("small", "a"): (1, 2), ("big", "a"): (1, 2)}))


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
    assert checked.as_dict()["verdict"] == "not comparable"
    assert checked.as_dict()["not_comparable"]["why"] == "nobody knows"
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
