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
    """A run and its place in a figure."""

    place: Place
    run: RunSpec


@dataclass(frozen=True)
class Sample:
    """A result and its place in a figure."""

    place: Place
    result: Result


#: Numbers by seed.
BySeed = dict[int, float]
#: The values of one metric at each place.
Values = dict[Place, BySeed]


def values_of(samples: Sequence[Sample], metric: str, per_unit: float = 1.0) -> Values:
    """Return the values of a metric; places of which a seed has none are left out.

    Args:
        samples: of a figure.
        metric: name of the metric, nested names joined by `/`.
        per_unit: the metric's own units in one unit of the values.
    """
    found: Values = {}
    lacking = set()
    for sample in samples:
        place, result = sample.place, sample.result
        if not result.measured(metric):
            lacking.add(place)
        else:
            found.setdefault(place, {})[result.seed] = result.metric(metric) / per_unit
    return {place: scores for place, scores in found.items() if place not in lacking}


def relative(values: Values, base: str) -> Values:
    """Return values over those of the series `base`, seed by seed; without those that cannot be divided."""
    found: Values = {}
    for place, scores in values.items():
        others = values.get(place._replace(series=base), {})
        if all(others.get(seed) for seed in scores):
            found[place] = {seed: score / others[seed] for seed, score in scores.items()}
    return found


def workloads_of(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return the workloads that were run, in order."""
    return tuple(dict.fromkeys(sample.place.workload for sample in samples))
