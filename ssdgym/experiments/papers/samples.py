"""Results at their places in a figure, and the values of a metric at these places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.run_spec import RunSpec


class Place(NamedTuple):
    """A place in a figure: a bar of a group."""

    series: str
    workload: str
    variant: str


@dataclass(frozen=True)
class Point:
    """A run and its place in a figure; exact if nothing in it is drawn, so that no other seed is needed."""

    place: Place
    run: RunSpec
    exact: bool = False


@dataclass(frozen=True)
class Sample:
    """A result and its place in a figure; exact if nothing in its run was drawn."""

    place: Place
    result: Result
    exact: bool = False


#: Between the names of a metric and of one that it is divided by.
PER = " per "
#: Numbers by seed.
BySeed = dict[int, float]
#: The values of one metric at each place.
Values = dict[Place, BySeed]


def values_of(samples: Sequence[Sample], metric: str, per_unit: float = 1.0) -> Values:
    """Return the values of a metric; places of which a seed has none are left out.

    Args:
        samples: of a figure.
        metric: name of the metric, nested names joined by `/`; `A per B` is A over B, not measured where B
            is 0.
        per_unit: the metric's own units in one unit of the values.
    """
    found: Values = {}
    lacking = set()
    for sample in samples:
        place, result = sample.place, sample.result
        value = _value_of(result, metric)
        if value is None:
            lacking.add(place)
        else:
            found.setdefault(place, {})[result.seed] = value / per_unit
    return {place: scores for place, scores in found.items() if place not in lacking}


def _value_of(result: Result, metric: str) -> float | None:
    """Return a metric, or one over another; `None` where it was not measured."""
    name, _, divisor = metric.partition(PER)
    if not result.measured(name):
        return None
    if not divisor:
        return result.metric(name)
    if not result.measured(divisor) or not result.metric(divisor):
        return None
    return result.metric(name) / result.metric(divisor)


def relative(values: Values, base: str, variant: str = "") -> Values:
    """Return values over those of a series, seed by seed; without those that cannot be divided.

    Args:
        values: of one metric.
        base: the series.
        variant: of that series; empty: in each variant its own.
    """
    found: Values = {}
    for place, scores in values.items():
        others = values.get(Place(base, place.workload, variant or place.variant), {})
        if all(others.get(seed) for seed in scores):
            found[place] = {seed: score / others[seed] for seed, score in scores.items()}
    return found


def workloads_of(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return the workloads that were run, in order."""
    return tuple(dict.fromkeys(sample.place.workload for sample in samples))
