"""Python functions that measure and judge claims which are neither a change nor a trend.

A function is registered by `judges`. Its arguments are the claim, the comparisons and, as keywords, the
`arguments` of the claim's YAML. It returns a `Found`, or None if a workload that it needs was not run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from ssdgym.experiments.papers.claims import (
    SMALLEST,
    Claim,
    Found,
    Texts,
    Verdict,
    changes,
    holds,
    is_next_to_none,
    is_of_magnitude,
    side_of,
)
from ssdgym.experiments.papers.samples import BySeed, Compared, Matrix, Place, Values

#: The functions by name, each with a format string that shows the claim's arguments as text.
FUNCTIONS: dict[str, tuple[Callable[..., Found | None], str]] = {}


def judges(claimed: str) -> Callable[[Callable[..., Found | None]], Callable[..., Found | None]]:
    """Register the decorated function; `claimed` is a format string that shows a claim's arguments."""

    def register(function: Callable[..., Found | None]) -> Callable[..., Found | None]:
        FUNCTIONS[function.__name__] = (function, claimed)
        return function

    return register


class FunctionClaim(Claim):
    """A claim, such as a claim about a value, that a function in `FUNCTIONS` judges."""

    kind: Literal["function"]
    function: str = Field(description="Name of the function.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments of the function.")
    metrics_compared: Texts = Field(
        (),
        description="Two other metrics. Scores are then the distance of the metric's change from the change "
        "of the first, minus its distance from the change of the second.",
    )

    @model_validator(mode="after")
    def _calls_a_function(self) -> FunctionClaim:
        if self.function not in FUNCTIONS:
            raise ValueError(f"has no function '{self.function}'; choose one of {', '.join(FUNCTIONS)}")
        try:
            inspect.signature(FUNCTIONS[self.function][0]).bind(self, None, **self.arguments)
        except TypeError as error:
            raise ValueError(f"calls {self.function}: {error}") from None
        low, high = ("low", "high") if self.function == "between" else ("beyond", "claimed")
        if {low, high} <= self.arguments.keys() and self.arguments[low] >= self.arguments[high]:
            raise ValueError(f"calls {self.function} with {low} above {high}; give {low} below {high}")
        return self

    @property
    def metrics(self) -> Texts:
        """The two metrics to whose changes the change of the panel's metric is compared, if any."""
        return self.metrics_compared

    @property
    def averages_ratios(self) -> bool:
        """Whether ratios to other bars are averaged; `extreme` and `between` judge each trace by itself."""
        return bool(self.against) and self.function not in ("extreme", "between")

    @property
    def measured_on(self) -> Texts:
        """The workloads of the claim; empty for `extreme`, which needs all workloads of the figure."""
        return () if self.function == "extreme" else self.workloads

    def require_fit(self, where: str, workloads: Texts, variants: Texts) -> None:
        """Raise `ValueError` if `extreme` names no or all workloads, or `share` lacks its variant or `at`."""
        super().require_fit(where, workloads, variants)
        if self.function == "share" and (len(self.variants), bool(self.at)) != (1, True):
            raise ValueError(f"claims a share in {where}; give one variant, and in at that of the bar")
        if self.function == "extreme" and set(self.workloads) in (set(), set(workloads)):
            raise ValueError(f"claims an extreme in {where} of all its workloads; leave some to compare")

    def _compare(self, values: Sequence[Values], place: Place, base: Place) -> BySeed | None:
        found = [changes(metric, place, base) for metric in values[: 1 + len(self.metrics)]]
        if any(scores is None for scores in found):
            return None
        own, *others = [scores for scores in found if scores is not None]
        if not others:
            return {seed: score + 1 for seed, score in own.items()} if self.function == "share" else own
        one, other = others
        common = sorted(own.keys() & one.keys() & other.keys())
        return {seed: abs(own[seed] - one[seed]) - abs(own[seed] - other[seed]) for seed in common}

    def find(self, compared: Compared) -> Found | None:
        """Call the function that the claim names, and return its result."""
        return FUNCTIONS[self.function][0](self, compared, **self.arguments)

    def describe(self) -> str:
        """Return the claimed value as text."""
        given = self.arguments
        less = " or less" if given.get("or_less") else ""
        width = f" within {given['within']:.1%}" if "within" in given else ""
        text = FUNCTIONS[self.function][1].format(**given, metrics=self.metrics)
        return text + less + width


