"""Claims about values, their trends, and curves that resemble each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ssdgym.experiments.papers.claims import (
    SMALLEST,
    Claim,
    Direction,
    Others,
    Smallest,
    Texts,
    Verdict,
    Weights,
    changes,
    holds,
    is_of_magnitude,
    limits,
    mean_at,
    side_of,
)
from ssdgym.experiments.papers.samples import BySeed, Column, Compared, Place, Values, relative
from ssdgym.experiments.statistics import Estimate


class ValueClaim(Claim):
    """The mean of the metric over the workloads has a value; it holds between half and twice that."""

    claimed: ClassVar[str] = "{0.value:g}"
    style: ClassVar[str] = ".3f"
    kind: Literal["value"]
    value: float
    beyond: float = Field(
        0.0,
        description="What the metric has at the least; only what it has beyond this is compared. A write "
        "amplification of 1.3 is thrice one of 1.1, beyond 1.",
    )
    or_less: bool = Field(False, description="Whether less is as good: any smaller value holds, too.")
    weights: Weights = ""

    @model_validator(mode="after")
    def _is_beyond(self) -> ValueClaim:
        if self.value <= self.beyond:
            raise ValueError(f"claims the value {self.value}, which must be above beyond = {self.beyond}")
        return self

    def _share(self, estimate: Estimate) -> float:
        return (estimate.value - self.beyond) / (self.value - self.beyond)

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge the magnitude, or whether the whole interval keeps the value as a bound."""
        if self.or_less and limits(measured[0])[1] <= self.value:
            return "holds"
        return "holds within a factor two" if is_of_magnitude(self._share(measured[0])) else "does not hold"

    def describe(self) -> str:
        """Return the value, and whether less is as good."""
        return super().describe() + (" or less" if self.or_less else "")

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the mean, and its ratio to the claimed value."""
        beyond = f" beyond {self.beyond:g}" if self.beyond else ""
        share = self._share(measured[0])
        return f"{super().describe_measured(measured)}, {share:.1f} times the paper's{beyond}"


class AtMostClaim(Claim):
    """The metric is at most so much on every workload, with its whole interval."""

    claimed: ClassVar[str] = "at most {0.value:g}"
    style: ClassVar[str] = ".3f"
    kind: Literal["at_most"]
    value: float

    def measure(self, compared: Compared) -> tuple[Estimate, ...]:
        """Return the largest value."""
        return (compared.estimate(partial(np.max, axis=-1)),)

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge whether the whole interval keeps the bound."""
        return holds(limits(measured[0])[1] <= self.value)


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


class ResemblesClaim(Claim):
    """The change of the metric is, workload by workload, nearer to that of one metric than of another."""

    claimed: ClassVar[str] = "nearer to {0.metric} than to {0.rather_than}"
    kind: Literal["resembles"]
    against: Others
    metric: str = Field(description="The one.")
    rather_than: str = Field(description="The other.")

    @property
    def metrics(self) -> Texts:
        """The one and the other."""
        return self.metric, self.rather_than

    @property
    def _side(self) -> float:
        return -1.0

    def _compare(self, values: Sequence[Values], place: Place, base: Place) -> BySeed | None:
        """Return how far the metric's change is from that of the one, less how far from the other's."""
        own, one, other = (changes(metric, place, base) for metric in values)
        if own is None or one is None or other is None:
            return None
        common = sorted(own.keys() & one.keys() & other.keys())
        return {seed: abs(own[seed] - one[seed]) - abs(own[seed] - other[seed]) for seed in common}

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the difference of the distances."""
        return f"{super().describe_measured(measured)} of distance"
