"""Comparisons by seed, their intervals and their halves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ssdgym.experiments.papers.samples import Compared


def compared(*rows: list[float], **fields: object) -> Compared:
    names = np.array(list("abcdefgh")[: len(rows[0])])
    return Compared(np.array(rows), names, **fields)  # type: ignore[arg-type]


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
    assert named.only(1).name_of(0) == "b at 4 against big"
