"""Intervals over several sources of chance at once: seeds of a training, workloads, and seeds of evaluation.

What one method has learned from several seeds are its *members*. Scores have the shape
`(members, runs, tasks)`; a policy that is not learned has one member. A replicate of the bootstrap draws the
members, the same for all tasks, and for every task by itself the runs. Where the interval is to hold for
other workloads, too, it draws these as well, each with all of its tasks: the tasks of one workload on several
devices are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssdgym.errors import SsdgymError
from ssdgym.experiments.analysis.statistics import REPLICATES, Estimate, Scores

_PORTION = 200
_PERCENTILES = (2.5, 97.5)


def pooled_bootstrap(
    samples: Sequence[ArrayLike],
    of_many: Callable[..., Scores],
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> Estimate:
    """Return a statistic of all runs with its 95 % interval over members and runs; the tasks are fixed.

    With one member it is the bootstrap stratified by task.

    Args:
        samples: one or several arrays of shape `(members, runs, tasks)`, finite, drawn independently.
        of_many: the statistic, called with an array `(..., members * runs, tasks)` for each sample.
        seed: the same seed gives the same interval.
        replicates: how many times all are drawn anew.

    Raises:
        SsdgymError: the scores are empty, of another number of dimensions or not finite.
    """
    cubes = [_finite_cube(sample) for sample in samples]
    value = float(of_many(*(_pooled(cube) for cube in cubes)))
    if any(cube.shape[0] * cube.shape[1] < 2 for cube in cubes):
        return Estimate(value, np.nan, np.nan)
    generators = np.random.default_rng(seed).spawn(len(cubes))
    found = [
        of_many(*(_pooled(_drawn(cube, rng, count)) for cube, rng in zip(cubes, generators, strict=True)))
        for count in _portions(replicates)
    ]
    return _estimate(value, np.concatenate(found))


def geometric_mean_ratio(
    ratios: ArrayLike, workloads: Sequence[Hashable], *, seed: int = 0, replicates: int = REPLICATES
) -> Estimate:
    """Return the geometric mean of ratios with its 95 % interval over members, workloads and runs.

    Every task counts the same, and within it every member and run: none is left out.

    Args:
        ratios: shape `(members, runs, tasks)`, positive.
        workloads: of each task; those of a workload are drawn together.
        seed: the same seed gives the same interval.
        replicates: how many resampled sets of ratios.

    Raises:
        SsdgymError: the ratios are empty, of another number of dimensions or not positive.
    """
    cube = _finite_cube(ratios)
    if not (cube > 0).all():
        raise SsdgymError("a geometric mean needs positive ratios, and one of them is not")
    logarithms = np.log(cube)
    value = float(np.exp(logarithms.mean()))
    group = np.unique(np.array([str(name) for name in workloads]), return_inverse=True)[1]
    groups = int(group.max()) + 1
    if cube.shape[0] * cube.shape[1] < 2 and groups < 2:
        return Estimate(value, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    samples = []
    for count in _portions(replicates):
        of_tasks = _drawn(logarithms, rng, count).mean(axis=(1, 2))
        weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=count)[:, group]
        samples.append(np.exp((of_tasks * weights).sum(axis=1) / weights.sum(axis=1)))
    return _estimate(value, np.concatenate(samples))


def _finite_cube(scores: ArrayLike) -> Scores:
    cube = np.asarray(scores, dtype=np.float64)
    if cube.ndim != 3 or cube.size == 0:
        raise SsdgymError(
            f"scores must be a non-empty array of (members, runs, tasks), not of shape {cube.shape}"
        )
    if not np.isfinite(cube).all():
        raise SsdgymError("scores must be finite numbers, and one of them is not")
    return cube


def _drawn(cube: Scores, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Return so many resampled arrays `(count, members, runs, tasks)`."""
    members, runs, tasks = cube.shape
    drawn_members = rng.integers(0, members, size=(count, members, 1, 1))
    drawn_runs = rng.integers(0, runs, size=(count, members, runs, tasks))
    return cube[drawn_members, drawn_runs, np.arange(tasks)]


def _pooled(cubes: Scores) -> Scores:
    return cubes.reshape(*cubes.shape[:-3], -1, cubes.shape[-1])


def _portions(replicates: int) -> list[int]:
    """Return how many replicates are held at a time."""
    return [min(_PORTION, replicates - first) for first in range(0, replicates, _PORTION)]


def _estimate(value: float, samples: Scores) -> Estimate:
    low, high = np.percentile(samples, _PERCENTILES)
    return Estimate(value, float(low), float(high))
