"""The classifier: what it learns, and that it learns the same twice."""

from __future__ import annotations

import numpy as np

from ssdgym.baselines.dogi.records import categories_of, deciles, train


def samples(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Pages whose life follows from one feature: ten kinds of them."""
    rng = np.random.default_rng(1)
    features = rng.random((rows, 6), np.float32) * np.float32([50_000, 50_000, 255, 255, 8, 1000])
    kind = np.floor(features[:, 2] / 25.5)
    return features, (100 * (1 + kind) * rng.uniform(0.96, 1.04, rows)).astype(np.int64)


def test_categories__tenths_of_the_intervals__with_their_upper_bounds() -> None:
    intervals = np.arange(1, 101)
    bounds = deciles(intervals)
    assert bounds.tolist() == [11, 21, 31, 41, 51, 61, 71, 81, 91]
    assert categories_of(np.array([1, 11, 12, 91, 92, 10_000]), bounds).tolist() == [0, 0, 1, 8, 9, 9]


def test_training__separable_samples__are_told_apart() -> None:
    _, log = train(*samples(4000), seed=(1, 0))
    assert len(log.predicted) == 400
    wrong = np.abs(log.predicted - categories_of(log.intervals, log.bounds))
    assert log.accuracy > 0.65
    assert np.mean(wrong <= 1) > 0.97


def test_training__same_seed__same_bits() -> None:
    first, again, other = (train(*samples(500), seed=seed)[0] for seed in ((1, 0), (1, 0), (1, 1)))
    assert np.array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)


def test_training__a_feature_that_never_changes__does_no_harm() -> None:
    features, intervals = samples(500)
    features[:, 5] = 7
    assert np.isfinite(train(features, intervals, seed=(1, 0))[0].weights).all()
