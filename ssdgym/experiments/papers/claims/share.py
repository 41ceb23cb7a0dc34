"""Claims about the metric at one variant, over that of a bar at another variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import (
    Claim,
    Compared,
    Names,
    Texts,
    Verdict,
    holds,
    is_of_magnitude,
    limits,
    with_interval,
)
from ssdgym.experiments.papers.samples import BySeed, Place, Values


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

    def columns(self, values: Sequence[Values], places: Sequence[Place]) -> list[BySeed]:
        """Return the share by seed; nothing where one of the two was not measured."""
        (place,) = places
        ours = values[0].get(place, {})
        whole = values[0].get(Place(self.against, place.workload, self.at), {})
        common = sorted(ours.keys() & whole.keys())
        return [{seed: ours[seed] / whole[seed] for seed in common}] if common and all(whole.values()) else []

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge the magnitude, or whether the whole interval keeps within the width."""
        if self.within is None:
            near = is_of_magnitude(measured[0].value / self.value)
            return "holds within a factor two" if near else "does not hold"
        low, high = limits(measured[0])
        return holds(self.value - self.within <= low and high <= self.value + self.within)

    def describe(self) -> str:
        """Return the share, and how far off it may be."""
        width = f" within {self.within:.1%}" if self.within else ""
        return super().describe() + width

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the share with its interval."""
        return with_interval(measured[0], ".1%")
