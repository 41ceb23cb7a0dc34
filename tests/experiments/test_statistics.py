"""Statistics against numbers worked out by hand, closed forms and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ssdgym.errors import SsdgymError
from ssdgym.experiments.statistics import (
    Estimate,
    geometric_mean_over_tasks,
    iqm,
    mean_over_tasks,
    probability_of_improvement,
    relative_difference,
    stratified_bootstrap,
)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([7.0], 7.0),
        ([1.0, 2.0, 9.0], 4.0),  # int(3 / 4) = 0 left out
        ([1.0, 2.0, 4.0, 100.0], 3.0),  # one left out at either end
        ([9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -50.0], 3.5),  # two left out at either end
    ],
)
def test_iqm__hand_computed(scores: list[float], expected: float) -> None:
    assert iqm(scores) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("shape", [(5, 3), (7, 1), (10, 4)])
def test_iqm__equals_scipy_trim_mean_over_runs_and_tasks(shape: tuple[int, int]) -> None:
    scores = np.random.default_rng(1).lognormal(size=shape)
    assert iqm(scores) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None), rel=1e-12)


def test_bootstrap__constant_scores_have_an_interval_of_width_zero() -> None:
    assert stratified_bootstrap(np.full((5, 2), 3.25)) == Estimate(3.25, 3.25, 3.25)


def test_bootstrap__same_seed_same_bits_other_seed_other_interval() -> None:
    scores = np.random.default_rng(2).normal(size=(6, 3))
    first = stratified_bootstrap(scores, seed=4, replicates=200)
    assert stratified_bootstrap(scores, seed=4, replicates=200) == first
    assert stratified_bootstrap(scores, seed=5, replicates=200).low != first.low


def test_bootstrap__resamples_runs_only_within_their_task() -> None:
    # Both runs of a task agree, so resampling within tasks cannot change anything, whereas pooling the
    # tasks would.
    scores = [[1.0, 10.0, 100.0], [1.0, 10.0, 100.0]]
    estimate = stratified_bootstrap(scores, lambda matrix: float(matrix.mean()), replicates=100)
    assert estimate == Estimate(37.0, 37.0, 37.0)


def test_bootstrap__interval_of_a_mean_follows_the_normal_approximation() -> None:
    scores = np.random.default_rng(3).normal(size=(400, 1))
    estimate = stratified_bootstrap(scores, lambda matrix: float(matrix.mean()), seed=0)
    half_width = 1.96 * scores.std() / math.sqrt(400)
    assert estimate.high - estimate.value == pytest.approx(half_width, rel=0.1)
    assert estimate.value - estimate.low == pytest.approx(half_width, rel=0.1)


def test_bootstrap__a_wider_confidence_contains_the_narrower() -> None:
    scores = np.random.default_rng(4).normal(size=(8, 2))
    narrow = stratified_bootstrap(scores, confidence=0.5)
    wide = stratified_bootstrap(scores, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_bootstrap__one_run_gives_no_interval_and_supports_no_claim() -> None:
    estimate = stratified_bootstrap([[1.0, 2.0]])
    assert estimate.value == 1.5
    assert math.isnan(estimate.low) and math.isnan(estimate.high)
    assert not estimate.excludes(1e9)


@pytest.mark.parametrize("scores", [[], [1.0, 2.0], [[1.0], [math.nan]]])
def test_bootstrap__refuses_what_is_no_score_matrix(scores: list[object]) -> None:
    with pytest.raises(SsdgymError, match="scores must be"):
        stratified_bootstrap(scores)  # type: ignore[arg-type]


def test_excludes__is_true_only_outside_the_interval() -> None:
    estimate = Estimate(-0.02, -0.03, -0.01)
    assert estimate.excludes(0.0)
    assert not estimate.excludes(-0.02)
    assert not estimate.excludes(-0.01)


def test_improvement__hand_computed_with_a_tie() -> None:
    # Task 1: of the four pairs (1, 2), (1, 3), (2, 2), (2, 3) three are lower and one is a tie: 3.5 / 4.
    # Task 2: never lower: 0.
    estimate = probability_of_improvement([[1.0, 5.0], [2.0, 5.0]], [[2.0, 1.0], [3.0, 1.0]])
    assert estimate.value == pytest.approx((3.5 / 4 + 0.0) / 2)


def test_improvement__equals_mann_whitney_and_mirrors_with_the_direction() -> None:
    rng = np.random.default_rng(5)
    ours, theirs = rng.normal(size=(9, 1)), rng.normal(0.5, size=(7, 1))
    u_statistic = stats.mannwhitneyu(ours[:, 0], theirs[:, 0]).statistic
    higher = probability_of_improvement(ours, theirs, lower_is_better=False, replicates=10)
    lower = probability_of_improvement(ours, theirs, replicates=10)
    assert higher.value == pytest.approx(u_statistic / 63)
    assert lower.value == pytest.approx(1 - higher.value)


def test_improvement__interval_of_certain_wins_is_certain() -> None:
    assert probability_of_improvement([[1.0], [2.0]], [[3.0], [4.0]]) == Estimate(1.0, 1.0, 1.0)


def test_improvement__refuses_different_tasks() -> None:
    with pytest.raises(SsdgymError, match="compares 1 tasks with 2"):
        probability_of_improvement([[1.0], [2.0]], [[1.0, 2.0], [3.0, 4.0]])


def test_relative_difference__pairs_by_seed_and_task() -> None:
    # Ten per cent lower everywhere, on tasks of very different scale.
    theirs = np.array([[2.0, 200.0], [3.0, 500.0]])
    estimate = relative_difference(0.9 * theirs, theirs)
    assert estimate.value == pytest.approx(-0.1)
    assert estimate.high == pytest.approx(-0.1)
    assert estimate.excludes(0.0)


def test_relative_difference__refuses_unpaired_or_non_positive_scores() -> None:
    with pytest.raises(SsdgymError, match="same seeds and tasks"):
        relative_difference([[1.0], [2.0]], [[1.0]])
    with pytest.raises(SsdgymError, match="positive"):
        relative_difference([[1.0], [2.0]], [[1.0], [0.0]])


def test_relative_difference__a_disaster_on_one_task_is_not_trimmed_away() -> None:
    theirs = np.ones((8, 5))
    ours = theirs * np.array([0.97, 0.97, 0.97, 0.97, 1.5])
    estimate = relative_difference(ours, theirs)
    assert estimate.value == pytest.approx((0.97**4 * 1.5) ** 0.2 - 1)
    assert estimate.low > 0


def test_means_over_tasks__take_the_middle_half_of_the_runs_and_all_of_the_tasks() -> None:
    # Of four runs the two in the middle count: 2.5 and 25.
    scores = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [100.0, 1000.0]])
    assert mean_over_tasks(scores) == pytest.approx(13.75)
    assert geometric_mean_over_tasks(scores) == pytest.approx(np.sqrt(2.5 * 25))
