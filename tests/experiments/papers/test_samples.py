"""Values of metrics at the places of a figure."""

from __future__ import annotations

from ssdgym.experiments.papers.samples import Place, Sample, relative, values_of
from ssdgym.experiments.results import Result

BIG, SMALL = Place("big", "a", "1"), Place("small", "a", "1")


def sample(place: Place, seed: int, **metrics: float) -> Sample:
    return Sample(place, Result(place.series, "", place.workload, "greedy", seed, metrics=metrics))


def test_a_metric_per_another_is_measured_where_the_other_is_not_zero() -> None:
    found = [
        sample(BIG, 0, pages=30, erases=3),
        sample(BIG, 1, pages=60, erases=4),
        sample(SMALL, 0, pages=30, erases=0),
        sample(SMALL, 1, pages=30, erases=1),
    ]
    assert values_of(found, "pages per erases", per_unit=5) == {BIG: {0: 2.0, 1: 3.0}}
    assert values_of(found, "pages per moves") == {}
    assert values_of(found, "moves per pages") == {}


def test_values_are_relative_to_a_bar_at_its_own_variant_or_at_a_named_one() -> None:
    other = Place("small", "a", "2")
    values = {BIG: {0: 6.0}, SMALL: {0: 3.0}, other: {0: 2.0}}
    assert relative(values, "small") == {BIG: {0: 2.0}, SMALL: {0: 1.0}, other: {0: 1.0}}
    assert relative(values, "small", "2") == {BIG: {0: 3.0}, SMALL: {0: 1.5}, other: {0: 1.0}}
