"""What a figure of a paper stands on: results, each at its place in the figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ssdgym.config.reproduce import FigureConfig, PanelConfig
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.evaluate import Cell


class Place(NamedTuple):
    """Where in a figure: a bar of a group."""

    series: str
    workload: str
    variant: str


@dataclass(frozen=True)
class Point:
    """A cell, and where in a figure it stands."""

    place: Place
    cell: Cell


@dataclass(frozen=True)
class Sample:
    """A result, and where in a figure it stands."""

    place: Place
    result: Result


#: Values of one metric: of each place, by seed.
Values = dict[Place, dict[int, float]]


def values_of(samples: Sequence[Sample], panel: PanelConfig) -> Values:
    """Return the values of a panel's metric in its unit; places of which a seed has none are left out."""
    found: Values = {}
    lacking = set()
    for sample in samples:
        place, result = sample.place, sample.result
        if not result.measured(panel.metric):
            lacking.add(place)
        else:
            found.setdefault(place, {})[result.seed] = result.metric(panel.metric) / panel.per_unit
    return {place: scores for place, scores in found.items() if place not in lacking}


def relative(values: Values, base: str) -> Values:
    """Values over those of another series, seed by seed; without those that cannot be divided."""
    found: Values = {}
    for place, scores in values.items():
        others = values.get(place._replace(series=base), {})
        if all(others.get(seed) for seed in scores):
            found[place] = {seed: score / others[seed] for seed, score in scores.items()}
    return found


def workloads_of(samples: Sequence[Sample]) -> tuple[str, ...]:
    """The workloads that were run, in order."""
    return tuple(dict.fromkeys(sample.place.workload for sample in samples))


def variants_of(figure: FigureConfig, chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """The variants of a figure, or those that were chosen, in the order of the figure."""
    return tuple(name for name in figure.variant_names if not chosen or name in chosen)
