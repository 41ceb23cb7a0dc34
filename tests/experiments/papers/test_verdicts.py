"""Verdicts that a paper's claim can fail, and what is said beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ssdgym.experiments.papers.report import claim_lines
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.results import Result
from tests.experiments.papers.claimed import MEASURED, VARIANTS, along, check, claim, samples

#: By seed, changes of -90, -20 and -20 % on a, and of -30 % on b: the largest by the first seed is that on a.
LUCKY = samples(
    {
        ("small", "a"): [100, 100, 100],
        ("big", "a"): [10, 80, 80],
        ("small", "b"): [100, 100, 100],
        ("big", "b"): [70, 70, 70],
    }
)
#: Nothing is to be divided by on c, or next to nothing.
TINY = samples({("small", "c"): [1, 1], ("big", "c"): [9, 9]})


def test_the_largest_change_is_chosen_on_half_of_the_seeds_and_tested_on_the_others() -> None:
    (largest,) = check(LUCKY, claim("change", statistic="maximum"))
    assert largest.measured[0].value == pytest.approx(-0.2)
    assert largest.verdict_text == "direction holds (on a, chosen on other seeds)"
    assert largest.chosen == "a, chosen on other seeds"
    (smallest,) = check(LUCKY, claim("change", statistic="minimum"))
    assert smallest.measured[0].value == pytest.approx(-0.3)
    assert smallest.verdict_text == "holds within a factor two (on b, chosen on other seeds)"


def test_of_two_seeds_one_is_left_to_test_on_and_there_is_no_verdict() -> None:
    (checked,) = check(MEASURED, claim("change", statistic="maximum"))
    assert checked.verdict_text == "too few seeds: no verdict (on b, chosen on other seeds)"
    assert checked.measured_text == "-80.0% (no interval)"


def test_on_one_trace_there_is_nothing_to_choose() -> None:
    (checked,) = check(LUCKY, claim("change", statistic="maximum", workloads=("b",)))
    assert (checked.verdict_text, checked.chosen) == ("holds within a factor two", "")
    assert checked.measured[0].value == pytest.approx(-0.3)


def test_one_seed_has_no_verdict_unless_nothing_is_drawn() -> None:
    first = [sample for sample in MEASURED if sample.result.seed == 0]
    (checked,) = check(first, claim("direction"))
    assert (checked.verdict, checked.measured_text) == ("one seed: no verdict", "-65.0% (no interval)")
    exact = [replace(sample, exact=True) for sample in first]
    assert check(exact, claim("direction"))[0].verdict == "direction holds"
    (largest,) = check(exact, claim("change", statistic="maximum"))
    assert largest.verdict_text == "holds within a factor two (on b)"


def test_a_trace_that_draws_nothing_goes_with_every_seed_of_the_others() -> None:
    played = [
        replace(sample, exact=True)
        for sample in MEASURED
        if sample.place.workload == "a" and not sample.result.seed
    ]
    drawn = samples({("small", "b"): [100, 100], ("big", "b"): [50, 30]})
    (checked,) = check([*played, *drawn], claim("direction"))
    assert (checked.measured[0].low, checked.measured[0].high) == pytest.approx((-0.6, -0.5))
    assert checked.verdict == "direction holds"


@pytest.mark.parametrize("kind", ["direction", "trend"])
def test_a_direction_by_next_to_nothing_is_negligible(kind: str) -> None:
    def found(percent: float) -> str:
        falls = along(1000, 1000, round(1000 - 10 * percent))
        other = samples({("small", name, v): [1000, 1000] for name in "ab" for v in "124"})
        where = {"variants": "4"} if kind == "direction" else {}
        return check([*falls, *other], claim(kind, **where), **VARIANTS)[0].verdict.split(",")[0]

    assert found(0.9) == "negligible"
    assert found(1.1) == "direction holds"


def test_a_tenth_of_what_is_claimed_is_negligible_on_each_trace_and_at_a_limit() -> None:
    near = samples(
        {
            ("small", "a"): [100, 100],
            ("big", "a"): [95, 95],
            ("small", "b"): [100, 100],
            ("big", "b"): [40, 40],
        }
    )
    assert check(near, claim("change", statistic="each"))[0].verdict == "negligible"
    assert check(near, claim("limit", statistic="each"))[0].verdict == "negligible"
    assert check(near, claim("limit"))[0].verdict == "direction holds, limit missed"


def test_an_order_of_changes_that_are_none_is_negligible() -> None:
    flat = samples(
        {
            ("small", "a"): [1000, 1000],
            ("big", "a"): [1001, 1001],
            ("small", "b"): [1000, 1000],
            ("big", "b"): [999, 999],
        }
    )
    assert check(flat, claim("extreme"))[0].verdict == "negligible"
    assert check(flat, claim("extreme", against=()))[0].verdict == "holds"


def test_a_share_is_on_the_same_side_of_one_as_the_claimed_one() -> None:
    same = [*along(50, 60, 50), *samples({("small", name, "1"): [50, 50] for name in "ab"})]
    assert check(same, claim("share", claimed=0.6), **VARIANTS)[0].verdict == "does not hold"
    nearly = [*along(500, 600, 490), *samples({("small", name, "1"): [500, 500] for name in "ab"})]
    assert check(nearly, claim("share", claimed=0.6), **VARIANTS)[0].verdict == "negligible"


@pytest.mark.parametrize("statistic", ["mean", "median", "maximum", "minimum"])
def test_a_trace_with_next_to_nothing_to_divide_by_is_left_out_and_named(statistic: str) -> None:
    (checked,) = check(
        [*MEASURED, *TINY], claim("change", statistic=statistic, workloads=()), workloads=tuple("abc")
    )
    assert (checked.workloads, checked.left_out) == (("a", "b"), ("c",))
    assert checked.measured_text.endswith(
        ", on 2 of 3 traces (without c: less than 1% of the others to divide by)"
    )
    (every,) = check([*MEASURED, *TINY], claim("change", statistic="each"), workloads=tuple("abc"))
    assert (every.left_out, every.measured[0].value) == ((), pytest.approx(8.0))


def test_a_trend_has_what_it_divides_by_at_every_variant() -> None:
    """The metric over that of another series, which has next to nothing on c at one of the variants."""
    sizes = {"a": (100, 100, 100), "b": (100, 100, 100), "c": (100, 0.5, 100)}
    other = samples({("small", n, v): [m, m] for n in "abc" for v, m in zip("124", sizes[n], strict=True)})
    own = samples({("big", n, v): [m, m] for n in "abc" for v, m in zip("124", (100, 80, 60), strict=True)})
    (checked,) = check([*own, *other], claim("trend", against="small"), workloads=tuple("abc"), **VARIANTS)
    assert (checked.left_out, checked.measured[0].value) == (("c",), pytest.approx(-0.4))


def test_a_mean_can_be_weighed_by_a_metric_of_the_other_bar() -> None:
    """On a half of 100 is saved, on b nothing of 300: half of a quarter of all."""

    def sample(series: str, workload: str, seed: int, erases: int, pages: int) -> Sample:
        metrics = {"erases": erases, "pages": pages}
        return Sample(Place(series, workload, ""), Result(series, "", workload, "", seed, metrics=metrics))

    both = [
        sample(series, workload, seed, erases, pages)
        for seed in (0, 1)
        for series, workload, erases, pages in (
            ("small", "a", 100, 100),
            ("big", "a", 50, 7),
            ("small", "b", 300, 300),
            ("big", "b", 300, 7),
        )
    ]
    (weighed,) = check(both, claim("direction", weights="pages"))
    assert weighed.measured[0].value == pytest.approx(-0.125)
    assert check(both, claim("direction"))[0].measured[0].value == pytest.approx(-0.25)
    with pytest.raises(ValueError, match="weighs a median; only a mean takes weights"):
        check(both, claim("direction", statistic="median", weights="pages"))


def test_a_claim_that_holds_by_itself_says_so_where_it_holds() -> None:
    reason = {"kind": "arithmetic", "why": "half of two is one"}
    (holds,) = check(MEASURED, claim("change", holds_by=reason))
    assert holds.verdict_text == "holds within a factor two (by arithmetic: half of two is one)"
    assert claim_lines("1", [holds])[0].endswith(f" | {holds.verdict_text}")
    (fails,) = check(MEASURED, claim("change", change=0.6, holds_by=reason))
    assert fails.verdict_text == "does not hold"


def on_three(series: str, changes: tuple[int, int, int], variant: str = "") -> list[Sample]:
    """A series on three workloads, with the same value from both seeds."""
    return samples({(series, name, variant): [value] * 2 for name, value in zip("abc", changes, strict=True)})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((110, 120, 10), "carried by c"),
        ((100, 100, 10), "carried by c"),
        ((150, 40, 30), "direction holds"),
        ((110, 120, 30), "carried by c"),
        ((90, 90, 10), "direction holds"),
        ((110, 110, 99), "does not hold"),
        ((100, 101, 98), "negligible"),
    ],
)
def test_a_mean_that_is_on_its_side_because_of_one_trace_is_carried_by_it(
    values: tuple[int, int, int], expected: str
) -> None:
    three, found = {"workloads": tuple("abc")}, on_three("big", values)
    (direction,) = check([*on_three("small", (100,) * 3), *found], claim("direction"), **three)
    assert direction.verdict_text == expected
    steps = {"axis": "layers", "variants": {"": {}, "2": {}}}
    along_two = [*on_three("big", (100,) * 3), *on_three("big", values, "2")]
    (trend,) = check(along_two, claim("trend"), **three, **steps)
    assert trend.verdict_text == expected


def test_a_number_and_a_limit_that_one_trace_carries_do_not_hold_either() -> None:
    found = [*on_three("small", (100,) * 3), *on_three("big", (110, 120, 10))]
    claims = claim("change", change=-0.2), claim("limit", limit=-0.1), claim("change", statistic="median")
    change, limit, median = check(found, *claims, workloads=tuple("abc"))
    assert change.verdict_text == limit.verdict_text == "carried by c"
    assert (change.verdict, change.carrier) == ("carried by one trace", "c")
    assert (median.verdict, median.carrier) == ("does not hold", "")


def test_a_trace_that_carries_a_mean_does_so_by_its_weight() -> None:
    found = [*on_three("small", (100,) * 3), *on_three("big", (90, 90, 130))]
    heavy = {("small", "a"): 1000.0, ("small", "b"): 1.0, ("small", "c"): 100.0}
    weighed = [
        replace(one, result=replace(one.result, metrics=one.result.metrics | {"moves": heavy[one.place[:2]]}))
        if one.place.series == "small"
        else one
        for one in found
    ]
    (checked,) = check(weighed, claim("direction", weights="moves"), workloads=tuple("abc"))
    assert checked.verdict_text == "carried by a"


@pytest.mark.parametrize(
    ("value", "exactly", "or_less"),
    [
        (1300, "does not hold", "holds"),
        (600, "holds within a factor two", "holds"),
        (400, "holds within a factor two", "holds within a factor two"),
        (250, "does not hold", "does not hold"),
    ],
)
def test_of_a_value_that_may_be_less_any_smaller_one_holds(value: int, exactly: str, or_less: str) -> None:
    of_mean = {"series": "small", "claimed": value}  # it is 575, from 550 to 600
    both = check(MEASURED, claim("value", **of_mean), claim("value", or_less=True, **of_mean))
    assert [one.verdict for one in both] == [exactly, or_less]
    assert [one.claim.describe() for one in both] == [f"{value}", f"{value} or less"]


def test_what_is_measured_at_other_variants_stands_beside_the_verdict() -> None:
    found = [
        *on_three("small", (100,) * 3, "short"),
        *on_three("big", (90, 90, 90), "short"),
        *on_three("small", (100,) * 3, "long"),
        *on_three("big", (70, 40, 40), "long"),
    ]
    variants = {"axis": "warm-up", "variants": {"short": {}, "long": {}}, "also_at": ("long",)}
    own, named = check(
        found,
        claim("direction"),
        claim("direction", variants="long"),
        workloads=tuple("abc"),
        **variants,
    )
    assert own.measured_text == "-10.0% [-10.0%, -10.0%] (long warm-up: -50.0%)"
    assert own.elsewhere == {"long warm-up": pytest.approx(-0.5)}
    assert named.measured_text == "-50.0% [-50.0%, -50.0%]"
