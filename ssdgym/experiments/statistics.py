"""Statistics over runs and tasks, with 95 % intervals by bootstrap.

A *score* is the metric of one run. A *score matrix* has the shape `(runs, tasks)`: one row per seed, one
column per task (a device with FTL options and a workload). The interquartile mean, the percentile interval of
a bootstrap stratified by task and the probability of improvement are defined in Agarwal et al., "Deep
Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021, section 4 and appendix A.2.
The authors' package rliable computes the same numbers.

The policies that one method has learned from several training seeds are its *members*. Their scores have the
shape `(members, runs, tasks)`; a policy that is not learned is a single member. Each replicate of the
bootstrap draws members, the same for all tasks, and then runs, separately for every task.

A *statistic* maps scores of the shape `(..., runs, tasks)` to numbers of the shape `(...)`. The leading axes
number the replicates, because a bootstrap evaluates many of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssdgym.errors import SsdgymError

Scores = NDArray[np.float64]
Statistic = Callable[[Scores], Any]

#: Number of bootstrap replicates; the 2.5 % beyond each limit then have a standard error of 0.35 %.
REPLICATES = 2_000
#: Percent of the replicates beyond each limit of a 95 % interval. Rounding makes it 2.500000000000002.
_TAIL = 50.0 * (1.0 - 0.95)
#: Largest number of resampled scores in memory at a time; it does not change results.
_SCORES_AT_A_TIME = 1 << 21


class Estimate(NamedTuple):
    """A point estimate with its confidence interval, in the unit of the scores.

    Attributes:
        value: the statistic of the scores.
        low: the lower limit; NaN if there is nothing to resample, such as a single run per task.
        high: the upper limit; NaN if `low` is NaN.
    """

    value: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Return whether `value` lies outside the interval; False if there is no interval."""
        return self.low > value or self.high < value

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of the interval; without an interval, the value as both limits."""
        return (self.value, self.value) if np.isnan(self.low) else (self.low, self.high)

    def is_on(self, side: float) -> bool:
        """Return whether the whole interval lies above (`side` 1) or below (`side` -1) zero."""
        return min(side * limit for limit in self.limits) > 0

    def text(self, style: str) -> str:
        """Format the number and its interval, each number in the format `style`."""
        if np.isnan(self.low):
            return f"{self.value:{style}} (no interval)"
        return f"{self.value:{style}} [{self.low:{style}}, {self.high:{style}}]"


def iqm(scores: Scores) -> Any:
    """Return the mean of the middle half of all n scores; the `n // 4` lowest and highest are left out."""
    return _middle_half(scores.reshape(*scores.shape[:-2], -1), axis=-1)


def mean_over_tasks(scores: Scores) -> Any:
    """Return the mean over tasks of each task's interquartile mean over its runs.

    `iqm` may leave out all scores of a task. This mean includes all tasks, so it shows a failure on any task.
    """
    return iqm_of_tasks(scores).mean(axis=-1)


def geometric_mean_over_tasks(scores: Scores) -> Any:
    """Return the geometric mean over tasks of each task's interquartile mean; use it for ratios."""
    return np.exp(np.log(iqm_of_tasks(scores)).mean(axis=-1))


def iqm_of_tasks(scores: Scores) -> Scores:
    """Return each task's interquartile mean over its runs, shape `(..., tasks)`."""
    return _middle_half(scores, axis=-2)


