"""Claims of papers, judged on made-up results whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.checks import CheckedClaim, check_claims
from ssdgym.experiments.papers.claims import KINDS
from ssdgym.experiments.papers.claims.base import Compared, Verdict
from ssdgym.experiments.papers.config import FigureConfig
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.results import Result

#: Kinds other than trends are judged by what was measured alone.
NOTHING = Compared(np.empty((1, 0)), np.empty(0, dtype=str))

_VALUES: dict[str, dict[str, Any]] = {
    "change": {"change": -0.6},
    "limit": {"limit": -0.6},
    "unchanged": {"within": 0.02},
    "direction": {"direction": "falls"},
    "range": {"low": -0.8, "high": -0.4},
    "value": {"value": 100.0},
    "trend": {"direction": "falls"},
    "at_most": {"value": 200.0},
    "extreme": {"which": "lowest", "workloads": ("b",)},
    "resembles": {"metric": "moves", "rather_than": "rounds"},
}


def claim(kind: str, **fields: Any) -> dict[str, Any]:
    against = {} if kind in ("value", "trend", "at_most") else {"against": "small"}
    own = {"kind": kind, "said": "it falls", "source": "section 1", "series": "big"}
    return {**own, **against, **_VALUES[kind], **fields}


def figure(*claims: dict[str, Any], **fields: Any) -> FigureConfig:
    return FigureConfig(
        **{
            "paper": "a paper",
            "figure": "1",
            "title": "erases",
            "devices": ("small", "big"),
            "workloads": ("a", "b"),
            "series": "device",
            "panels": ({"metric": "erases", "unit": "blocks", "claims": claims},),
            "scales": {"smoke": {"seeds": 1}},
            **fields,
        }
    )


def check(samples: list[Sample], *claims: dict[str, Any], **fields: Any) -> list[CheckedClaim]:
    one = figure(*claims, **fields)
    return check_claims(one, one.panels[0], samples)


def samples(erases: dict[tuple[str, ...], list[int | None]]) -> list[Sample]:
    """Samples from erases by (device, workload) or (device, workload, variant), one for each seed."""
    return [
        Sample(
            Place(place[0], place[1], place[2] if len(place) > 2 else ""),
            Result(place[0], "", place[1], "greedy", seed, metrics={"erases": value}),
        )
        for place, values in erases.items()
        for seed, value in enumerate(values)
    ]


MEASURED = samples(
    {
        ("small", "a"): [100, 200],
        ("big", "a"): [50, 100],
        ("small", "b"): [1000, 1000],
        ("big", "b"): [200, 200],
    }
)
VARIANTS = {"axis": "layers", "variants": {"1": {}, "2": {}, "4": {}}}


def along(*means: int) -> list[Sample]:
    """One series over the three variants, on both workloads."""
    return samples({("big", name, v): [m, m] for name in "ab" for v, m in zip("124", means, strict=True)})


def judge(fields: dict[str, Any], *measured: tuple[float, float, float]) -> Verdict:
    (one,) = figure(fields, **(VARIANTS if fields["kind"] == "trend" else {})).panels[0].claims
    return one.judge([Estimate(*numbers) for numbers in measured], NOTHING)


def test_every_kind_is_registered_by_its_module() -> None:
    kinds = {str(kind.model_json_schema()["properties"]["kind"]["const"]) for kind in KINDS}
    assert kinds == set(_VALUES)


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
def test_a_change_holds_by_direction_and_by_magnitude(
    change: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert judge(claim("change", change=change), measured) == expected


@pytest.mark.parametrize(
    ("limit", "measured", "expected"),
    [
        (-0.8, (-0.85, -0.9, -0.81), "holds"),
        (-0.8, (-0.85, -0.9, -0.79), "direction holds, limit missed"),
        (-0.8, (-0.1, -0.2, 0.01), "does not hold"),
        (0.2, (0.1, 0.05, 0.15), "holds"),
        (0.2, (0.3, 0.25, 0.35), "direction holds, limit missed"),
    ],
)
def test_a_limit_holds_only_if_the_whole_interval_keeps_it(
    limit: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert judge(claim("limit", limit=limit), measured) == expected


def test_no_change_holds_within_its_width() -> None:
    assert judge(claim("unchanged"), (0.01, 0.0, 0.015)) == "holds"
    assert judge(claim("unchanged"), (0.01, 0.0, 0.03)) == "does not hold"


def test_a_direction_holds_if_the_interval_is_on_its_side() -> None:
    assert judge(claim("direction"), (-0.1, -0.2, -0.05)) == "direction holds"
    assert judge(claim("direction"), (-0.1, -0.2, 0.05)) == "does not hold"
    assert judge(claim("direction", direction="rises"), (-0.1, -0.2, -0.05)) == "does not hold"


def test_a_range_holds_if_both_ends_keep_within_it() -> None:
    assert judge(claim("range"), (-0.7, -0.75, -0.6), (-0.5, -0.6, -0.45)) == "holds"
    assert judge(claim("range"), (-0.7, -0.85, -0.6), (-0.5, -0.6, -0.45)) == "does not hold"
    assert judge(claim("range"), (-0.7, -0.75, -0.6), (-0.5, -0.6, -0.35)) == "does not hold"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.02, "holds within a factor two"), (1.03, "does not hold"), (1.004, "does not hold")],
)
def test_a_value_is_compared_by_what_it_has_beyond_its_least(value: float, expected: Verdict) -> None:
    assert judge(claim("value", value=1.01, beyond=1), (value - 1e-9, np.nan, np.nan)) == expected
    assert judge(claim("value", value=1.01), (value, np.nan, np.nan)) == "holds within a factor two"


@pytest.mark.parametrize(
    ("value", "measured", "expected"),
    [
        (0.0, (0.0, 0.0, 0.0), "holds"),
        (2.0, (1.5, 1.0, 2.0), "holds"),
        (2.0, (1.5, 1.0, 2.5), "does not hold"),
    ],
)
def test_a_bound_holds_if_the_whole_interval_keeps_it(
    value: float, measured: tuple[float, float, float], expected: Verdict
) -> None:
    assert judge(claim("at_most", value=value), measured) == expected


def test_an_extreme_and_a_resemblance_hold_if_the_interval_does_not_reach_zero() -> None:
    for fields in (claim("extreme"), claim("resembles")):
        assert judge(fields, (-0.1, -0.2, -0.05)) == "holds"
        assert judge(fields, (-0.1, -0.2, 0.0)) == "does not hold"
    assert judge(claim("extreme", which="highest"), (0.1, 0.05, 0.2)) == "holds"
    assert judge(claim("extreme", which="highest"), (-0.1, -0.2, -0.05)) == "does not hold"


@pytest.mark.parametrize(
    ("statistic", "expected"), [("mean", -0.65), ("maximum", -0.8), ("each", -0.5), ("median", -0.65)]
)
def test_changes_are_paired_by_seed_and_summed_up_as_claimed(statistic: str, expected: float) -> None:
    (finding,) = check(MEASURED, claim("change", statistic=statistic))
    assert finding.per_workload == {"a": -0.5, "b": -0.8}
    assert finding.measured[0].value == pytest.approx(expected)
    assert finding.workloads == ("a", "b")


def test_a_claim_can_be_about_some_workloads() -> None:
    (finding,) = check(MEASURED, claim("change", workloads=("b",)))
    assert finding.measured[0].value == pytest.approx(-0.8)
    assert finding.as_dict()["workloads"] == ["b"]
    assert finding.claimed == 1


def test_against_several_series_the_mean_counts() -> None:
    third = samples({("huge", "a"): [100, 200], ("huge", "b"): [250, 250]})
    devices = {"devices": ("small", "big", "huge")}
    (finding,) = check([*MEASURED, *third], claim("change", against=("small", "huge")), **devices)
    assert finding.measured[0].value == pytest.approx(np.mean([-0.5, -0.8, -0.5, -0.2]))


def test_of_most_workloads_the_median_counts() -> None:
    third = samples({("small", "c"): [100, 100], ("big", "c"): [200, 200]})
    (finding,) = check([*MEASURED, *third], claim("direction", statistic="median"), workloads=tuple("abc"))
    assert finding.measured[0].value == pytest.approx(-0.5)


def test_a_bound_is_one_for_every_workload() -> None:
    (finding,) = check(MEASURED, claim("at_most", value=200))
    assert (finding.measured[0].value, finding.verdict) == (200.0, "holds")
    assert check(MEASURED, claim("at_most", value=199))[0].verdict == "does not hold"
    (nothing,) = check(samples({("big", "a"): [0, 0]}), claim("at_most", value=0))
    assert (nothing.verdict, nothing.measured_text) == ("holds", "0.000 [0.000, 0.000], on 1 of 2 traces")


@pytest.mark.parametrize(
    ("fields", "distance", "expected"),
    [
        ({"which": "lowest", "workloads": ("b",)}, -0.2, "holds"),
        ({"which": "lowest", "workloads": ("b", "c")}, -0.1, "holds"),
        ({"which": "highest", "workloads": ("a",)}, 0.1, "holds"),
        ({"which": "lowest", "workloads": ("c",)}, 0.2, "does not hold"),
        ({"which": "highest", "workloads": ("a", "b")}, -0.2, "does not hold"),
        ({"which": "highest", "workloads": ("b",), "against": ()}, 125.0, "holds"),
    ],
)
def test_an_extreme_is_measured_by_its_distance_from_the_rest(
    fields: dict[str, Any], distance: float, expected: Verdict
) -> None:
    third = samples({("small", "c"): [100, 100], ("big", "c"): [40, 40]})
    # Changes of a, b and c: -0.5, -0.8 and -0.6; their erases: 75, 200 and 40.
    (finding,) = check([*MEASURED, *third], claim("extreme", **fields), workloads=tuple("abc"))
    assert finding.measured[0].value == pytest.approx(distance)
    assert finding.verdict == expected
    assert finding.workloads == ("a", "b", "c")
    assert finding.measured_text.endswith("from the nearest of the others")


def test_an_extreme_is_not_measured_without_those_it_names_or_without_others() -> None:
    for only in "ab":
        alone = [sample for sample in MEASURED if sample.place.workload == only]
        assert check(alone, claim("extreme"))[0].verdict == "not measured"


@pytest.mark.parametrize(
    ("moves", "rounds", "distance", "expected"), [(45, 80, -0.25, "holds"), (90, 45, 0.35, "does not hold")]
)
def test_a_metric_resembles_the_one_whose_changes_are_nearer(
    moves: int, rounds: int, distance: float, expected: Verdict
) -> None:
    """The metric itself falls from 100 to 50, by 50 %."""

    def sample(series: str, **metrics: int) -> Sample:
        return Sample(Place(series, "a", ""), Result(series, "", "a", "greedy", 0, metrics=metrics))

    both = [
        sample("small", erases=100, moves=100, rounds=100),
        sample("big", erases=50, moves=moves, rounds=rounds),
    ]
    (finding,) = check(both, claim("resembles"))
    assert finding.measured[0].value == pytest.approx(distance)
    assert finding.verdict == expected
    assert finding.measured_text == f"{distance:+.1%} (one seed, no interval) of distance, on 1 of 2 traces"
    assert check([both[0], sample("big", erases=50, moves=45)], claim("resembles"))[0].measured == ()


def test_a_trend_can_be_one_over_another_series() -> None:
    """The metric rises along the variants, and less than that of the other series does."""
    other = samples(
        {("small", name, v): [m, m] for name in "ab" for v, m in zip("124", (1, 2, 4), strict=True)}
    )
    both = [*along(100, 150, 200), *other]
    assert check(both, claim("trend"), **VARIANTS)[0].verdict == "does not hold"
    (finding,) = check(both, claim("trend", against="small"), **VARIANTS)
    assert finding.measured[0].value == pytest.approx(-0.5)
    assert finding.verdict == "direction holds"


def test_a_range_shows_the_smallest_change_and_the_largest() -> None:
    (finding,) = check(MEASURED, claim("range"))
    assert [estimate.value for estimate in finding.measured] == pytest.approx([-0.8, -0.5])
    assert (finding.verdict, finding.measured_text) == ("holds", "-80.0% to -50.0%")


def test_a_value_is_the_mean_over_workloads() -> None:
    (finding,) = check(MEASURED, claim("value", value=275, beyond=75))
    assert finding.measured[0].value == pytest.approx((75 + 200) / 2)
    assert finding.verdict == "does not hold"
    assert finding.measured_text.endswith("0.3 times the paper's beyond 75")


@pytest.mark.parametrize(
    ("means", "direction", "expected", "change"),
    [
        ((100, 80, 60), "falls", "direction holds", -0.4),
        ((100, 120, 60), "falls", "direction holds, but not at every step", -0.4),
        ((100, 80, 60), "rises", "does not hold", -0.4),
        ((100, 110, 150), "rises", "direction holds", 0.5),
    ],
)
def test_a_trend_goes_from_the_first_variant_to_the_last(
    means: tuple[int, ...], direction: str, expected: Verdict, change: float
) -> None:
    (finding,) = check(along(*means), claim("trend", direction=direction), **VARIANTS)
    assert finding.verdict == expected
    assert finding.measured[0].value == pytest.approx(change)


def test_a_claim_can_be_about_some_variants() -> None:
    both = [*along(50, 60, 70), *samples({("small", name, v): [100, 100] for name in "ab" for v in "124"})]
    (one,) = check(both, claim("change", variants="2"), **VARIANTS)
    (every,) = check(both, claim("change"), **VARIANTS)
    assert [found.measured[0].value for found in (one, every)] == pytest.approx([-0.4, -0.4])
    (last,) = check(both, claim("change", variants=("4",)), **VARIANTS)
    assert last.measured[0].value == pytest.approx(-0.3)


def test_where_nothing_can_be_compared_a_workload_is_left_out_and_that_is_said() -> None:
    nothing = samples({("small", "a"): [0, 1], ("big", "a"): [1, 1]})
    rest = [sample for sample in MEASURED if sample.place.workload == "b"]
    (finding,) = check([*nothing, *rest], claim("change"))
    assert finding.workloads == ("b",)
    assert finding.measured_text.endswith("], on 1 of 2 traces")
    lacking = samples({("small", "a"): [100, 100], ("big", "a"): [50, None]})
    assert check([*lacking, *rest], claim("change"))[0].workloads == ("b",)
    (none,) = check(nothing, claim("change"))
    assert (none.verdict, none.measured, none.measured_text) == ("not measured", (), "nothing")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (claim("change", series="huge"), "claims.0.series 'huge', which is no device of it"),
        (claim("change", against="huge"), "claims.0.against 'huge', which is no device of it"),
        (claim("change", workloads=("c",)), "claims.0.workloads 'c', which is no workload of it"),
        (claim("change", variants=("c",)), "claims.0.variants 'c', which is no variant of it"),
        (claim("change", change=0), "claim the kind unchanged"),
        (claim("limit", limit=0), "claim the kind direction"),
        (claim("range", low=0.5), "give low below high"),
        (claim("value", beyond=200), "must be above beyond = 200"),
        (claim("trend"), "needs at least two variants"),
        (claim("trend", against="huge"), "claims.0.against 'huge', which is no device of it"),
        (claim("extreme", workloads=("a", "b")), "an extreme in panels.0.claims.0 of all its workloads"),
        (claim("extreme", workloads=()), "at least 1 item"),
    ],
)
def test_a_claim_that_cannot_be_checked_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"panels": ({"metric": "x", "unit": "1", "normalise_to": "huge"},)}, "is normalised to 'huge'"),
        ({"panels": ({"metric": "x", "unit": "1"},) * 2}, "two panels the same name"),
        ({"over_provisioning": {"c": 1.0}}, "over_provisioning 'c'"),
        ({"scales": {"smoke": {"seeds": 1, "workloads": ("c",)}}}, "scales.smoke.workloads"),
        ({"scales": {"smoke": {"seeds": 1, "devices": {"c": "small"}}}}, "scales.smoke.devices 'c'"),
    ],
)
def test_a_figure_that_contradicts_itself_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(**fields)


def test_what_is_said_reads_as_the_paper_means_it() -> None:
    kinds = [kind for kind in _VALUES if kind != "trend"]
    claims = figure(*(claim(kind) for kind in kinds)).panels[0].claims
    texts = dict(zip(kinds, [one.describe() for one in claims], strict=True))
    assert texts == {
        "change": "-60.0%",
        "limit": "at least -60.0%",
        "unchanged": "within 2.0%",
        "direction": "lower",
        "range": "-80.0% to -40.0%",
        "value": "100",
        "at_most": "at most 200",
        "extreme": "lowest",
        "resembles": "nearer to moves than to rounds",
    }
