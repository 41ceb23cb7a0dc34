"""Claims about the variants of a figure: the metric falls or rises along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import (
    Claim,
    Compared,
    Direction,
    Matrix,
    Texts,
    Verdict,
    changes,
    side_of,
)
from ssdgym.experiments.papers.samples import BySeed, Place, Values, relative


class TrendClaim(Claim):
    """The metric falls or rises along the variants of the figure, in their order."""

    claimed: ClassVar[str] = "{0.direction}"
    kind: Literal["trend"]
    against: str = Field(
        "", description="A bar; what falls or rises is the metric over its own. Empty: the metric itself."
    )
    direction: Direction

    @property
    def _side(self) -> float:
        return side_of(self.direction)

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Require two variants."""
        if len(self.variants or variants) < 2:
            raise ValueError(f"claims a trend in {where}, which needs at least two variants")

    def columns(self, values: Sequence[Values], places: Sequence[Place]) -> list[BySeed]:
        """Return the changes from the first variant to each of the others: of all of them or of none."""
        own = relative(values[0], self.against) if self.against else values[0]
        found = [changes(own, place, places[0]) for place in places[1:]]
        return [] if None in found else [scores for scores in found if scores]

    def measure(self, compared: Compared) -> tuple[Estimate, ...]:
        """Return the mean change from the first variant to the last."""
        to_last = Compared(_by_workload(compared)[:, :, -1], compared.workloads)
        return (to_last.estimate(np.mean),)

    def _judge_further(self, measured: Estimate, compared: Compared) -> Verdict:
        along = _by_workload(compared).mean(axis=0).mean(axis=0)
        rises = self._side * np.diff(along, prepend=0.0)
        return "direction holds" if rises.min() > 0 else "direction holds, but not at every step"


def _by_workload(compared: Compared) -> Matrix:
    """Return the changes in the shape `(seeds, workloads, variants but the first)`."""
    return compared.scores.reshape(len(compared.scores), len(set(compared.workloads.tolist())), -1)
