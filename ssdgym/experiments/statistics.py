"""Interval statistics over runs and tasks.

A *score matrix* has the shape ``(runs, tasks)``: one row per seed, one column per task (a device with a
workload). The definitions are those of Agarwal et al., "Deep Reinforcement Learning at the Edge of the
Statistical Precipice", NeurIPS 2021, section 4 and appendix A.2: the interquartile mean as aggregate,
percentile intervals of a bootstrap stratified by task, and the probability of improvement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssdgym.errors import SsdgymError

Scores = NDArray[np.float64]

#: Bootstrap replicates; the error of a 95 % limit is then about 0.4 % of probability mass.
REPLICATES = 2_000


@dataclass(frozen=True)
class Estimate:
    """A point estimate with its confidence interval, in the unit of the scores.

    ``low`` and ``high`` are NaN where a single run per task leaves nothing to resample.
    """

    value: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether ``value`` lies outside the interval; never true without an interval."""
        return self.low > value or self.high < value


def iqm(scores: ArrayLike) -> float:
    """The interquartile mean: the mean of the middle half of all scores.

    From either end ``int(n / 4)`` of the ``n`` scores are left out, as by ``scipy.stats.trim_mean``.

    Args:
        scores: numbers of any shape, at least one; runs and tasks are pooled.
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64), axis=None)
    cut = ordered.size // 4
    return float(ordered[cut : ordered.size - cut].mean())


def mean_over_tasks(scores: ArrayLike) -> float:
    """The mean over tasks of each task's interquartile mean over its runs.

    Where :func:`iqm` would leave the tasks at either end out, here every task counts: a policy that fails
    on one workload cannot hide it.

    Args:
        scores: shape ``(runs, tasks)``.
    """
    return float(np.mean(_iqm_of_tasks(np.asarray(scores, dtype=np.float64))))


def geometric_mean_over_tasks(scores: ArrayLike) -> float:
    """As :func:`mean_over_tasks`, but the geometric mean, which suits ratios and tasks of different scale.

    Args:
        scores: shape ``(runs, tasks)``, positive.
    """
    return float(np.exp(np.mean(np.log(_iqm_of_tasks(np.asarray(scores, dtype=np.float64))))))


def _iqm_of_tasks(matrix: Scores) -> Scores:
    runs = matrix.shape[0]
    return np.sort(matrix, axis=0)[runs // 4 : runs - runs // 4].mean(axis=0)


def stratified_bootstrap(
    scores: ArrayLike,
    statistic: Callable[[Scores], float] = iqm,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    confidence: float = 0.95,
) -> Estimate:
    """A statistic of a score matrix with the percentile interval of a bootstrap stratified by task.

    Every replicate draws, for each task by itself, as many runs with replacement as the task has.

    Args:
        scores: shape ``(runs, tasks)``, finite.
        statistic: maps a matrix of that shape to one number.
        seed: the same seed gives the same interval.
        replicates: how many resampled matrices.
        confidence: share of the replicates inside the interval, in (0, 1).

    Raises:
        SsdgymError: the matrix is empty, not two-dimensional or not finite.
    """
    matrix = _score_matrix(scores)
    value = statistic(matrix)
    if matrix.shape[0] < 2:
        return Estimate(value, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    samples = [statistic(_resample(matrix, rng)) for _ in range(replicates)]
    return _percentile_estimate(value, samples, confidence)


def probability_of_improvement(
    ours: ArrayLike,
    theirs: ArrayLike,
    *,
    lower_is_better: bool = True,
    seed: int = 0,
    replicates: int = REPLICATES,
    confidence: float = 0.95,
) -> Estimate:
    """How likely a run of ours is better than a run of theirs on the same task, averaged over the tasks.

    Per task it is the Mann-Whitney U statistic over the number of pairs, ties counting one half.

    Args:
        ours: shape ``(runs, tasks)``.
        theirs: shape ``(runs of theirs, tasks)``, the same tasks in the same order.
        lower_is_better: true for costs such as write amplification, false for scores.
        seed, replicates, confidence: as in :func:`stratified_bootstrap`; both sides are resampled.

    Raises:
        SsdgymError: a matrix is malformed, or the two have different numbers of tasks.
    """
    left, right = _score_matrix(ours), _score_matrix(theirs)
    if left.shape[1] != right.shape[1]:
        raise SsdgymError(
            f"the probability of improvement compares {left.shape[1]} tasks with {right.shape[1]}: "
            "give both sides the same tasks"
        )
    if lower_is_better:
        left, right = -left, -right
    value = _mean_win_rate(left, right)
    if min(left.shape[0], right.shape[0]) < 2:
        return Estimate(value, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    samples = [_mean_win_rate(_resample(left, rng), _resample(right, rng)) for _ in range(replicates)]
    return _percentile_estimate(value, samples, confidence)


def relative_difference(
    ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0, replicates: int = REPLICATES
) -> Estimate:
    """By how much ours differs from theirs: the geometric mean over tasks of ``ours / theirs``, minus one.

    Ratios are paired by run and task, since the same seed is the same workload, and within a task their
    interquartile mean over the runs counts. No task is left out.

    Args:
        ours, theirs: shape ``(runs, tasks)``, positive, row by row the same seeds.

    Raises:
        SsdgymError: the shapes differ or a score is not positive.
    """
    left, right = _score_matrix(ours), _score_matrix(theirs)
    if left.shape != right.shape:
        raise SsdgymError(
            f"paired scores have the shapes {left.shape} and {right.shape}: "
            "run both sides on the same seeds and tasks"
        )
    if not ((left > 0).all() and (right > 0).all()):
        raise SsdgymError("a relative difference needs positive scores, and one of them is not")
    ratio = stratified_bootstrap(left / right, geometric_mean_over_tasks, seed=seed, replicates=replicates)
    return Estimate(ratio.value - 1, ratio.low - 1, ratio.high - 1)


def _score_matrix(scores: ArrayLike) -> Scores:
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise SsdgymError(f"scores must be a non-empty matrix of (runs, tasks), not of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise SsdgymError("scores must be finite numbers, and one of them is not")
    return matrix


def _resample(matrix: Scores, rng: np.random.Generator) -> Scores:
    rows = rng.integers(0, matrix.shape[0], size=matrix.shape)
    return np.take_along_axis(matrix, rows, axis=0)


def _mean_win_rate(left: Scores, right: Scores) -> float:
    pairs = left[:, None, :] - right[None, :, :]
    return float(((pairs > 0) + 0.5 * (pairs == 0)).mean())


def _percentile_estimate(value: float, samples: list[float], confidence: float) -> Estimate:
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(samples, [tail, 100.0 - tail])
    return Estimate(value, float(low), float(high))
