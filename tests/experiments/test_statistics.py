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
    geometric_mean_ratio,
    iqm,
    mean_over_tasks,
    pooled_bootstrap,
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
    assert iqm(np.array(scores)) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("shape", [(5, 3), (7, 1), (10, 4)])
def test_iqm__equals_scipy_trim_mean_over_runs_and_tasks(shape: tuple[int, int]) -> None:
    scores = np.random.default_rng(1).lognormal(size=shape)
    assert iqm(scores) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None), rel=1e-12)


def test_bootstrap__constant_scores_have_an_interval_of_width_zero() -> None:
    assert stratified_bootstrap(np.full((5, 2), 3.25)) == Estimate(3.25, 3.25, 3.25)


def test_bootstrap__same_seed_same_bits_other_seed_other_interval() -> None:
    scores = np.random.default_rng(2).normal(size=(6, 3))
    first = stratified_bootstrap(scores, seed=4)
    assert stratified_bootstrap(scores, seed=4) == first
    assert stratified_bootstrap(scores, seed=5).low != first.low


def test_bootstrap__resamples_runs_only_within_their_task() -> None:
    # Both runs of a task agree, so resampling within tasks cannot change anything, whereas pooling the
    # tasks would.
    scores = [[1.0, 10.0, 100.0], [1.0, 10.0, 100.0]]
    estimate = stratified_bootstrap(scores, lambda drawn: drawn.mean(axis=(-2, -1)))
    assert estimate == Estimate(37.0, 37.0, 37.0)


def test_bootstrap__interval_of_a_mean_follows_the_normal_approximation() -> None:
    scores = np.random.default_rng(3).normal(size=(400, 1))
    estimate = stratified_bootstrap(scores, lambda drawn: drawn.mean(axis=(-2, -1)), seed=0)
    half_width = 1.96 * scores.std() / math.sqrt(400)
    assert estimate.high - estimate.value == pytest.approx(half_width, rel=0.1)
    assert estimate.value - estimate.low == pytest.approx(half_width, rel=0.1)


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
    higher = probability_of_improvement(-ours, -theirs)
    lower = probability_of_improvement(ours, theirs)
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


# What rliable (google-research/rliable, metrics.py and library.py) computes, worked out by hand on one fixed
# array of four runs and two tasks.
FIXED = np.array([[1.0, 4.0], [2.0, 3.0], [5.0, 2.0], [8.0, 7.0]])
OTHER = np.array([[2.0, 1.0], [3.0, 3.0], [4.0, 2.0]])


def test_rliable__aggregate_iqm_pools_runs_and_tasks() -> None:
    # Sorted: 1 2 2 3 4 5 7 8; a quarter of eight off either end leaves 2 3 4 5.
    assert iqm(FIXED) == 14 / 4


def test_rliable__probability_of_improvement_averages_mann_whitney_over_tasks() -> None:
    # Higher is better there. Task 1: 1 > none; 2 > none, = one; 5 > three; 8 > three: 6.5 of 12 pairs.
    # Task 2: 4 > three; 3 > two, = one; 2 > one, = one; 7 > three: 9 + 2 * 0.5 = 10 of 12 pairs.
    found = probability_of_improvement(-FIXED, -OTHER)
    assert found.value == pytest.approx((6.5 / 12 + 10 / 12) / 2)
    assert found.low <= found.value <= found.high


def test_rliable__probability_of_improvement_of_equal_arrays_is_one_half() -> None:
    assert probability_of_improvement(FIXED, FIXED).value == 0.5


def test_rliable__interval_limits_of_the_pair_of_runs_of_one_task() -> None:
    # The mean of two draws from {0, 1} is 0, 1/2 or 1; the 2.5 and 97.5 percentiles are 0 and 1.
    assert stratified_bootstrap([[0.0], [1.0]]) == Estimate(0.5, 0.0, 1.0)
    # Against a run of 1/2 the first side wins never, half the time or always.
    assert probability_of_improvement([[0.0], [1.0]], [[0.5], [0.5]]) == Estimate(0.5, 0.0, 1.0)


def test_bootstrap__does_not_depend_on_how_many_replicates_fit_into_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = np.random.default_rng(10).normal(size=(5, 3))

    def found() -> tuple[object, object]:
        return stratified_bootstrap(scores), probability_of_improvement(scores, scores + 0.1)

    at_once = found()
    monkeypatch.setattr("ssdgym.experiments.statistics._SCORES_AT_A_TIME", 101)
    assert found() == at_once


#: For intervals over seeds of a training, workloads and seeds of evaluation.
RNG = np.random.default_rng(1)


def test_pooled__of_one_member__is_the_stratified_bootstrap() -> None:
    scores = RNG.normal(size=(8, 5))
    found = pooled_bootstrap(scores[np.newaxis], iqm)
    other = stratified_bootstrap(scores, iqm)
    assert found.value == pytest.approx(other.value)
    # Other draws of the same distribution: the limits agree but for the error of the bootstrap.
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.02)


def test_pooled__members_that_differ__widen_the_interval() -> None:
    alike = RNG.normal(0, 0.01, size=(5, 4, 6))
    apart = alike + np.array([-1.0, -0.5, 0.0, 0.5, 1.0])[:, np.newaxis, np.newaxis]
    narrow, wide = (pooled_bootstrap(scores, iqm) for scores in (alike, apart))
    assert wide.value == pytest.approx(narrow.value, abs=0.05)
    assert wide.high - wide.low > 10 * (narrow.high - narrow.low)


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
    assert np.isnan(pooled_bootstrap(np.ones((1, 1, 3)), iqm).low)
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
