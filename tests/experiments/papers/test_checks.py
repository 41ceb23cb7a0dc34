"""Claims of papers, checked on made-up results whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.experiments.papers.claims import Verdict
from ssdgym.experiments.papers.report import claim_lines
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.results import Result
from tests.experiments.papers.claimed import MEASURED, VARIANTS, along, check, claim, samples


@pytest.mark.parametrize(
    ("statistic", "expected"), [("mean", -0.65), ("maximum", -0.8), ("each", -0.5), ("median", -0.65)]
)
def test_changes_are_paired_by_seed_and_summed_up_as_claimed(statistic: str, expected: float) -> None:
    (checked,) = check(MEASURED, claim("change", statistic=statistic))
    assert checked.per_workload == {"a": -0.5, "b": -0.8}
    assert checked.measured[0].value == pytest.approx(expected)
    assert checked.workloads == ("a", "b")


def test_a_claim_can_be_about_some_workloads() -> None:
    (checked,) = check(MEASURED, claim("change", workloads=("b",)))
    assert checked.measured[0].value == pytest.approx(-0.8)
    assert checked.workloads == ("b",)
    assert checked.claimed == 1


def test_the_means_that_a_paper_may_have_taken_stand_beside_the_one_that_is_judged() -> None:
    """Bars of 0.5 and 0.2 of 150 and 1000 erases."""
    (checked,) = check(MEASURED, claim("change", other_means=True))
    assert checked.measured[0].value == pytest.approx(-0.65)
    assert list(checked.means.values()) == pytest.approx([1 / 0.35, 3.5, 10**0.5, 1150 / 275])
    assert checked.measured_text.endswith("geometric mean: 3.16 times; ratio of the sums: 4.18 times)")
    assert check(MEASURED, claim("change"))[0].means == {}


def test_against_several_series_the_mean_counts() -> None:
    third = samples({("huge", "a"): [100, 200], ("huge", "b"): [250, 250]})
    devices = {"devices": ("small", "big", "huge")}
    (checked,) = check([*MEASURED, *third], claim("change", against=("small", "huge")), **devices)
    assert checked.measured[0].value == pytest.approx(np.mean([-0.5, -0.8, -0.5, -0.2]))


def test_of_most_workloads_the_median_counts() -> None:
    third = samples({("small", "c"): [100, 100], ("big", "c"): [200, 200]})
    (checked,) = check([*MEASURED, *third], claim("direction", statistic="median"), workloads=tuple("abc"))
    assert checked.measured[0].value == pytest.approx(-0.5)


def test_a_bound_is_one_for_every_workload() -> None:
    (checked,) = check(MEASURED, claim("at_most", claimed=200))
    assert (checked.measured[0].value, checked.verdict) == (200.0, "holds")
    assert check(MEASURED, claim("at_most", claimed=199))[0].verdict == "does not hold"
    (nothing,) = check(samples({("big", "a"): [0, 0]}), claim("at_most", claimed=0))
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
    (checked,) = check([*MEASURED, *third], claim("extreme", **fields), workloads=tuple("abc"))
    assert checked.measured[0].value == pytest.approx(distance)
    assert checked.verdict == expected
    assert checked.workloads == ("a", "b", "c")
    assert checked.measured_text.endswith("from the nearest of the others")


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
        return Sample(
            Place(series, "a", ""), Result(series, "", "a", "greedy", 0, metrics=metrics), exact=True
        )

    both = [
        sample("small", erases=100, moves=100, rounds=100),
        sample("big", erases=50, moves=moves, rounds=rounds),
    ]
    (checked,) = check(both, claim("resembles"))
    assert checked.measured[0].value == pytest.approx(distance)
    assert checked.verdict == expected
    assert checked.measured_text == f"{distance:+.1%} (no interval) of distance, on 1 of 2 traces"
    assert checked.claim.describe() == "nearer to moves than to rounds"
    assert check([both[0], sample("big", erases=50, moves=45)], claim("resembles"))[0].measured == ()


def test_a_trend_can_be_one_over_another_series() -> None:
    """The metric rises along the variants, and less than that of the other series does."""
    other = samples(
        {("small", name, v): [m, m] for name in "ab" for v, m in zip("124", (1, 2, 4), strict=True)}
    )
    both = [*along(100, 150, 200), *other]
    assert check(both, claim("trend"), **VARIANTS)[0].verdict == "does not hold"
    (checked,) = check(both, claim("trend", against="small"), **VARIANTS)
    assert checked.measured[0].value == pytest.approx(-0.5)
    assert checked.verdict == "direction holds"


def test_a_range_shows_the_smallest_change_and_the_largest() -> None:
    (checked,) = check(MEASURED, claim("between"))
    assert [estimate.value for estimate in checked.measured] == pytest.approx([-0.8, -0.5])
    assert (checked.verdict, checked.measured_text) == ("holds", "-80.0% to -50.0%")


def test_a_value_is_the_mean_over_workloads() -> None:
    (checked,) = check(MEASURED, claim("value", claimed=275, beyond=75))
    assert checked.measured[0].value == pytest.approx((75 + 200) / 2)
    assert checked.verdict == "does not hold"
    assert checked.measured_text.endswith("0.3 times the paper's beyond 75")


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
    (checked,) = check(along(*means), claim("trend", direction=direction), **VARIANTS)
    assert checked.verdict == expected
    assert checked.measured[0].value == pytest.approx(change)


def test_a_share_is_one_bar_at_a_variant_over_another_at_its_own() -> None:
    both = [*along(50, 60, 30), *samples({("small", name, "1"): [100, 200] for name in "ab"})]
    (checked,) = check(both, claim("share", within=0.1), **VARIANTS)
    assert checked.measured[0].value == pytest.approx((0.3 + 0.15) / 2)
    assert (checked.claim.describe(), checked.verdict) == ("50.0% within 10.0%", "does not hold")
    assert checked.measured_text == "22.5% [15.0%, 30.0%]"
    (own,) = check(both, claim("share", against="big"), **VARIANTS)
    assert (own.measured[0].value, own.verdict) == (0.6, "holds within a factor two")
    assert check(along(50, 60, 30), claim("share"), **VARIANTS)[0].verdict == "not measured"


def test_each_unchanged_is_judged_by_the_change_farthest_from_zero() -> None:
    near = samples(
        {
            ("small", "a"): [100, 100],
            ("big", "a"): [105, 105],
            ("small", "b"): [100, 100],
            ("big", "b"): [100, 100],
        },
    )
    (checked,) = check(near, claim("unchanged", statistic="each"))
    assert (checked.measured[0].value, checked.verdict) == (pytest.approx(0.05), "does not hold")


def test_a_claim_can_be_about_some_variants() -> None:
    both = [*along(50, 60, 70), *samples({("small", name, v): [100, 100] for name in "ab" for v in "124"})]
    (one,) = check(both, claim("change", variants="2"), **VARIANTS)
    (every,) = check(both, claim("change"), **VARIANTS)
    assert [found.measured[0].value for found in (one, every)] == pytest.approx([-0.4, -0.4])
    (last,) = check(both, claim("change", variants=("4",)), **VARIANTS)
    assert last.measured[0].value == pytest.approx(-0.3)


def test_others_can_be_taken_at_another_variant() -> None:
    """The series rises from 50 to 70 along the variants; the other has 100 at the first and 200 elsewhere."""
    other = {("small", name, v): [m, m] for name in "ab" for v, m in zip("124", (100, 200, 200), strict=True)}
    both = [*along(50, 60, 70), *samples(other)]
    (checked,) = check(both, claim("change", variants="4", at="1"), **VARIANTS)
    assert checked.measured[0].value == pytest.approx(-0.3)
    (own,) = check(both, claim("unchanged", against="big", variants="4", at="1"), **VARIANTS)
    assert (own.measured[0].value, own.verdict) == (pytest.approx(0.4), "does not hold")
    with pytest.raises(ValueError, match=r"names in panels.0.claims.0.at '8', which is no variant of it"):
        check(both, claim("change", at="8"), **VARIANTS)


def test_where_nothing_can_be_compared_a_workload_is_left_out_and_that_is_said() -> None:
    nothing = samples({("small", "a"): [0, 1], ("big", "a"): [1, 1]})
    rest = [sample for sample in MEASURED if sample.place.workload == "b"]
    (checked,) = check([*nothing, *rest], claim("change"))
    assert checked.workloads == ("b",)
    assert checked.measured_text.endswith("], on 1 of 2 traces")
    lacking = samples({("small", "a"): [100, 100], ("big", "a"): [50, None]})
    assert check([*lacking, *rest], claim("change"))[0].workloads == ("b",)
    (none,) = check(nothing, claim("change"))
    assert (none.verdict, none.measured, none.measured_text) == ("not measured", (), "nothing")


@pytest.mark.parametrize(
    ("kind", "paper", "here"),
    [
        ("change", "-60.0%", "-65.0% [-65.0%, -65.0%] | holds within a factor two"),
        ("limit", "at least -60.0%", "-65.0% [-65.0%, -65.0%] | holds"),
        ("unchanged", "within 2.0%", "-65.0% [-65.0%, -65.0%] | does not hold"),
        ("direction", "lower", "-65.0% [-65.0%, -65.0%] | direction holds"),
        ("between", "-80.0% to -40.0%", "-80.0% to -50.0% | holds"),
        ("value", "100", "137.500 [125.000, 150.000], 1.4 times the paper's | holds within a factor two"),
        ("at_most", "at most 200", "200.000 [200.000, 200.000] | holds"),
        ("extreme", "lowest", "-30.0% [-30.0%, -30.0%] from the nearest of the others | holds"),
    ],
)
def test_line__says_what_the_paper_claims_what_was_measured_and_the_verdict(
    kind: str, paper: str, here: str
) -> None:
    assert claim_lines("1", check(MEASURED, claim(kind))) == [
        f"figure 1: it falls (section 1) | paper {paper} | here {here}"
    ]
