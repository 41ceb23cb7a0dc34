"""Intervals over seeds of a training, workloads and seeds of evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.statistics import (
    geometric_mean_ratio,
    iqm,
    iqm_of_all,
    mean_win_rate,
    pooled_bootstrap,
    stratified_bootstrap,
)

RNG = np.random.default_rng(1)


def test_pooled__of_one_member__is_the_stratified_bootstrap() -> None:
    scores = RNG.normal(size=(8, 5))
    found = pooled_bootstrap([scores[np.newaxis]], iqm_of_all)
    other = stratified_bootstrap(scores, iqm)
    assert found.value == pytest.approx(other.value)
    # Other draws of the same distribution: the limits agree but for the error of the bootstrap.
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.02)


def test_pooled__members_that_differ__widen_the_interval() -> None:
    alike = RNG.normal(0, 0.01, size=(5, 4, 6))
    apart = alike + np.array([-1.0, -0.5, 0.0, 0.5, 1.0])[:, np.newaxis, np.newaxis]
    narrow, wide = (pooled_bootstrap([scores], iqm_of_all) for scores in (alike, apart))
    assert wide.value == pytest.approx(narrow.value, abs=0.05)
    assert wide.high - wide.low > 10 * (narrow.high - narrow.low)


def test_pooled__of_two_samples__draws_both() -> None:
    ours, theirs = np.full((2, 2, 3), 1.0), np.full((1, 2, 3), 2.0)
    found = pooled_bootstrap([ours, theirs], lambda left, right: mean_win_rate(-left, -right))
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_ratio__is_the_geometric_mean_of_all() -> None:
    ratios = np.array([[[0.5, 2.0], [0.5, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])
    assert geometric_mean_ratio(ratios, ["a", "b"]).value == pytest.approx(1.0)
    assert geometric_mean_ratio(ratios[:1, :, :1], ["a"]).value == pytest.approx(0.5)


def test_ratio__its_interval__is_over_workloads_with_all_their_tasks() -> None:
    # Two workloads on three devices each: the tasks of one are the same, so there are two samples, not six.
    ratios = np.exp(np.array([-0.1, -0.1, -0.1, 0.1, 0.1, 0.1]))[np.newaxis, np.newaxis]
    together = geometric_mean_ratio(ratios, ["a", "a", "a", "b", "b", "b"])
    apart = geometric_mean_ratio(ratios, list("abcdef"))
    assert (np.log(together.low), np.log(together.high)) == pytest.approx((-0.1, 0.1))
    assert apart.high - apart.low < together.high - together.low


def test_ratio__training_seeds__are_drawn_for_all_tasks_at_once() -> None:
    ratios = np.exp(np.array([-0.1, 0.1]))[:, np.newaxis, np.newaxis] * np.ones((2, 3, 4))
    found = geometric_mean_ratio(ratios, list("abcd"))
    assert (np.log(found.low), np.log(found.high)) == pytest.approx((-0.1, 0.1))


def test_interval__of_a_single_run__there_is_none() -> None:
    assert np.isnan(pooled_bootstrap([np.ones((1, 1, 3))], iqm_of_all).low)
    assert np.isnan(geometric_mean_ratio(np.ones((1, 1, 3)), ["a", "a", "a"]).low)


def test_interval__the_same_seed__the_same_limits() -> None:
    ratios = np.exp(RNG.normal(size=(3, 4, 5)))
    assert geometric_mean_ratio(ratios, list("aabbc")) == geometric_mean_ratio(ratios, list("aabbc"))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (np.ones((2, 2)), "must be a non-empty array"),
        (np.full((1, 1, 1), np.inf), "must be finite numbers"),
        (np.zeros((1, 1, 1)), "needs positive ratios"),
    ],
)
def test_ratio__of_what_has_none__refused(scores: np.ndarray, expected: str) -> None:
    with pytest.raises(SsdgymError, match=expected):
        geometric_mean_ratio(scores, ["a"])
