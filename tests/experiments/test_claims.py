"""Claims of papers, judged on made-up results whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.reproduce import ClaimConfig, FigureConfig
from ssdgym.errors import SsdgymError
from ssdgym.experiments.claims import Verdict, check_claims, verdict
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate


def claim(change: float, **fields: Any) -> ClaimConfig:
    return ClaimConfig(
        **{
            "said": "it falls",
            "source": "section 1",
            "series": "big",
            "against": "small",
            "statistic": "mean",
            "change": change,
            **fields,
        }
    )


def figure(*claims: ClaimConfig, **fields: Any) -> FigureConfig:
    return FigureConfig(
        **{
            "paper": "a paper",
            "figure": "1",
            "title": "erases",
            "devices": ("small", "big"),
            "workloads": ("a", "b"),
            "series": "device",
            "metric": "erases",
            "unit": "blocks",
            "claims": claims,
            "scales": {"smoke": {"seeds": 1}},
            **fields,
        }
    )


def results(erases: dict[tuple[str, str], list[int]]) -> list[Result]:
    """Results from erases by (device, workload), one for each seed."""
    return [
        Result(device, "", workload, "greedy", seed, metrics={"erases": value})
        for (device, workload), values in erases.items()
        for seed, value in enumerate(values)
    ]


MEASURED = results(
    {
        ("small", "a"): [100, 200],
        ("big", "a"): [50, 100],
        ("small", "b"): [1000, 1000],
        ("big", "b"): [200, 200],
    }
)


@pytest.mark.parametrize(
    ("change", "measured", "expected"),
    [
        (-0.5, (-0.4, -0.45, -0.35), "holds within a factor two"),
        (-0.5, (-0.25, -0.3, -0.2), "holds within a factor two"),
        (-0.5, (-0.24, -0.3, -0.2), "direction holds"),
        (-0.3, (-0.7, -0.8, -0.6), "direction holds"),
        (-0.5, (-0.4, -0.9, 0.1), "does not hold"),
        (-0.5, (0.4, 0.3, 0.5), "does not hold"),
        (0.2, (0.3, 0.2, 0.4), "holds within a factor two"),
        (0.2, (0.3, np.nan, np.nan), "holds within a factor two"),
    ],
)
def test_a_value_holds_by_direction_and_by_magnitude(
    change: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert verdict(claim(change), Estimate(*measured)) == expected


@pytest.mark.parametrize(
    ("change", "measured", "expected"),
    [
        (-0.8, (-0.85, -0.9, -0.81), "holds"),
        (-0.8, (-0.85, -0.9, -0.79), "direction holds, limit missed"),
        (-0.8, (-0.1, -0.2, 0.01), "does not hold"),
        (0.2, (0.1, 0.05, 0.15), "holds"),
        (0.2, (0.3, 0.25, 0.35), "direction holds, limit missed"),
    ],
)
def test_a_limit_holds_only_if_the_whole_interval_keeps_it(
    change: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert verdict(claim(change, bound=True), Estimate(*measured)) == expected


def test_no_change_holds_within_its_width() -> None:
    nothing = claim(0, unchanged_within=0.02)
    assert verdict(nothing, Estimate(0.01, 0.0, 0.015)) == "holds"
    assert verdict(nothing, Estimate(0.01, 0.0, 0.03)) == "does not hold"


@pytest.mark.parametrize(("statistic", "expected"), [("mean", -0.65), ("maximum", -0.8), ("each", -0.5)])
def test_changes_are_paired_by_seed_and_summed_up_as_claimed(statistic: str, expected: float) -> None:
    (finding,) = check_claims(figure(claim(-0.6, statistic=statistic)), MEASURED)
    assert finding.per_workload == {"a": -0.5, "b": -0.8}
    assert finding.measured.value == pytest.approx(expected)
    assert finding.workloads == ("a", "b")


def test_a_claim_can_be_about_some_workloads() -> None:
    (finding,) = check_claims(figure(claim(-0.6, workloads=("b",))), MEASURED)
    assert finding.measured.value == pytest.approx(-0.8)
    assert finding.as_dict()["workloads"] == ["b"]


def test_what_cannot_be_compared_is_an_error() -> None:
    with pytest.raises(SsdgymError, match="there is no result of big"):
        check_claims(figure(claim(-0.5)), [one for one in MEASURED if one.device == "small"])
    with pytest.raises(SsdgymError, match="big and small have other seeds on b"):
        check_claims(figure(claim(-0.5)), MEASURED[:-1])
    with pytest.raises(SsdgymError, match="erases of small is 0 on a, so nothing can be compared"):
        check_claims(figure(claim(-0.5)), results({("small", "a"): [0], ("big", "a"): [0]}))
    with pytest.raises(SsdgymError, match="no workload of the claim 'it falls' was run"):
        check_claims(figure(claim(-0.5, workloads=("b",))), results({("small", "a"): [1], ("big", "a"): [1]}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"claims": (claim(-0.5, series="huge"),)}, "claims.0.series 'huge', which is no device of it"),
        ({"claims": (claim(-0.5, workloads=("c",)),)}, "claims.0.workloads 'c', which is no workload of it"),
        ({"normalise_to": "huge"}, "is normalised to 'huge'"),
        ({"over_provisioning": {"c": 1.0}}, "over_provisioning 'c'"),
        ({"scales": {"smoke": {"seeds": 1, "workloads": ("c",)}}}, "scales.smoke.workloads 'c'"),
    ],
)
def test_a_figure_that_contradicts_itself_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(**fields)


def test_a_claim_of_no_change_needs_a_width() -> None:
    with pytest.raises(ValueError, match="unchanged_within"):
        claim(0)
