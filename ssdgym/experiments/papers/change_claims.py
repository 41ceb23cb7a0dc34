"""Claims about changes of one bar relative to other bars, and about trends from variant to variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from ssdgym.experiments.papers.claims import (
    SMALLEST,
    Claim,
    Direction,
    Found,
    Texts,
    Verdict,
    by_magnitude,
    changes,
    holds,
    is_next_to_none,
    mean_at,
    side_of,
)
from ssdgym.experiments.papers.samples import Column, Compared, Matrix, Place, Values, relative
from ssdgym.experiments.statistics import Estimate


class ChangeClaim(Claim):
    """A claim about a change: a bar's metric divided by that of another bar, minus one (-0.2: 20 % less).

    The claim gives exactly one of `change`, `limit`, `within` and `direction`.
    """

    kind: Literal["change"]
    change: float | None = Field(
        None, description="Claimed change; the claim holds if half to twice this change is measured."
    )
    limit: float | None = Field(
        None, description="Limit of the change. Negative: at least this fall; positive: at most this rise."
    )
    within: float | None = Field(None, gt=0, description="Largest change if no change is claimed.")
    direction: Direction | None = Field(
        None, description="falls: lower than the other bars; rises: higher. No amount is claimed."
    )
    statistic: Literal["each", "mean", "median", "maximum", "minimum"] = Field(
        "mean",
        description="What the claim says of the workloads' changes. each: it holds for all of them; mean; "
        "median: for most; maximum, minimum: for the change that goes farthest or least far to the claimed "
        "side. Half of the seeds choose this change, the other seeds test it.",
    )
    other_means: bool = Field(False, description="Also report other means, one of which the paper may give.")

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
        if not self.against:
            raise ValueError("claims a change against nothing; name in against what it is compared with")
        return self

    @property
    def averages_ratios(self) -> bool:
        """Whether changes are averaged; True unless the claim is about each change."""
        return self.statistic != "each"

    @property
    def _side(self) -> float:
        if self.direction is not None:
            return side_of(self.direction)
        return float(np.sign(self.change or self.limit or 1))

    def find(self, compared: Compared) -> Found:
        """Return the claimed statistic of the relative changes in all comparisons, and its verdict."""
        picks = self.statistic in ("maximum", "minimum")
        chosen = picks and compared.scores.shape[1] > 1
        if picks:
            # Half of the seeds choose the comparison; the others test it, as the first would overstate it.
            tested = compared.halves()[1] if chosen else compared
            index = self._index(compared)
            measured = tested.part(slice(index, index + 1)).mean()
        elif self.statistic == "mean":
            measured = compared.mean()
        else:
            measured = compared.estimate(self._statistic)
        carrier = compared.carrier(self._side) if self.statistic == "mean" else ""
        return Found(
            (measured,),
            self._judge(measured, carrier),
            measured.text("+.1%"),
            chosen=compared.name_of(self._index(compared)) if chosen else "",
            carrier=carrier,
        )

    def _index(self, compared: Compared) -> int:
        sided = self._side * compared.halves()[0].scores.mean(axis=0)
        return int(sided.argmax() if self.statistic == "maximum" else sided.argmin())

    def _statistic(self, changes: Matrix) -> Any:
        if self.statistic == "median":
            return np.median(changes, axis=-1)
        # All changes are within the allowed width if the change farthest from zero is.
        if self.within is not None:
            farthest = np.abs(changes).argmax(axis=-1, keepdims=True)
            return np.take_along_axis(changes, farthest, axis=-1)[..., 0]
        # All changes are on the claimed side if the one that goes least far to that side is.
        return self._side * (self._side * changes).min(axis=-1)

    def _judge(self, measured: Estimate, carrier: str) -> Verdict:
        """Return the verdict on the direction and size of a change, or on no change (`within`).

        `carrier` is the workload without which the mean is not on the claimed side; empty if there is none.
        """
        low, high = measured.limits
        if self.within is not None:
            return holds(-self.within <= low and high <= self.within)
        if not measured.is_on(self._side):
            return "does not hold"
        verdict = self._size(measured)
        return "carried by one trace" if carrier and verdict != "negligible" else verdict

    def _size(self, measured: Estimate) -> Verdict:
        """Return the verdict on the size of a change that is on the claimed side."""
        if self.change is not None:
            return by_magnitude(measured.value / self.change)
        if self.limit is None:
            return "direction holds" if abs(measured.value) >= SMALLEST else "negligible"
        if is_next_to_none(measured.value / self.limit):
            return "negligible"
        # A fall must be at least as large as the limit; a rise must not exceed the limit.
        return "holds" if measured.limits[1] <= self.limit else "direction holds, limit missed"

    def describe(self) -> str:
        """Return the claimed number or direction as text."""
        if self.change is not None:
            return f"{self.change:+.1%}"
        if self.limit is not None:
            return f"{'at least' if self.limit < 0 else 'at most'} {self.limit:+.1%}"
        if self.within is not None:
            return f"within {self.within:.1%}"
        return "lower" if self.direction == "falls" else "higher"


class TrendClaim(Claim):
    """A claim that a metric, or its ratio to another bar's, falls or rises from variant to variant."""

    kind: Literal["trend"]
    direction: Direction

    @property
    def averages_ratios(self) -> bool:
        """True, because the workloads' changes from the first variant are averaged."""
        return True

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Raise a `ValueError` unless there are at least two variants and at most one other bar."""
        if len(self.variants or variants) < 2:
            raise ValueError(f"claims a trend in {where}, which needs at least two variants")
        if len(self.against) > 1:
            raise ValueError(f"claims a trend in {where} against several; name one of {self.against}")

    def columns(self, values: Sequence[Values], places: Sequence[Place]) -> list[Column]:
        """Return the change from the first variant to each other; no comparison if a variant has no value."""
        other = "".join(self.against)
        own = relative(values[0], other) if other else values[0]
        divisors = [place._replace(series=other) for place in places] if other else places[:1]
        base = min(mean_at(values[0], place) for place in divisors)
        weight = self.weight(values, divisors[0])
        found = [
            Column(scores, place.workload, place.variant, base, weight)
            for place in places[1:]
            if (scores := changes(own, place, places[0]))
        ]
        return found if len(found) == len(places) - 1 else []

    def find(self, compared: Compared) -> Found:
        """Return the mean change from the first to the last variant; the verdict also judges every step."""
        side = side_of(self.direction)
        steps = len(compared.workloads) // len(set(compared.workloads.tolist()))
        last = slice(steps - 1, None, steps)
        whole = compared.part(last)
        measured, carrier = whole.mean(), whole.carrier(side)
        verdict: Verdict
        if not measured.is_on(side):
            verdict = "does not hold"
        elif abs(measured.value) < SMALLEST:
            verdict = "negligible"
        elif carrier:
            verdict = "carried by one trace"
        else:
            # Shape (workloads, variants after the first).
            of_each = compared.scores.mean(axis=0).reshape(-1, steps)
            along = np.average(of_each, axis=0, weights=whole.weights)
            rises = (side * np.diff(along, prepend=0.0)).min() > 0
            verdict = "direction holds" if rises else "direction holds, but not at every step"
        return Found((measured,), verdict, measured.text("+.1%"), carrier=carrier)

    def describe(self) -> str:
        """Return the direction."""
        return self.direction
