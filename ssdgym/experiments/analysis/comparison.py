"""Compare policies: summaries of each, and whether one beats another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssdgym.errors import SsdgymError
from ssdgym.experiments.analysis.statistics import (
    Estimate,
    Profile,
    geometric_mean_over_tasks,
    iqm_of_tasks,
    mean_over_tasks,
    performance_profile,
    probability_of_improvement,
    relative_difference,
    stratified_bootstrap,
)
from ssdgym.experiments.analysis.tasks import policies_of, score_matrix
from ssdgym.experiments.results import Result

WRITE_AMPLIFICATION = "write_amplification"


@dataclass(frozen=True)
class Advantage:
    """One policy against another on the same tasks and seeds, in a metric where less is better.

    Attributes:
        ours: name of a policy.
        theirs: name of the one that it is compared with.
        difference: of ours relative to theirs, paired by task and seed; negative where ours is better.
        improvement: probability that a run of ours is better than a run of theirs.
    """

    ours: str
    theirs: str
    difference: Estimate
    improvement: Estimate

    @property
    def beats(self) -> bool:
        """Whether ours is better, and the interval of the difference excludes zero."""
        return self.difference.value < 0 and self.difference.excludes(0.0)

    @property
    def loses(self) -> bool:
        """Whether ours is worse, and the interval of the difference excludes zero."""
        return self.difference.value > 0 and self.difference.excludes(0.0)


def summarize(results: Sequence[Result], policy: str, metric: str, *, seed: int = 0) -> Estimate:
    """Return the mean over tasks of a metric's interquartile mean over runs, with its 95 % interval.

    Args:
        results: of one or several tasks.
        policy: one of theirs.
        metric: nested names joined by `/`.
        seed: of the bootstrap.

    Raises:
        SsdgymError: as `score_matrix`.
    """
    return stratified_bootstrap(score_matrix(results, policy, metric), mean_over_tasks, seed=seed)


def best_heuristic(
    results: Sequence[Result], ours: Sequence[str], metric: str = WRITE_AMPLIFICATION
) -> str | None:
    """Return the policy not in `ours` with the lowest geometric mean over tasks; `None` without any.

    Args:
        results: of one or several tasks.
        ours: policies that are left out.
        metric: one in which less is better.
    """

    def score(policy: str) -> float:
        return geometric_mean_over_tasks(score_matrix(results, policy, metric))

    return min((policy for policy in policies_of(results) if policy not in ours), key=score, default=None)


def advantage(
    results: Sequence[Result], ours: str, theirs: str, metric: str = WRITE_AMPLIFICATION, *, seed: int = 0
) -> Advantage:
    """Compare two policies, paired by task and seed.

    Args:
        results: of one or several tasks.
        ours: name of a policy.
        theirs: name of the one that it is compared with.
        metric: one in which less is better.
        seed: of the bootstrap.

    Raises:
        SsdgymError: they were not run on the same tasks and seeds.
    """
    seeds = [sorted({result.seed for result in results if result.policy == name}) for name in (ours, theirs)]
    if seeds[0] != seeds[1]:
        raise SsdgymError(f"{ours} was run on the seeds {seeds[0]} and {theirs} on {seeds[1]}: use the same")
    left, right = score_matrix(results, ours, metric), score_matrix(results, theirs, metric)
    return Advantage(
        ours,
        theirs,
        relative_difference(left, right, seed=seed),
        probability_of_improvement(left, right, seed=seed),
    )


def ratios_to_best(results: Sequence[Result], metric: str) -> dict[str, NDArray[np.float64]]:
    """Divide every policy's scores by the lowest interquartile mean that any policy has on the task.

    This is the performance ratio of Dolan and Moré, "Benchmarking optimization software with performance
    profiles", Mathematical Programming 91, 2002, section 2; it makes tasks of different scale comparable.

    Args:
        results: of one or several tasks.
        metric: one in which less is better.

    Returns:
        Shape `(runs, tasks)` by policy.

    Raises:
        SsdgymError: a score is not positive, or as `score_matrix`.
    """
    scores = {policy: score_matrix(results, policy, metric) for policy in policies_of(results)}
    if not all((matrix > 0).all() for matrix in scores.values()):
        raise SsdgymError(f"performance ratios need positive scores, and one in {metric} is not")
    best = np.min([iqm_of_tasks(matrix) for matrix in scores.values()], axis=0)
    return {policy: matrix / best for policy, matrix in scores.items()}


def profiles(
    results: Sequence[Result], metric: str = WRITE_AMPLIFICATION, points: int = 400
) -> dict[str, Profile]:
    """Return the performance profile of every policy over its performance ratios, less being better.

    Args:
        results: as of one `TaskGroup`.
        metric: a positive one.
        points: at most so many thresholds, at the ratios that there are; with fewer ratios it is exact.

    Raises:
        SsdgymError: as `ratios_to_best`.
    """
    ratios = ratios_to_best(results, metric)
    steps = np.unique(np.concatenate([matrix.ravel() for matrix in ratios.values()]))
    chosen = np.unique(np.linspace(0, len(steps) - 1, points).astype(np.int64))
    # A profile changes just above a ratio, where the run with that ratio begins to count.
    thresholds = np.nextafter(np.concatenate([steps[:1] * 0.99, steps[chosen], steps[-1:] * 1.01]), np.inf)
    return {policy: performance_profile(matrix, thresholds) for policy, matrix in ratios.items()}


def verdict(found: Advantage, metric: str = WRITE_AMPLIFICATION) -> str:
    """Return one sentence that claims a win or a loss only where the interval excludes zero.

    Args:
        found: the comparison of two policies.
        metric: the one that was compared.
    """
    name = metric.replace("_", " ").replace("/", " ")
    share = found.difference
    if math.isnan(share.low):
        return (
            f"{found.ours} against {found.theirs}: {name} {share.value:+.1%} in a single seed, "
            "too few to say who is better."
        )
    numbers = f"{name} {share.value:+.1%}, 95 % interval {share.low:+.1%} to {share.high:+.1%}"
    if found.beats:
        return f"{found.ours} beats {found.theirs} ({numbers})."
    if found.loses:
        return f"{found.ours} does NOT beat {found.theirs}, it is worse ({numbers})."
    return f"{found.ours} does NOT beat {found.theirs} ({numbers}, includes zero)."
