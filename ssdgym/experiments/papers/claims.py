"""What every kind of claim is: a model of its YAML that compares, measures, judges and describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field

from ssdgym.config.loading import Config
from ssdgym.experiments.papers.samples import BySeed, Column, Compared, Place, Values
from ssdgym.experiments.statistics import Estimate

Verdict = Literal[
    "holds within a factor two",
    "direction holds",
    "direction holds, limit missed",
    "direction holds, but not at every step",
    "carried by one trace",
    "negligible",
    "holds",
    "does not hold",
    "not comparable",
    "one seed: no verdict",
    "too few seeds: no verdict",
    "not measured",
]
#: What each means.
VERDICTS: dict[Verdict, str] = {
    "holds within a factor two": "a change on the claimed side of zero (the whole interval) and between half "
    "and twice the claimed one; a value likewise, beyond what it has at the least",
    "negligible": "a change on the claimed side, under a tenth of the claimed one or of the claimed limit; "
    "without a number, under 1 %",
    "direction holds": "the interval lies on the claimed side of zero",
    "direction holds, limit missed": "and reaches beyond the claimed limit",
    "direction holds, but not at every step": "of a trend that turns back",
    "carried by one trace": "a mean that is on the claimed side only with that trace",
    "holds": "a limit, range, bound, share or claim of no change: the whole interval keeps it; an extreme or "
    "a likeness: it does not reach zero",
    "does not hold": "none of these",
    "one seed: no verdict": "one seed says nothing of chance",
    "too few seeds: no verdict": "of a largest or smallest change two seeds leave one to test on",
    "not comparable": "hangs on something that no source publishes, or counts what this scale does not play",
    "not measured": "no trace of the claim was run, nothing was collected, or nearly all that was is of no "
    "matter to the claim (`measured_by`)",
}

#: Between this share and its inverse of the published number, a measured one counts as of its magnitude.
_FACTOR = 2.0
#: Under this share of a published change, a measured one on the same side of zero is next to none.
_NEXT_TO_NONE = 0.1


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Texts = tuple[str, ...]
#: One name, or a list of them.
Names = Annotated[Texts, BeforeValidator(_listed)]
Direction = Literal["falls", "rises"]


#: Of changes of which nothing says how large they are, the smallest that counts.
SMALLEST = 0.01


class Found(NamedTuple):
    """The measurement and verdict of a claim.

    Attributes:
        measured: the numbers that it is judged by.
        verdict: as `VERDICTS` explains it.
        text: the numbers as printed.
        style: format of one of the numbers.
        chosen: the comparison that it was judged on, where one was chosen among them.
        carrier: the workload without which a mean is not on the claimed side; empty where none carries it.
    """

    measured: tuple[Estimate, ...]
    verdict: Verdict
    text: str
    style: str = "+.1%"
    chosen: str = ""
    carrier: str = ""


class HoldsBy(Config):
    """Why a claim holds here for any measurement, or nearly any."""

    kind: Literal["arithmetic", "construction", "vacuity"] = Field(
        description="arithmetic: of other figures; construction: of what is run; vacuity: nothing happens."
    )
    why: str = Field(min_length=1, description="The reason, in one sentence without a full stop.")


class NotComparable(Config):
    """Why no measurement here can judge a claim."""

    why: str = Field(min_length=1, description="The reason: what it hangs on and no source publishes.")
    scales: Names = Field((), description="The scales at which that is so; empty: all.")
    played: Literal["any", "synthetic"] = Field(
        "any", description="synthetic: only where a synthetic trace stands in for one of the claim's."
    )


class Claim(Config):
    """What a paper says about a panel of a figure. A subclass with a field `kind` is a kind of claim."""

    said: str = Field(description="What the paper says, in words of our own; or what we add to it.")
    source: str = Field(
        description="Where it says so: section or figure; of what we add: ours; extends section N."
    )
    series: str = Field(description="The bar it is about.")
    against: Names = Field(
        (), description="The bars it is compared with; of several, the mean of the changes counts."
    )
    at: str = Field("", description="The variant of those bars; empty: in each variant its own.")
    workloads: Texts = Field((), description="Where it is said to hold; empty: on all of the figure.")
    variants: Names = Field((), description="Of the figure, those it is about; empty: all.")
    weights: str = Field(
        "",
        description="A metric of the bar that it is compared with, or of its own, which weighs each trace in "
        "a mean: relocated_pages for what is counted per page moved; empty: all alike.",
    )
    smallest: float = Field(SMALLEST, ge=0, description="The smallest change that counts: 0.01 is 1 %.")
    not_comparable: NotComparable | None = Field(
        None, description="Why no verdict is given on it, and where; null: one is given."
    )
    holds_by: HoldsBy | None = Field(
        None, description="Why it holds without saying much; null: it can fail as any other."
    )

    @property
    def is_ours(self) -> bool:
        """Whether the paper does not say it."""
        return self.source.startswith("ours")

    @property
    def metrics(self) -> Texts:
        """The metrics that it needs beside that of the panel."""
        return ()

    @property
    def averages_ratios(self) -> bool:
        """Whether one trace with next to nothing to divide by would decide it."""
        return bool(self.against)

    @property
    def measured_on(self) -> Texts:
        """The workloads of the claim; empty: all of the figure."""
        return self.workloads

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Raise a `ValueError` if the figure leaves nothing to measure the claim on."""
        if self.at and self.at not in variants:
            raise ValueError(f"names in {where}.at '{self.at}', which is no variant of it")

    def columns(self, values: Sequence[Values], places: Sequence[Place]) -> list[Column]:
        """Return the comparisons on one workload; what cannot be compared is left out.

        `values` are of the metric of the panel, then of each of `metrics`, then of that of `weights`.
        """
        if not self.against:
            own = [(values[0][place], self.weight(values, place)) for place in places if place in values[0]]
            return [Column(scores, weight=weight) for scores, weight in own]
        found = []
        for place in places:
            for other in self.against:
                base = Place(other, place.workload, self.at or place.variant)
                if scores := self._compare(values, place, base):
                    at = f"at {place.variant}" if len(places) > 1 else ""
                    against = f"against {other}" if len(self.against) > 1 else ""
                    name = " ".join(filter(None, (at, against)))
                    found.append(Column(scores, name, mean_at(values[0], base), self.weight(values, base)))
        return found

    def weight(self, values: Sequence[Values], place: Place) -> float:
        """Return the weight of a place in a mean; 0 if it was not measured."""
        return mean_at(values[-1], place) if self.weights else 1.0

    def _compare(self, values: Sequence[Values], place: Place, base: Place) -> BySeed | None:
        return changes(values[0], place, base)

    def find(self, compared: Compared) -> Found | None:
        """Return the measurement of the comparisons; None if there is none."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return the claimed value as a number or in a word."""
        raise NotImplementedError


