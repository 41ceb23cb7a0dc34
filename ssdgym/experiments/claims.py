"""What a paper said beside what was measured, with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssdgym.config.claims import (
    ChangeClaim,
    ClaimConfig,
    DirectionClaim,
    LimitClaim,
    RangeClaim,
    TrendClaim,
    UnchangedClaim,
    ValueClaim,
)
from ssdgym.config.reproduce import FigureConfig, PanelConfig
from ssdgym.experiments.samples import Place, Sample, Values, values_of, variants_of, workloads_of
from ssdgym.experiments.statistics import Estimate, stratified_bootstrap
from ssdgym.experiments.verdicts import Verdict, side_of, verdict

Scores = NDArray[np.float64]
#: A workload, and the scores of one comparison on it: shape (seeds,).
Column = tuple[str, dict[int, float]]


@dataclass(frozen=True)
class Finding:
    """One claim, checked.

    Attributes:
        claim: what the paper says.
        workloads: those it was checked on.
        claimed: how many of those that were run it is about.
        measured: what the claim counts, here: a change (the metric of one series over that of the other,
            minus one), or for a value the metric itself; of a range, the smallest change and the largest.
            Empty where nothing was measured.
        per_workload: the same for each workload, mean over all else.
        verdict: see ``ssdgym.experiments.verdicts``.
    """

    claim: ClaimConfig
    workloads: tuple[str, ...]
    claimed: int
    measured: tuple[Estimate, ...]
    per_workload: dict[str, float]
    verdict: Verdict

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; limits of an interval that one seed does not give are null."""
        return {
            **self.claim.model_dump(mode="json"),
            "workloads": list(self.workloads),
            "measured": [
                {name: None if np.isnan(x) else x for name, x in vars(estimate).items()}
                for estimate in self.measured
            ],
            "per_workload": self.per_workload,
            "verdict": self.verdict,
        }


def check_claims(figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample]) -> list[Finding]:
    """Check every claim of a panel on the samples of its figure.

    A workload on which a claim's metric was not measured, or is 0 where it is divided by, is left out of it.
    """
    values = values_of(samples, panel)
    run = workloads_of(samples)
    return [_check(figure, claim, values, run) for claim in panel.claims]


def _check(figure: FigureConfig, claim: ClaimConfig, values: Values, run: Sequence[str]) -> Finding:
    wanted = [name for name in run if not claim.workloads or name in claim.workloads]
    claimed = len(claim.workloads or figure.workloads)
    columns = [column for name in wanted for column in _columns(figure, claim, values, name)]
    seeds = sorted(set.intersection(*(set(scores) for _, scores in columns))) if columns else []
    if not seeds:
        return Finding(claim, (), claimed, (), {}, "not measured")
    matrix = np.array([[scores[seed] for _, scores in columns] for seed in seeds])
    names = np.array([name for name, _ in columns])
    found = tuple(dict.fromkeys(names.tolist()))
    measured, steps = _measured(figure, claim, matrix)
    per_workload = {name: float(matrix[:, names == name].mean()) for name in found}
    return Finding(claim, found, claimed, measured, per_workload, verdict(claim, measured, steps))


def _columns(figure: FigureConfig, claim: ClaimConfig, values: Values, workload: str) -> list[Column]:
    """The comparisons that a claim makes on a workload; a trend is all of its variants or none."""
    variants = variants_of(figure, claim.variants)
    places = [Place(claim.series, workload, variant) for variant in variants]
    if isinstance(claim, ValueClaim):
        return [(workload, values[place]) for place in places if place in values]
    if isinstance(claim, TrendClaim):
        found = [_changes(values, place, places[0]) for place in places[1:]]
        return [] if any(scores is None for scores in found) else [(workload, s) for s in found if s]
    pairs = [(place, place._replace(series=other)) for place in places for other in claim.against]
    return [(workload, scores) for pair in pairs if (scores := _changes(values, *pair))]


def _changes(values: Values, place: Place, base: Place) -> dict[int, float] | None:
    """The changes from one place to another by seed; ``None`` where there is nothing to compare with."""
    ours, theirs = values.get(place, {}), values.get(base, {})
    common = ours.keys() & theirs.keys()
    if not common or not all(theirs[seed] for seed in common):
        return None
    return {seed: ours[seed] / theirs[seed] - 1 for seed in sorted(common)}


def _measured(
    figure: FigureConfig, claim: ClaimConfig, matrix: Scores
) -> tuple[tuple[Estimate, ...], list[float]]:
    """What a claim counts over a matrix (seeds, comparisons); of a trend the steps along it, too."""
    if isinstance(claim, RangeClaim):
        return (_estimate(matrix, np.min), _estimate(matrix, np.max)), []
    if isinstance(claim, TrendClaim):
        changes = len(variants_of(figure, claim.variants)) - 1
        along = matrix.mean(axis=0).reshape(-1, changes).mean(axis=0)
        return (_estimate(matrix[:, changes - 1 :: changes], np.mean),), np.diff(along, prepend=0.0).tolist()
    if isinstance(claim, ValueClaim):
        return (_estimate(matrix, np.mean),), []
    return (_estimate(matrix, _statistic(claim)),), []


def _estimate(matrix: Scores, statistic: Callable[[Scores], Any]) -> Estimate:
    """Of the comparisons, each the mean over its seeds."""
    return stratified_bootstrap(matrix, lambda drawn: float(statistic(drawn.mean(axis=0))))


def _statistic(
    claim: ChangeClaim | LimitClaim | UnchangedClaim | DirectionClaim,
) -> Callable[[Scores], float]:
    """The one number over the changes of all comparisons that a claim is about."""
    side = side_of(claim)
    match claim.statistic:
        case "mean":
            return lambda changes: float(changes.mean())
        case "maximum":
            return lambda changes: float(side * (side * changes).max())
        case "each":
            # All of them hold if the one that is farthest from the claim does.
            return lambda changes: float(side * (side * changes).min())
