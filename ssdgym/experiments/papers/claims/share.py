"""Claims about the metric at one variant, over that of a bar at another variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import (
    Claim,
    Names,
    Texts,
    Verdict,
    holds,
    is_next_to_none,
    is_of_magnitude,
    limits,
    mean_at,
    with_interval,
)
from ssdgym.experiments.papers.comparisons import Column, Compared
from ssdgym.experiments.papers.samples import Place, Values


class ShareClaim(Claim):
    """The metric at a variant is so much of that of a bar at another: a corner of a map over its peak."""

    claimed: ClassVar[str] = "{0.value:.1%}"
    kind: Literal["share"]
    variants: Annotated[Names, Field(min_length=1, max_length=1)] = Field(description="The one it is about.")
    against: str = Field(description="The bar whose metric counts as 1.")
    at: str = Field(description="The variant of that bar.")
    value: float = Field(gt=0, description="The share; it holds between half and twice that.")
    within: float | None = Field(
        None, gt=0, description="Where a factor of two says too little: the most that it may be off."
    )

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Require the other variant."""
        if self.at not in variants:
            raise ValueError(f"names in {where}.at '{self.at}', which is no variant of it")

    def columns(self, values: Sequence[Values], places: Sequence[Place]) -> list[Column]:
        """Return the share by seed; nothing where one of the two was not measured."""
        (place,) = places
        base = Place(self.against, place.workload, self.at)
        ours, whole = values[0].get(place, {}), values[0].get(base, {})
        common = sorted(ours.keys() & whole.keys())
        if not common or not all(whole.values()):
            return []
        return [Column({seed: ours[seed] / whole[seed] for seed in common}, base=mean_at(values[0], base))]

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge the side of 1 and the magnitude, or whether the whole interval keeps within the width."""
        low, high = limits(measured[0])
        if self.within is not None:
            return holds(self.value - self.within <= low and high <= self.value + self.within)
        on_side = self.value == 1 or (high < 1 if self.value < 1 else low > 1)
        if not on_side or not is_of_magnitude(measured[0].value / self.value):
            return "does not hold"
        is_none = self.value != 1 and is_next_to_none((measured[0].value - 1) / (self.value - 1))
        return "negligible" if is_none else "holds within a factor two"

    def describe(self) -> str:
        """Return the share, and how far off it may be."""
        width = f" within {self.within:.1%}" if self.within else ""
        return super().describe() + width

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the share with its interval."""
        return with_interval(measured[0], ".1%")