def undecided(measured: Estimate, compared: Compared) -> Verdict | None:
    """Return why there is no verdict: a single seed has none, unless nothing is drawn."""
    if compared.exact or not np.isnan(measured.low):
        return None
    return "one seed: no verdict" if len(compared.scores) < 2 else "too few seeds: no verdict"


def on_side(measured: Estimate, side: float) -> bool:
    """Return whether the whole interval lies on a side of zero."""
    return min(side * limit for limit in limits(measured)) > 0


def changes(values: Values, place: Place, base: Place) -> BySeed | None:
    """Return the value at `place` over that at `base`, minus one, by seed; `None` without both."""
    ours, theirs = values.get(place, {}), values.get(base, {})
    common = ours.keys() & theirs.keys()
    if not common or not all(theirs[seed] for seed in common):
        return None
    return {seed: ours[seed] / theirs[seed] - 1 for seed in sorted(common)}


def mean_at(values: Values, place: Place) -> float:
    """Return the mean of a metric over its seeds; 0 where it was not measured."""
    return float(np.mean(list(values[place].values()))) if place in values else 0.0


def side_of(word: str) -> float:
    """Return the side of zero that a word names: -1 (falls, lowest) or 1 (rises, highest)."""
    return -1.0 if word in ("falls", "lowest") else 1.0


def limits(estimate: Estimate) -> tuple[float, float]:
    """Return the interval; where one seed leaves none, the value as both of its limits."""
    return (estimate.value,) * 2 if np.isnan(estimate.low) else (estimate.low, estimate.high)


def is_of_magnitude(share: float) -> bool:
    """Return whether a measured number is between half and twice the claimed one, given their ratio."""
    return 1 / _FACTOR <= share <= _FACTOR


def is_next_to_none(share: float) -> bool:
    """Return whether a change is under a tenth of the claimed one, given their ratio."""
    return share < _NEXT_TO_NONE


def by_magnitude(share: float) -> Verdict:
    """Return the verdict on a change on the claimed side of zero, given its ratio to the claimed one."""
    if is_next_to_none(share):
        return "negligible"
    return "holds within a factor two" if is_of_magnitude(share) else "direction holds"


def holds(keeps: bool) -> Verdict:
    """Return the verdict on a claim that holds or does not."""
    return "holds" if keeps else "does not hold"


def with_interval(estimate: Estimate, style: str) -> str:
    """Return an estimate and its interval as text, each number in the format `style`."""
    if np.isnan(estimate.low):
        return f"{estimate.value:{style}} (no interval)"
    return f"{estimate.value:{style}} [{estimate.low:{style}}, {estimate.high:{style}}]"
