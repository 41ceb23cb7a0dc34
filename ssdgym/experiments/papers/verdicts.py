"""Judge what was measured by what was claimed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ssdgym.config.claims import (
    AtMostClaim,
    ChangeClaim,
    ClaimConfig,
    DirectionClaim,
    ExtremeClaim,
    LimitClaim,
    RangeClaim,
    ResemblesClaim,
    TrendClaim,
    UnchangedClaim,
)
from ssdgym.experiments.analysis.statistics import Estimate

Verdict = Literal[
    "holds within a factor two",
    "direction holds",
    "direction holds, limit missed",
    "direction holds, but not at every step",
    "holds",
    "does not hold",
    "not measured",
]

#: Between this share and its inverse of the published number, a measured one counts as of its magnitude.
_FACTOR = 2.0


def verdict(claim: ClaimConfig, measured: Sequence[Estimate], steps: Sequence[float] = ()) -> Verdict:
    """Judge a claim.

    Args:
        claim: what the paper says.
        measured: what it counts (:class:`ssdgym.experiments.papers.claims.Finding`), at least one.
        steps: of a trend, the changes from variant to variant, each against the first variant.

    Returns:
        A direction holds if the interval lies on the claimed side of zero; a change holds in magnitude if it
        is between half and twice the claimed one, and so does a value, each beyond what the claim says. A
        limit, a range, a bound or a claim of no change holds if the whole interval keeps it. A trend is
        measured from its first variant to its last; an extreme by its distance from the rest; a resemblance
        by how much nearer one metric is than the other. Both hold if the interval does not reach zero.
    """
    estimate = measured[0]
    low, high = _limits(estimate)
    if isinstance(claim, RangeClaim):
        within = claim.low <= low and _limits(measured[-1])[1] <= claim.high
        return "holds" if within else "does not hold"
    if isinstance(claim, UnchangedClaim):
        return "holds" if -claim.within <= low and high <= claim.within else "does not hold"
    if isinstance(claim, AtMostClaim):
        return "holds" if high <= claim.value else "does not hold"
    side = side_of(claim)
    if isinstance(claim, ExtremeClaim | ResemblesClaim):
        return "holds" if min(side * low, side * high) > 0 else "does not hold"
    if isinstance(claim, ChangeClaim | LimitClaim | DirectionClaim | TrendClaim):
        if min(side * low, side * high) <= 0:
            return "does not hold"
        return _beside_direction(claim, estimate, high, [side * step for step in steps])
    share = (estimate.value - claim.beyond) / (claim.value - claim.beyond)
    return "holds within a factor two" if 1 / _FACTOR <= share <= _FACTOR else "does not hold"


def _beside_direction(
    claim: ChangeClaim | LimitClaim | DirectionClaim | TrendClaim,
    estimate: Estimate,
    high: float,
    steps: Sequence[float],
) -> Verdict:
    """What else holds of a claim whose direction does."""
    match claim:
        case LimitClaim():
            # Of a fall, "under" is at least as far; of a rise, "up to" is at most as far.
            return "holds" if high <= claim.limit else "direction holds, limit missed"
        case ChangeClaim():
            share = estimate.value / claim.change
            return "holds within a factor two" if 1 / _FACTOR <= share <= _FACTOR else "direction holds"
        case TrendClaim():
            return "direction holds" if min(steps) > 0 else "direction holds, but not at every step"
    return "direction holds"


def side_of(claim: ClaimConfig) -> float:
    """On which side of zero a claim's change is: -1 or 1; 1 where it is on neither."""
    match claim:
        case ChangeClaim():
            return float(np.sign(claim.change))
        case LimitClaim():
            return float(np.sign(claim.limit))
        case DirectionClaim() | TrendClaim():
            return -1.0 if claim.direction == "falls" else 1.0
        case ExtremeClaim():
            return -1.0 if claim.which == "lowest" else 1.0
        case ResemblesClaim():
            return -1.0
    return 1.0


def _limits(measured: Estimate) -> tuple[float, float]:
    """The interval; where one seed leaves none, the value."""
    if np.isnan(measured.low):
        return measured.value, measured.value
    return measured.low, measured.high
