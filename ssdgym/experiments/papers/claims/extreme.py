"""Claims about which workloads have the lowest or highest of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import (
    SMALLEST,
    Claim,
    Names,
    Texts,
    Verdict,
    side_of,
    with_interval,
)
from ssdgym.experiments.papers.comparisons import Compared, Matrix


class ExtremeClaim(Claim):
    """The workloads that it names have the lowest or highest of all, in whatever order among themselves."""

    claimed: ClassVar[str] = "{0.which}"
    kind: Literal["extreme"]
    workloads: Annotated[Texts, Field(min_length=1)] = Field(description="Those at that end.")
    against: Names = Field(
        (), description="The bars it is compared with, by their changes; empty: the metric itself."
    )
    which: Literal["lowest", "highest"] = Field(
        description="Of changes, falls count as lower: the largest fall is the lowest."
    )

    @property
    def measured_on(self) -> Texts:
        """All workloads: an extreme is one among all, whichever it names."""
        return ()

    @property
    def averages_ratios(self) -> bool:
        """Every trace counts by itself."""
        return False

    @property
    def _side(self) -> float:
        return side_of(self.which)

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Require other workloads."""
        if set(self.workloads) == set(workloads):
            raise ValueError(f"claims an extreme in {where} of all its workloads; leave some to compare")

    def averaged(self, compared: Compared) -> None:
        """Return nothing: it is judged by a distance."""

    def measure(self, compared: Compared) -> tuple[Estimate, ...]:
        """Return how far the workloads that it names, if all are there, lie apart from the nearest other."""
        if not set(self.workloads) < set(compared.workloads.tolist()):
            return ()
        named = np.isin(compared.workloads, self.workloads)

        def distance(scores: Matrix) -> Matrix:
            ours, others = self._side * scores[..., named], self._side * scores[..., ~named]
            return self._side * (ours.min(axis=-1) - others.max(axis=-1))

        return (compared.estimate(distance),)

    def _judge_further(self, measured: Estimate, compared: Compared) -> Verdict:
        # Where nothing changes, the order of the changes is one of noise.
        changes = np.abs(compared.scores.mean(axis=0))
        if self.against and abs(measured.value) < SMALLEST and changes.max(initial=0.0) < SMALLEST:
            return "negligible"
        return "holds"

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the distance."""
        style = "+.1%" if self.against else "+.3f"
        return f"{with_interval(measured[0], style)} from the nearest of the others"