def _middle_half(scores: Scores, axis: int) -> Scores:
    count = scores.shape[axis]
    return np.sort(scores, axis=axis).take(range(count // 4, count - count // 4), axis=axis).mean(axis=axis)


def stratified_bootstrap(scores: ArrayLike, statistic: Statistic = iqm, *, seed: int = 0) -> Estimate:
    """Return a statistic of a score matrix with the 95 % interval of a bootstrap stratified by task.

    For every replicate and task, as many runs as the task has are drawn with replacement.

    Args:
        scores: shape `(runs, tasks)`, finite.
        statistic: maps scores `(..., runs, tasks)` to numbers `(...)`.
        seed: seed of the bootstrap.

    Raises:
        SsdgymError: the matrix is empty, not two-dimensional or not finite.
    """
    matrix = _finite(scores, ("runs", "tasks"))
    rng = np.random.default_rng(seed)
    return _estimate(
        statistic(matrix),
        matrix.shape[0] > 1,
        lambda count: statistic(_resample(matrix, rng, count)),
        _SCORES_AT_A_TIME // matrix.size,
    )


def probability_of_improvement(ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the mean over tasks of the probability that a run of `ours` scores less than a run of `theirs`.

    For one task, this is the Mann-Whitney U statistic divided by the number of pairs. Ties count one half.

    Args:
        ours: scores, shape `(runs, tasks)`.
        theirs: scores, shape `(runs of theirs, tasks)`, for the same tasks in the same order as `ours`.
        seed: seed of the bootstrap, which resamples `ours` and `theirs` independently.

    Raises:
        SsdgymError: a matrix is malformed, or the two have different numbers of tasks.
    """
    left, right = (_finite(scores, ("runs", "tasks")) for scores in (ours, theirs))
    if left.shape[1] != right.shape[1]:
        raise SsdgymError(
            f"the probability of improvement compares {left.shape[1]} tasks with {right.shape[1]}: "
            "give both sides the same tasks"
        )
    left, right = -left, -right
    left_rng, right_rng = np.random.default_rng(seed).spawn(2)
    return _estimate(
        mean_win_rate(left, right),
        min(left.shape[0], right.shape[0]) > 1,
        lambda count: mean_win_rate(_resample(left, left_rng, count), _resample(right, right_rng, count)),
        _SCORES_AT_A_TIME // (left.size * right.shape[0]),
    )


def relative_difference(ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the geometric mean over all tasks of `ours / theirs`, minus one (-0.2: `ours` is 20 % less).

    Ratios are paired by run and task; each task contributes the interquartile mean of its ratios.

    Args:
        ours: positive scores, shape `(runs, tasks)`.
        theirs: positive scores of the same shape. A row has the same seed as that row of `ours`.
        seed: seed of the bootstrap.

    Raises:
        SsdgymError: the shapes differ or a score is not positive.
    """
    left, right = (_finite(scores, ("runs", "tasks")) for scores in (ours, theirs))
    if left.shape != right.shape:
        raise SsdgymError(
            f"paired scores have the shapes {left.shape} and {right.shape}: "
            "run both sides on the same seeds and tasks"
        )
    if not ((left > 0).all() and (right > 0).all()):
        raise SsdgymError("a relative difference needs positive scores, and one of them is not")
    ratio = stratified_bootstrap(left / right, geometric_mean_over_tasks, seed=seed)
    return Estimate(ratio.value - 1, ratio.low - 1, ratio.high - 1)


def _finite(scores: ArrayLike, axes: tuple[str, ...]) -> Scores:
    found = np.asarray(scores, dtype=np.float64)
    if found.ndim != len(axes) or found.size == 0:
        what = f"a non-empty {'matrix' if len(axes) == 2 else 'array'} of ({', '.join(axes)})"
        raise SsdgymError(f"scores must be {what}, not of shape {found.shape}")
    if not np.isfinite(found).all():
        raise SsdgymError("scores must be finite numbers, and one of them is not")
    return found


def _resample(matrix: Scores, rng: np.random.Generator, count: int) -> Scores:
    """Draw the runs of every task with replacement; return an array of the shape `(count, runs, tasks)`."""
    rows = rng.integers(0, matrix.shape[0], size=(count, *matrix.shape))
    return np.take_along_axis(matrix[np.newaxis], rows, axis=1)


def _estimate(
    value: Any,
    several: bool,
    draw: Callable[[int], Scores],
    portion: int,
    tail: float = _TAIL,
) -> Estimate:
    """Return `value` with the percentiles `tail` and `100 - tail` of `REPLICATES` replicates as limits.

    `draw` returns the statistic of a number of new replicates and is called for at most `portion` at a time.
    The limits are NaN unless `several`, which says whether there is anything to resample.
    """
    if not several:
        return Estimate(float(value), np.nan, np.nan)
    portion = max(1, portion)
    samples = [draw(min(portion, REPLICATES - first)) for first in range(0, REPLICATES, portion)]
    low, high = np.percentile(np.concatenate(samples), [tail, 100.0 - tail], axis=0)
    return Estimate(float(value), float(low), float(high))


def mean_win_rate(left: Scores, right: Scores) -> Scores:
    """Return the share of pairs (a run of `left`, a run of `right`) in which `left` has the greater score.

    `left` has the shape `(..., runs, tasks)` and `right` `(..., runs of right, tasks)`. Ties count one half.
    The shares are averaged over the tasks; their shape is `(...)`.
    """
    pairs = left[..., :, None, :] - right[..., None, :, :]
    return ((pairs > 0) + 0.5 * (pairs == 0)).mean(axis=(-3, -2, -1))


#: The axes of scores of several members.
_CUBE = ("members", "runs", "tasks")
#: Number of replicates that are drawn at a time. Another number gives other random draws.
_PORTION = 200


def pooled_bootstrap(scores: ArrayLike, statistic: Statistic, *, seed: int = 0) -> Estimate:
    """Return a statistic of the runs of all members, with the 95 % interval of a bootstrap.

    The bootstrap draws members and runs, but not tasks. With one member, it is stratified by task.

    Args:
        scores: shape `(members, runs, tasks)`, finite.
        statistic: called with an array `(..., members * runs, tasks)`.
        seed: seed of the bootstrap.

    Raises:
        SsdgymError: the scores are empty, not three-dimensional or not finite.
    """
    cube = _finite(scores, _CUBE)
    (rng,) = np.random.default_rng(seed).spawn(1)
    several = cube.shape[0] * cube.shape[1] > 1
    return _estimate(
        statistic(_pooled(cube)),
        several,
        lambda count: statistic(_pooled(_drawn(cube, rng, count))),
        _PORTION,
        2.5,
    )


def geometric_mean_ratio(ratios: ArrayLike, workloads: Sequence[Hashable], *, seed: int = 0) -> Estimate:
    """Return the geometric mean of ratios, with the 95 % interval of a bootstrap.

    The bootstrap draws members, workloads and runs, so the interval holds for other workloads, too. Every
    task has the same weight, and every member and run has the same weight within a task.

    Args:
        ratios: positive ratios, shape `(members, runs, tasks)`.
        workloads: workload of each task, `tasks` in number. All tasks of a drawn workload are used, because
            the results of one workload on several devices are similar.
        seed: seed of the bootstrap.

    Raises:
        SsdgymError: the ratios are empty, not three-dimensional or not positive.
    """
    cube = _finite(ratios, _CUBE)
    if not (cube > 0).all():
        raise SsdgymError("a geometric mean needs positive ratios, and one of them is not")
    logarithms = np.log(cube)
    group = np.unique(np.array([str(name) for name in workloads]), return_inverse=True)[1]
    groups = int(group.max()) + 1
    rng = np.random.default_rng(seed)

    def draw(count: int) -> Scores:
        of_tasks = _drawn(logarithms, rng, count).mean(axis=(1, 2))
        weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=count)[:, group]
        return np.exp((of_tasks * weights).sum(axis=1) / weights.sum(axis=1))

    several = cube.shape[0] * cube.shape[1] > 1 or groups > 1
    return _estimate(np.exp(logarithms.mean()), several, draw, _PORTION, 2.5)


def _drawn(cube: Scores, rng: np.random.Generator, count: int) -> Scores:
    """Return `count` resamples of `cube` as one array, shape `(count, members, runs, tasks)`."""
    members, runs, tasks = cube.shape
    drawn_members = rng.integers(0, members, size=(count, members, 1, 1))
    drawn_runs = rng.integers(0, runs, size=(count, members, runs, tasks))
    return cube[drawn_members, drawn_runs, np.arange(tasks)]


def _pooled(cubes: Scores) -> Scores:
    return cubes.reshape(*cubes.shape[:-3], -1, cubes.shape[-1])
