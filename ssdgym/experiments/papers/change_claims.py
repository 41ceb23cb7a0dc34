"""Claims about changes against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ssdgym.experiments.papers.claims import (
    SMALLEST,
    Claim,
    Direction,
    Names,
    Others,
    Smallest,
    Texts,
    Verdict,
    Weights,
    by_magnitude,
    holds,
    is_next_to_none,
    is_of_magnitude,
    limits,
    mean_at,
    side_of,
    with_interval,
)
from ssdgym.experiments.papers.samples import Column, Compared, Matrix, Place, Values
from ssdgym.experiments.statistics import Estimate


class ChangeClaim(Claim):
    """A series against others: its metric over theirs, minus one (-0.2 is 20 % less).

    One of `change`, `limit`, `within` and `direction` says what is claimed of it.
    """

    kind: Literal["change"]
    against: Others = Field(
        description="The bars it is compared with; of several, the mean of the changes counts."
    )
    at: str = Field("", description="The variant of those bars; empty: in each variant its own.")
    change: float | None = Field(
        None, description="The change; it holds in magnitude between half and twice that."
    )
    limit: float | None = Field(
        None, description="The change at its limit: at least so much (a fall) or at most (a rise)."
    )
    within: float | None = Field(None, gt=0, description="The largest change that counts as none.")
    direction: Direction | None = Field(
        None, description="falls: lower than that of the others; rises: higher; by how much is not said."
    )
    smallest: Smallest = SMALLEST
    statistic: Literal["each", "mean", "median", "maximum", "minimum"] = Field(
        "mean",
        description="Of the changes on those workloads: each of them, their mean, their median (of most), or "
        "the one that goes farthest or least far to the claimed side, chosen on half of the seeds and tested "
        "on the others.",
    )
    weights: Weights = ""

    @model_validator(mode="after")
    def _claims_one_thing(self) -> ChangeClaim:
        given = [
            name for name in ("change", "limit", "within", "direction") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            raise ValueError(
                "claims a change by one of change, limit, within and direction; give one of them"
            )
        if 0 in (self.change, self.limit):
            raise ValueError(f"claims a {given[0]} of 0; give within, for no change, or a direction")
        if self.weights and self.statistic != "mean":
            raise ValueError(f"weighs a {self.statistic}; only a mean takes weights")
        return self

    @property
    def averages_ratios(self) -> bool:
        """Every comparison counts by itself where the claim is about each."""
        return self.statistic != "each"

    @property
    def _side(self) -> float:
        if self.direction is not None:
            return side_of(self.direction)
        return float(np.sign(self.change or self.limit or 1))

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Require the other variant."""
        if self.at and self.at not in variants:
            raise ValueError(f"names in {where}.at '{self.at}', which is no variant of it")

    def _base_of(self, place: Place, other: str) -> Place:
        return Place(other, place.workload, self.at or place.variant)

    def averaged(self, compared: Compared) -> Compared | None:
        """Return all comparisons where their mean counts."""
        return compared if self.statistic == "mean" else None

    def measure(self, compared: Compared) -> tuple[Estimate, ...]:
        """Return the one number over the changes of all comparisons."""
        match self.statistic:
            case "mean":
                return super().measure(compared)
            case "maximum" | "minimum":
                # The best of many on the same numbers that it is tested on would be the luckiest.
                index = self._index(compared)
                tested = compared.halves()[1] if compared.scores.shape[1] > 1 else compared
                return (tested.only(index).mean(),)
            case _:
                return (compared.estimate(self._statistic),)

    def chosen(self, compared: Compared) -> str:
        """Return the comparison that goes farthest or least far."""
        picks = self.statistic in ("maximum", "minimum") and compared.scores.shape[1] > 1
        return compared.name_of(self._index(compared)) if picks else ""

    def _index(self, compared: Compared) -> int:
        sided = self._side * compared.halves()[0].scores.mean(axis=0)
        return int(sided.argmax() if self.statistic == "maximum" else sided.argmin())

    def _statistic(self, changes: Matrix) -> Any:
        if self.statistic == "median":
            return np.median(changes, axis=-1)
        # Every one is within the width if the one that is farthest from zero is, to whichever side.
        if self.within is not None:
            farthest = np.abs(changes).argmax(axis=-1, keepdims=True)
            return np.take_along_axis(changes, farthest, axis=-1)[..., 0]
        # All of them hold if the one that is farthest from the claim does.
        return self._side * (self._side * changes).min(axis=-1)

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge the claimed side and what else is claimed, or whether the whole interval keeps the width."""
        if self.within is None:
            return super().judge(measured, compared)
        low, high = limits(measured[0])
        return holds(-self.within <= low and high <= self.within)

    def _judge_further(self, measured: Estimate, compared: Compared) -> Verdict:
        if self.change is not None:
            return by_magnitude(measured.value / self.change)
        if self.limit is None:
            return "direction holds" if abs(measured.value) >= self.smallest else "negligible"
        if is_next_to_none(measured.value / self.limit):
            return "negligible"
        # Of a fall, "under" is at least as far; of a rise, "up to" is at most as far.
        return "holds" if limits(measured)[1] <= self.limit else "direction holds, limit missed"

    def describe(self) -> str:
        """Return the claimed number, or the direction in a word."""
        if self.change is not None:
            return f"{self.change:+.1%}"
        if self.limit is not None:
            return f"{'at least' if self.limit < 0 else 'at most'} {self.limit:+.1%}"
        if self.within is not None:
            return f"within {self.within:.1%}"
        return "lower" if self.direction == "falls" else "higher"


class RangeClaim(Claim):
    """The changes of all workloads lie in a range, with the intervals of the smallest and the largest."""

    claimed: ClassVar[str] = "{0.low:+.1%} to {0.high:+.1%}"
    kind: Literal["range"]
    against: Others
    low: float = Field(description="The smallest change: -0.2 is 20 % less.")
    high: float = Field(description="The largest.")

    @model_validator(mode="after")
    def _in_order(self) -> RangeClaim:
        if self.low >= self.high:
            raise ValueError(f"has the range {self.low} to {self.high}; give low below high")
        return self

    @property
    def averages_ratios(self) -> bool:
        """Every trace counts by itself."""
        return False

    def measure(self, compared: Compared) -> tuple[Estimate, ...]:
        """Return the smallest change and the largest."""
        return compared.estimate(partial(np.min, axis=-1)), compared.estimate(partial(np.max, axis=-1))

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge whether both intervals keep within the range."""
        return holds(self.low <= limits(measured[0])[0] and limits(measured[-1])[1] <= self.high)

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the smallest change and the largest."""
        return f"{measured[0].value:+.1%} to {measured[-1].value:+.1%}"


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
