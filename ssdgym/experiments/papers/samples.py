"""Results at their places in a figure, values of metrics at these places, and comparisons of the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssdgym.config.device import DeviceConfig
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.experiments.statistics import Estimate, stratified_bootstrap


class Place(NamedTuple):
    """A place in a figure: the bar `series` in the group of a workload and a variant."""

    series: str
    workload: str
    variant: str


@dataclass(frozen=True)
class Sample:
    """A result and its place in a figure.

    Attributes:
        exact: whether the run drew no random numbers.
        spare_pages: physical pages of the device minus its logical pages.
    """

    place: Place
    result: Result
    exact: bool = False
    spare_pages: int = 0


@dataclass(frozen=True)
class Point:
    """A run and its place in a figure. If `exact`, the run draws no random numbers, so one seed is enough."""

    place: Place
    run: RunSpec
    exact: bool = False

    def with_result(self, result: Result) -> Sample:
        """Return the sample with the result of the run."""
        device = self.run.device
        assert isinstance(device, DeviceConfig)
        spare = device.geometry.physical_pages - device.logical_pages
        return Sample(self.place, result, self.exact, spare)


#: Text between the names of a metric and of its divisor.
PER = " per "
#: Numbers by seed.
BySeed = dict[int, float]
#: The values of one metric at each place.
Values = dict[Place, BySeed]


def values_of(samples: Sequence[Sample], metric: str, per_unit: float = 1.0) -> Values:
    """Return the values of a metric, divided by `per_unit`; leave out places where a seed has no value.

    The metric `A per B` is A divided by B; it has no value if B is 0.
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
    """Return a metric, or a ratio of metrics; `None` if it was not measured."""
    name, _, divisor = metric.partition(PER)
    if not all(result.measured(one) for one in (name, divisor) if one):
        return None
    below = result.metric(divisor) if divisor else 1
    return result.metric(name) / below if below else None


def relative(values: Values, base: str, variant: str = "") -> Values:
    """Divide each value by that of the bar `base` for the same workload and seed; skip places without it.

    The divisor is that of `variant`, or of the value's variant if `variant` is empty; 0 counts as missing.
    """
    found: Values = {}
    for place, scores in values.items():
        others = values.get(Place(base, place.workload, variant or place.variant), {})
        if all(others.get(seed) for seed in scores):
            found[place] = {seed: score / others[seed] for seed, score in scores.items()}
    return found


def workloads_of(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return the workloads of samples, in order of first appearance."""
    return tuple(dict.fromkeys(sample.place.workload for sample in samples))


def writes_per_spare_page(samples: Sequence[Sample]) -> dict[str, float]:
    """Return, by workload, the host pages written per spare page of the device; the smallest of all runs."""
    found: dict[str, float] = {}
    for sample in samples:
        share = sample.result.metric("host_pages_written") / sample.spare_pages
        name = sample.place.workload
        found[name] = min(share, found.get(name, share))
    return found


Matrix = NDArray[np.float64]

#: The 0.975 quantiles of Student's t for 1 to 10 degrees of freedom. For more, the last one is used.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


class Column(NamedTuple):
    """One comparison on one workload.

    Attributes:
        scores: changes (-0.2 is 20 % less) or values, by seed.
        workload: name of the workload.
        name: variant and other bar as text, of which the claim has several; otherwise empty.
        base: mean of the divisor over the seeds; NaN if there is no divisor.
        weight: weight of the comparison in a mean.
    """

    scores: BySeed
    workload: str
    name: str = ""
    base: float = np.nan
    weight: float = 1.0


@dataclass(frozen=True)
class Compared:
    """The comparisons of a claim on all of its workloads.

    Attributes:
        scores: shape `(seeds, comparisons)`: changes (-0.2 is 20 % less), or values in the panel's unit.
        columns: the comparisons; those on one workload follow each other.
        exact: whether no run drew random numbers. The only row of scores then holds for any seed.
    """

    scores: Matrix
    columns: tuple[Column, ...]
    exact: bool = False

    @property
    def workloads(self) -> NDArray[np.str_]:
        """The workload of each comparison, shape `(comparisons,)`."""
        return np.array([column.workload for column in self.columns])

    @property
    def weights(self) -> list[float]:
        """The weight of each comparison in a mean."""
        return [column.weight for column in self.columns]

    def estimate(self, statistic: Callable[[Matrix], Any]) -> Estimate:
        """Estimate a statistic over the comparisons, each of which is averaged over the seeds.

        The statistic reduces the last axis. The interval is from a bootstrap over seeds. For one comparison,
        it is Student's, because a bootstrap of few numbers never leaves their range.
        """
        seeds, comparisons = self.scores.shape
        if seeds > 1 and comparisons == 1:
            quantile = _STUDENT[min(seeds - 1, len(_STUDENT)) - 1]
            half = quantile * self.scores.std(ddof=1) / np.sqrt(seeds)
            value = float(statistic(self.scores.mean(axis=0)))
            return Estimate(value, value - half, value + half)
        return stratified_bootstrap(self.scores, lambda drawn: statistic(drawn.mean(axis=-2)))

    def mean(self) -> Estimate:
        """Estimate the weighted mean over the comparisons."""
        return self.estimate(lambda scores: np.average(scores, axis=-1, weights=self.weights))

    def carrier(self, side: float) -> str:
        """Return the workload without which the mean is not on `side` (1 or -1) of zero; empty if none.

        If there are several such workloads, return the one whose removal moves the mean farthest.
        """
        means = self.scores.mean(axis=0)
        weights = np.array(self.weights)
        rest: dict[str, float] = {}
        for name in dict.fromkeys(self.workloads.tolist()):
            others = self.workloads != name
            if others.any():
                rest[name] = side * float(np.average(means[others], weights=weights[others]))
        found = min(rest, key=lambda name: rest[name], default="")
        return found if found and rest[found] <= 0 else ""

    def halves(self) -> tuple[Compared, Compared]:
        """Return the comparisons on the first half of the seeds (rounded down), and on the other half.

        With a single seed, both halves contain it.
        """
        half = len(self.scores) // 2
        if not half:
            return self, self
        return replace(self, scores=self.scores[:half]), replace(self, scores=self.scores[half:])

    def part(self, kept: slice) -> Compared:
        """Return the comparisons whose indices are in `kept`."""
        return Compared(self.scores[:, kept], self.columns[kept], self.exact)

    def name_of(self, index: int) -> str:
        """Return the name of a comparison: its workload, and any variant and any other bar."""
        return f"{self.columns[index].workload} {self.columns[index].name}".rstrip()
