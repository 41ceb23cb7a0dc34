"""Values of metrics at the places of a figure, and comparisons of them by seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from ssdgym.experiments.papers.samples import Column, Compared, Place, Sample, relative, values_of
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


def compared(*rows: list[float], names: Sequence[str] = (), weights: Sequence[float] = ()) -> Compared:
    count = len(rows[0])
    fields = zip("abcdefgh"[:count], names or [""] * count, weights or [1.0] * count, strict=True)
    columns = tuple(Column({}, workload, name, weight=weight) for workload, name, weight in fields)
    return Compared(np.array(rows), columns)


@pytest.mark.parametrize("seeds", range(2, 12))
def test_of_a_single_comparison_the_interval_is_students(seeds: int) -> None:
    scores = np.random.default_rng(0).normal(5, 1, seeds)
    found = compared(*([score] for score in scores)).mean()
    low, high = stats.t.interval(0.95, seeds - 1, scores.mean(), stats.sem(scores))
    assert (found.low, found.value, found.high) == pytest.approx((low, scores.mean(), high), rel=1e-3)


def test_of_several_it_is_that_of_a_bootstrap() -> None:
    found = compared([1.0, 2.0], [1.0, 4.0]).mean()
    assert (found.low, found.value, found.high) == (1.5, 2.0, 2.5)


def test_a_mean_takes_weights() -> None:
    found = compared([1.0, 2.0], [1.0, 4.0], weights=(3.0, 1.0)).mean()
    assert (found.low, found.value, found.high) == (1.25, 1.5, 1.75)


@pytest.mark.parametrize(("seeds", "first", "others"), [(1, 1, 1), (2, 1, 1), (3, 1, 2), (5, 2, 3)])
def test_halves_share_no_seed_where_there_are_two(seeds: int, first: int, others: int) -> None:
    parts = compared(*([float(seed)] for seed in range(seeds))).halves()
    assert [len(part.scores) for part in parts] == [first, others]
    both = np.concatenate([part.scores for part in parts])
    assert len(np.unique(both)) == seeds


def test_a_comparison_is_named_by_its_trace_its_variant_and_the_other_bar() -> None:
    named = compared([1.0, 2.0], names=("", "at 4 against big"))
    assert [named.name_of(index) for index in range(2)] == ["a", "b at 4 against big"]
    assert named.part(slice(1, 2)).name_of(0) == "b at 4 against big"
