"""What a paper said beside what was measured, with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ssdgym.config.reproduce import ClaimConfig, FigureConfig
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate, stratified_bootstrap

Scores = NDArray[np.float64]

Verdict = Literal[
    "holds within a factor two", "direction holds", "direction holds, limit missed", "does not hold", "holds"
]

#: Shares of the published change between which a measured one counts as of its magnitude.
_FACTOR = 2.0


@dataclass(frozen=True)
class Finding:
    """One claim, checked.

    Attributes:
        claim: what the paper says.
        workloads: those it was checked on.
        measured: the change here, as the claim counts it: the metric of one series over that of the other,
            minus one.
        per_workload: the same for each workload, mean over seeds.
        verdict: ``holds`` is for limits and for claims of no change.
    """

    claim: ClaimConfig
    workloads: tuple[str, ...]
    measured: Estimate
    per_workload: dict[str, float]
    verdict: Verdict

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; limits of an interval that one seed does not give are null."""
        low, high = (None if np.isnan(x) else x for x in (self.measured.low, self.measured.high))
        return {
            **self.claim.model_dump(mode="json"),
            "workloads": list(self.workloads),
            "measured": {"change": self.measured.value, "low": low, "high": high},
            "per_workload": self.per_workload,
            "verdict": self.verdict,
        }


def check_claims(figure: FigureConfig, results: Sequence[Result]) -> list[Finding]:
    """Check every claim of a figure on results of its cells.

    Raises:
        SsdgymError: a result that a claim needs is missing, or its metric is 0 where it is divided by.
    """
    return [_check(figure, claim, results) for claim in figure.claims]


def changes(figure: FigureConfig, results: Sequence[Result], series: str, against: str) -> dict[str, Scores]:
    """Return the changes of one series against another by workload: shape (seeds,) each, in order of seeds.

    Raises:
        SsdgymError: as :func:`check_claims`.
    """
    ours, theirs = (_by_workload(figure, results, name) for name in (series, against))
    found = {}
    for workload, scores in ours.items():
        base = theirs.get(workload, {})
        if set(base) != set(scores):
            raise SsdgymError(
                f"{figure.paper} figure {figure.figure}: {series} and {against} have other seeds on "
                f"{workload}; run it again into an empty folder"
            )
        if not all(base.values()):
            raise SsdgymError(
                f"{figure.paper} figure {figure.figure}: {figure.metric} of {against} is 0 on {workload}, so "
                "nothing can be compared with it; run more of the trace (a larger --scale)"
            )
        found[workload] = np.array([scores[seed] / base[seed] - 1 for seed in sorted(scores)])
    return found


def _check(figure: FigureConfig, claim: ClaimConfig, results: Sequence[Result]) -> Finding:
    found = changes(figure, results, claim.series, claim.against)
    wanted = [name for name in claim.workloads or found if name in found]
    if not wanted:
        raise SsdgymError(
            f"{figure.paper} figure {figure.figure}: no workload of the claim '{claim.said}' was run; take a "
            "larger --scale"
        )
    matrix = np.array([found[name] for name in wanted]).T
    measured = stratified_bootstrap(matrix, _statistic(claim))
    return Finding(
        claim,
        tuple(wanted),
        measured,
        {name: float(found[name].mean()) for name in wanted},
        verdict(claim, measured),
    )


def verdict(claim: ClaimConfig, measured: Estimate) -> Verdict:
    """Judge a measured change by what was claimed.

    The direction holds if the interval lies on the claimed side of zero, the magnitude if the change is
    between half and twice the claimed one. A limit holds if the interval lies within it, a claim of no
    change if the interval lies within the stated width.
    """
    low, high = _limits(measured)
    if claim.change == 0:
        within = -claim.unchanged_within <= low and high <= claim.unchanged_within
        return "holds" if within else "does not hold"
    side = np.sign(claim.change)
    if min(side * low, side * high) <= 0:
        return "does not hold"
    if claim.bound:
        # Of a fall, "under" is at least as far; of a rise, "up to" is at most as far.
        return "holds" if high <= claim.change else "direction holds, limit missed"
    share = measured.value / claim.change
    return "holds within a factor two" if 1 / _FACTOR <= share <= _FACTOR else "direction holds"


def _limits(measured: Estimate) -> tuple[float, float]:
    """The interval; where one seed leaves none, the value."""
    if np.isnan(measured.low):
        return measured.value, measured.value
    return measured.low, measured.high


def _statistic(claim: ClaimConfig) -> Callable[[Scores], float]:
    """The one number over a matrix (seeds, workloads) that a claim is about."""
    side = np.sign(claim.change) or 1.0
    match claim.statistic:
        case "mean":
            return lambda matrix: float(matrix.mean())
        case "maximum":
            return lambda matrix: float(side * (side * matrix.mean(axis=0)).max())
        case "each":
            # All of them hold if the one that is farthest from the claim does.
            return lambda matrix: float(side * (side * matrix.mean(axis=0)).min())


def _by_workload(figure: FigureConfig, results: Sequence[Result], series: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for result in results:
        if getattr(result, figure.series) == series:
            found.setdefault(result.workload, {})[result.seed] = result.metric(figure.metric)
    if not found:
        raise SsdgymError(
            f"{figure.paper} figure {figure.figure}: there is no result of {series}; run it again"
        )
    return found
