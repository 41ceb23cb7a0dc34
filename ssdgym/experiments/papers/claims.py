"""The base class of claims. A claim is loaded from YAML, and has methods that measure and judge it.

A *comparison* is the change of the claim's bar relative to another bar on one workload and variant. If a
claim names no other bar, it is the value of the claim's bar. The *claimed side* is below zero for a claimed
fall, and above zero for a claimed rise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

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
#: Meanings of the verdicts.
VERDICTS: dict[Verdict, str] = {
    "holds within a factor two": "the interval of a change is on the claimed side of zero, and the change is "
    "half to twice the claimed change; or a value and the claim, both minus `beyond`, differ at most twofold",
    "negligible": "a change on the claimed side is smaller than a tenth of the claimed change or limit, or "
    "smaller than 1 % if the paper gives no number",
    "direction holds": "the whole interval lies on the claimed side of zero",
    "direction holds, limit missed": "the interval lies on the claimed side, but reaches beyond the limit",
    "direction holds, but not at every step": "a trend has the claimed direction, but turns back at a step",
    "carried by one trace": "without one of the traces, the mean is not on the claimed side of zero",
    "holds": "the whole interval meets the claimed limit, range, bound, share or claim of no change; if an "
    "extreme or a likeness is claimed, the interval is on the claimed side of zero",
    "does not hold": "no other verdict applies",
    "one seed: no verdict": "a single seed cannot show variation by chance",
    "too few seeds: no verdict": "of two seeds, one chooses the largest or smallest change, and one tests it",
    "not comparable": "the claim depends on an unpublished value, or on runs that this scale leaves out",
    "not measured": "no trace of the claim was run, the metric has no value (such as without garbage "
    "collection), or the traces write too little (`least_writes`)",
}

#: A measured and a published number have the same magnitude if they differ by at most this factor.
_FACTOR = 2.0
#: A measured change that is smaller than this share of the published change is negligible.
_NEXT_TO_NONE = 0.1


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Texts = tuple[str, ...]
#: One name, or a list of them.
Names = Annotated[Texts, BeforeValidator(_listed)]
Direction = Literal["falls", "rises"]


#: The smallest change that counts if the paper gives no number.
SMALLEST = 0.01


@dataclass(frozen=True)
class Found:
    """The measurement and verdict of a claim.

    Attributes:
        measured: the numbers by which the claim is judged; empty if nothing could be compared.
        verdict: one of `VERDICTS`.
        text: the measured numbers as text.
        style: format of one number, such as `+.1%`.
        chosen: for the largest or smallest change, name of the comparison that shows it; otherwise empty.
        carrier: the workload without which the mean is not on the claimed side; empty if there is none.
    """

    measured: tuple[Estimate, ...]
    verdict: Verdict
    text: str = "nothing"
    style: str = "+.1%"
    chosen: str = ""
    carrier: str = ""


class HoldsBy(Config):
    """The reason why a claim would hold with any measurement."""

    kind: Literal["arithmetic", "construction", "vacuity"] = Field(
        description="arithmetic: it follows from other claims; construction: it follows from how runs are "
        "set up; vacuity: the runs hardly differ in what it compares."
    )
    why: str = Field(min_length=1, description="The reason, in one sentence without a full stop.")


class NotComparable(Config):
    """The reason why no measurement here can judge a claim."""

    why: str = Field(
        min_length=1, description="The reason: the unpublished value that the result depends on."
    )
    scales: Names = Field((), description="Scales at which the claim is not judged; empty: all.")
    played: Literal["any", "synthetic"] = Field(
        "any", description="synthetic: only if the claim's trace is synthetic in this run; any: always."
    )


class Claim(Config):
    """A statement of a paper about a panel of a figure; a subclass with a field `kind` is a kind of claim."""

    said: str = Field(description="What the paper says, in our words; or what we claim in addition.")
    source: str = Field(
        description="Section or figure of the paper; for our own claims 'ours; extends section N'."
    )
    series: str = Field(description="Bar that the claim is about.")
    against: Names = Field(
        (), description="Bars with which it is compared; changes against several are averaged."
    )
    at: str = Field("", description="Variant of the bars in against; empty: that of the claim's bar.")
    workloads: Texts = Field((), description="Workloads of the claim; empty: all of the figure.")
    variants: Names = Field((), description="Variants of the claim; empty: all of the figure.")
    weights: str = Field(
        "",
        description="Metric by which traces are weighted in a mean, such as relocated_pages. It is that of "
        "the bar in against, or without against that of the claim's bar; empty: equal weights.",
    )
    not_comparable: NotComparable | None = Field(
        None, description="Why and where the claim gets no verdict; null: it gets one."
    )
    holds_by: HoldsBy | None = Field(None, description="Why the claim holds trivially; null: it can fail.")

    @property
    def is_ours(self) -> bool:
        """Whether the claim is ours and not the paper's."""
        return self.source.startswith("ours")

    @property
    def metrics(self) -> Texts:
        """The metrics that the claim needs besides the panel's metric and `weights`."""
        return ()

    @property
    def averages_ratios(self) -> bool:
        """Whether the claim averages ratios, so that a trace with a divisor near zero would dominate."""
        return bool(self.against)

    @property
    def measured_on(self) -> Texts:
        """The workloads of the claim; empty means all workloads of the figure."""
        return self.workloads

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Raise a `ValueError` if the figure lacks something that the claim compares."""
        if self.at and self.at not in variants:
            raise ValueError(f"names in {where}.at '{self.at}', which is no variant of it")

    def columns(self, values: Sequence[Values], places: Sequence[Place]) -> list[Column]:
        """Return the comparisons on one workload at the given places; skip places without a measurement.

        `values` contains the values of the panel's metric, of each of `metrics`, and of any `weights`.
        """
        if not self.against:
            own = [place for place in places if place in values[0]]
            return [Column(values[0][at], at.workload, weight=self.weight(values, at)) for at in own]
        found = []
        for place in places:
            for other in self.against:
                base = Place(other, place.workload, self.at or place.variant)
                if scores := self._compare(values, place, base):
                    at = f"at {place.variant}" if len(places) > 1 else ""
                    against = f"against {other}" if len(self.against) > 1 else ""
                    name = " ".join(filter(None, (at, against)))
                    weight = self.weight(values, base)
                    found.append(Column(scores, place.workload, name, mean_at(values[0], base), weight))
        return found

    def weight(self, values: Sequence[Values], place: Place) -> float:
        """Return the weight of a place in a mean: 1 without `weights`; 0 if `weights` was not measured."""
        return mean_at(values[-1], place) if self.weights else 1.0

    def _compare(self, values: Sequence[Values], place: Place, base: Place) -> BySeed | None:
        return changes(values[0], place, base)

    def find(self, compared: Compared) -> Found | None:
        """Return the measurement and the verdict; None if a workload that they need was not run.

        A verdict is replaced if there are too few seeds for one (`ssdgym.experiments.papers.checks`).
        """
        raise NotImplementedError

    def describe(self) -> str:
        """Return the claimed value or direction as text."""
        raise NotImplementedError


def changes(values: Values, place: Place, base: Place) -> BySeed | None:
    """Return `place / base - 1` of the values at two places, by seed; `None` if a value is missing."""
    ours, theirs = values.get(place, {}), values.get(base, {})
    common = ours.keys() & theirs.keys()
    if not common or not all(theirs[seed] for seed in common):
        return None
    return {seed: ours[seed] / theirs[seed] - 1 for seed in sorted(common)}


def mean_at(values: Values, place: Place) -> float:
    """Return the mean of a metric over its seeds; 0 if it was not measured."""
    return float(np.mean(list(values[place].values()))) if place in values else 0.0


def side_of(word: str) -> float:
    """Return the side of zero that a word names: -1 (falls, lowest) or 1 (rises, highest)."""
    return -1.0 if word in ("falls", "lowest") else 1.0


def is_of_magnitude(share: float) -> bool:
    """Return whether `share`, the ratio of measured to claimed number, is between one half and two."""
    return 1 / _FACTOR <= share <= _FACTOR


def is_next_to_none(share: float) -> bool:
    """Return whether `share`, the ratio of measured to claimed change, is below one tenth."""
    return share < _NEXT_TO_NONE


def by_magnitude(share: float) -> Verdict:
    """Return the verdict on a change that has the claimed sign; `share` is measured / claimed change."""
    if is_next_to_none(share):
        return "negligible"
    return "holds within a factor two" if is_of_magnitude(share) else "direction holds"


def holds(keeps: bool) -> Verdict:
    """Return `holds` if `keeps`, otherwise `does not hold`."""
    return "holds" if keeps else "does not hold"
