"""Claims about the variants of a figure: the metric falls or rises along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import (
    SMALLEST,
    Claim,
    Direction,
    Smallest,
    Texts,
    Verdict,
    Weights,
    changes,
    mean_at,
    side_of,
)
from ssdgym.experiments.papers.comparisons import Column, Compared
from ssdgym.experiments.papers.samples import Place, Values, relative


class TrendClaim(Claim):
    """The metric falls or rises along the variants of the figure, in their order."""

    claimed: ClassVar[str] = "{0.direction}"
    kind: Literal["trend"]
    against: str = Field(
        "", description="A bar; what falls or rises is the metric over its own. Empty: the metric itself."
    )
    direction: Direction
    smallest: Smallest = SMALLEST
    weights: Weights = ""

    @property
    def averages_ratios(self) -> bool:
        """It averages changes from the first variant on."""
        return True

    @property
    def _side(self) -> float:
        return side_of(self.direction)

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Require two variants."""
        if len(self.variants or variants) < 2:
            raise ValueError(f"claims a trend in {where}, which needs at least two variants")

    def columns(self, values: Sequence[Values], places: Sequence[Place]) -> list[Column]:
        """Return the changes from the first variant to each of the others: of all of them or of none."""
        own = relative(values[0], self.against) if self.against else values[0]
        divisors = [place._replace(series=self.against) for place in places] if self.against else places[:1]
        base = min(mean_at(values[0], place) for place in divisors)
        weight = self.weight(values, divisors[0])
        found = [
            Column(scores, place.variant, base, weight)
            for place in places[1:]
            if (scores := changes(own, place, places[0]))
        ]
        return found if len(found) == len(places) - 1 else []

    def averaged(self, compared: Compared) -> Compared:
        """Return the changes from the first variant to the last."""
        every = slice(self._steps(compared) - 1, None, self._steps(compared))
        return Compared(
            compared.scores[:, every], compared.workloads[every], (), compared.weights[every], compared.exact
        )

    def _judge_further(self, measured: Estimate, compared: Compared) -> Verdict:
        if abs(measured.value) < self.smallest:
            return "negligible"
        # Shape (workloads, variants but the first).
        steps = compared.scores.mean(axis=0).reshape(-1, self._steps(compared))
        weights = compared.weights[:: self._steps(compared)] or None
        along = np.average(steps, axis=0, weights=weights)
        rises = self._side * np.diff(along, prepend=0.0)
        return "direction holds" if rises.min() > 0 else "direction holds, but not at every step"

    @staticmethod
    def _steps(compared: Compared) -> int:
        """Return the number of variants but the first, which are compared on each workload."""
        return len(compared.workloads) // len(set(compared.workloads.tolist()))