@judges("{claimed:g}")
def value(
    claim: FunctionClaim, compared: Compared, *, claimed: float, beyond: float = 0.0, or_less: bool = False
) -> Found:
    """Judge whether (mean of the metric - `beyond`) is half to twice (`claimed` - `beyond`).

    With `beyond=1`, a write amplification of 1.3 is 3 times 1.1. With `or_less`, the claim also holds if the
    whole interval is at most `claimed`.
    """
    measured = compared.mean()
    share = (measured.value - beyond) / (claimed - beyond)
    verdict: Verdict = "holds within a factor two" if is_of_magnitude(share) else "does not hold"
    if or_less and measured.limits[1] <= claimed:
        verdict = "holds"
    over = f" beyond {beyond:g}" if beyond else ""
    text = f"{measured.text('.3f')}, {share:.1f} times the paper's{over}"
    return Found((measured,), verdict, text, ".3f")


@judges("at most {claimed:g}")
def at_most(claim: FunctionClaim, compared: Compared, *, claimed: float) -> Found:
    """Judge whether the metric's whole interval is at most the claimed value on every workload."""
    measured = compared.estimate(partial(np.max, axis=-1))
    return Found((measured,), holds(measured.limits[1] <= claimed), measured.text(".3f"), ".3f")


@judges("{low:+.1%} to {high:+.1%}")
def between(claim: FunctionClaim, compared: Compared, *, low: float, high: float) -> Found:
    """Judge whether the intervals of the workloads' lowest and highest change lie within `low` and `high`."""
    least, most = (compared.estimate(partial(pick, axis=-1)) for pick in (np.min, np.max))
    verdict = holds(low <= least.limits[0] and most.limits[1] <= high)
    return Found((least, most), verdict, f"{least.value:+.1%} to {most.value:+.1%}")


@judges("{claimed:.1%}")
def share(claim: FunctionClaim, compared: Compared, *, claimed: float, within: float | None = None) -> Found:
    """Judge whether the ratio to a bar at another variant is half to twice `claimed`, on the same side of 1.

    If `within` is given, the whole interval must instead be at most `within` away from `claimed`.
    """
    measured = compared.mean()
    low, high = measured.limits
    verdict: Verdict = "holds within a factor two"
    if within is not None:
        verdict = holds(claimed - within <= low and high <= claimed + within)
    elif not (claimed == 1 or (high < 1 if claimed < 1 else low > 1)) or not is_of_magnitude(
        measured.value / claimed
    ):
        verdict = "does not hold"
    elif claimed != 1 and is_next_to_none((measured.value - 1) / (claimed - 1)):
        verdict = "negligible"
    return Found((measured,), verdict, measured.text(".1%"), ".1%")


@judges("{which}")
def extreme(claim: FunctionClaim, compared: Compared, *, which: Literal["lowest", "highest"]) -> Found | None:
    """Judge whether the workloads that the claim names have the lowest or highest values or changes of all.

    The lowest change is the largest fall. The measured number is the distance between the named workloads and
    the nearest other workload. Return None if a named workload, or every other one, was not run.
    """
    if not set(claim.workloads) < set(compared.workloads.tolist()):
        return None
    side, named = side_of(which), np.isin(compared.workloads, claim.workloads)

    def distance(scores: Matrix) -> Matrix:
        ours, others = side * scores[..., named], side * scores[..., ~named]
        return side * (ours.min(axis=-1) - others.max(axis=-1))

    measured = compared.estimate(distance)
    verdict = holds(measured.is_on(side))
    # If all changes are tiny, their order is due to chance.
    largest = np.abs(compared.scores.mean(axis=0)).max(initial=0.0)
    if verdict == "holds" and claim.against and max(abs(measured.value), largest) < SMALLEST:
        verdict = "negligible"
    text = measured.text("+.1%" if claim.against else "+.3f")
    return Found((measured,), verdict, f"{text} from the nearest of the others")


@judges("nearer to {metrics[0]} than to {metrics[1]}")
def resembles(claim: FunctionClaim, compared: Compared) -> Found:
    """Judge whether the metric's change is nearer to the change of one metric than to that of another."""
    measured, carrier = compared.mean(), compared.carrier(-1.0)
    verdict = holds(measured.is_on(-1.0))
    if verdict == "holds" and carrier:
        verdict = "carried by one trace"
    text = f"{measured.text('+.1%')} of distance"
    return Found((measured,), verdict, text, carrier=carrier)
