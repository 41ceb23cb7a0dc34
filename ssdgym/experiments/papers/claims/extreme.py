"""Claims about which workloads have the lowest or highest of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import (
    Claim,
    Compared,
    Matrix,
    Names,
    Texts,
    side_of,
    with_interval,
)


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
    def _side(self) -> float:
        return side_of(self.which)

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Require other workloads."""
        if set(self.workloads) == set(workloads):
            raise ValueError(f"claims an extreme in {where} of all its workloads; leave some to compare")

    def measure(self, compared: Compared) -> tuple[Estimate, ...]:
        """Return how far the workloads that it names, if all are there, lie apart from the nearest other."""
        if not set(self.workloads) < set(compared.workloads.tolist()):
            return ()
        named = np.isin(compared.workloads, self.workloads)

        def distance(scores: Matrix) -> float:
            if self.which == "lowest":
                return float(scores[named].max() - scores[~named].min())
            return float(scores[named].min() - scores[~named].max())

        return (compared.estimate(distance),)

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the distance."""
        style = "+.1%" if self.against else "+.3f"
        return f"{with_interval(measured[0], style)} from the nearest of the others"
