"""What a paper said beside what was measured, with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssdgym.config.claims import (
    AtMostClaim,
    ChangeClaim,
    ClaimConfig,
    DirectionClaim,
    ExtremeClaim,
    LimitClaim,
    RangeClaim,
    ResemblesClaim,
    TrendClaim,
    UnchangedClaim,
    ValueClaim,
)
from ssdgym.config.reproduce import FigureConfig, PanelConfig
from ssdgym.experiments.analysis.statistics import Estimate, stratified_bootstrap
from ssdgym.experiments.papers.samples import (
    Place,
    Sample,
    Values,
    relative,
    values_of,
    variants_of,
    workloads_of,
)
from ssdgym.experiments.papers.verdicts import Verdict, side_of, verdict

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
            minus one), or for a value the metric itself; of a range, the smallest change and the largest; of
            an extreme, how far it is from the nearest of the rest; of a resemblance, by how much one distance
            is smaller than the other. Empty where nothing was measured.
        per_workload: the same for each workload, mean over all else; of an extreme its change, or value.
        verdict: see ``ssdgym.experiments.papers.verdicts``.
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
    run = workloads_of(samples)
    return [_check(figure, claim, _values_for(claim, panel, samples), run) for claim in panel.claims]


def _values_for(claim: ClaimConfig, panel: PanelConfig, samples: Sequence[Sample]) -> tuple[Values, ...]:
    """Values of the metrics that a claim is about, that of the panel first."""
    others = (claim.metric, claim.rather_than) if isinstance(claim, ResemblesClaim) else ()
    panels = [panel, *(panel.model_copy(update={"metric": metric}) for metric in others)]
    return tuple(values_of(samples, one) for one in panels)


def _check(
    figure: FigureConfig, claim: ClaimConfig, values: tuple[Values, ...], run: Sequence[str]
) -> Finding:
    # An extreme is one among all workloads, whichever it names.
    chosen = () if isinstance(claim, ExtremeClaim) else claim.workloads
    wanted = [name for name in run if not chosen or name in chosen]
    claimed = len(chosen or figure.workloads)
    columns = [column for name in wanted for column in _columns(figure, claim, values, name)]
    seeds = sorted(set.intersection(*(set(scores) for _, scores in columns))) if columns else []
    names = np.array([name for name, _ in columns])
    found = tuple(dict.fromkeys(names.tolist()))
    if not seeds or (isinstance(claim, ExtremeClaim) and not _can_be_compared(claim, found)):
        return Finding(claim, (), claimed, (), {}, "not measured")
    matrix = np.array([[scores[seed] for _, scores in columns] for seed in seeds])
    measured, steps = _measured(figure, claim, matrix, names)
    per_workload = {name: float(matrix[:, names == name].mean()) for name in found}
    return Finding(claim, found, claimed, measured, per_workload, verdict(claim, measured, steps))


def _can_be_compared(claim: ExtremeClaim, found: Sequence[str]) -> bool:
    """Whether all workloads that the claim names were measured, and one that it does not."""
    return set(claim.workloads) < set(found)


def _columns(
    figure: FigureConfig, claim: ClaimConfig, values: tuple[Values, ...], workload: str
) -> list[Column]:
    """The comparisons that a claim makes on a workload; a trend is all of its variants or none."""
    own = values[0]
    places = [Place(claim.series, workload, variant) for variant in variants_of(figure, claim.variants)]
    if isinstance(claim, TrendClaim):
        own = relative(own, claim.against) if claim.against else own
        found = [_changes(own, place, places[0]) for place in places[1:]]
        return [] if any(scores is None for scores in found) else [(workload, s) for s in found if s]
    if isinstance(claim, ValueClaim | AtMostClaim) or not claim.against:
        return [(workload, own[place]) for place in places if place in own]
    pairs = [(place, place._replace(series=other)) for place in places for other in claim.against]
    compare = _nearness if isinstance(claim, ResemblesClaim) else _own_changes
    return [(workload, scores) for pair in pairs if (scores := compare(values, *pair))]


def _own_changes(values: tuple[Values, ...], place: Place, base: Place) -> dict[int, float] | None:
    """The changes of the panel's metric."""
    return _changes(values[0], place, base)


def _nearness(values: tuple[Values, ...], place: Place, base: Place) -> dict[int, float] | None:
    """By seed, how far the panel's metric changes from what the second does, less how far from the third."""
    found = [_changes(one, place, base) for one in values]
    if any(scores is None for scores in found):
        return None
    own, one, other = (scores for scores in found if scores is not None)
    common = sorted(own.keys() & one.keys() & other.keys())
    return {seed: abs(own[seed] - one[seed]) - abs(own[seed] - other[seed]) for seed in common}


def _changes(values: Values, place: Place, base: Place) -> dict[int, float] | None:
    """The changes from one place to another by seed; ``None`` where there is nothing to compare with."""
    ours, theirs = values.get(place, {}), values.get(base, {})
    common = ours.keys() & theirs.keys()
    if not common or not all(theirs[seed] for seed in common):
        return None
    return {seed: ours[seed] / theirs[seed] - 1 for seed in sorted(common)}


def _measured(
    figure: FigureConfig, claim: ClaimConfig, matrix: Scores, names: NDArray[np.str_]
) -> tuple[tuple[Estimate, ...], list[float]]:
    """What a claim counts over a matrix (seeds, comparisons) on the workloads of these names; of a trend the
    steps along it, too.
    """
    if isinstance(claim, RangeClaim):
        return (_estimate(matrix, np.min), _estimate(matrix, np.max)), []
    if isinstance(claim, TrendClaim):
        changes = len(variants_of(figure, claim.variants)) - 1
        along = matrix.mean(axis=0).reshape(-1, changes).mean(axis=0)
        return (_estimate(matrix[:, changes - 1 :: changes], np.mean),), np.diff(along, prepend=0.0).tolist()
    if isinstance(claim, ValueClaim | ResemblesClaim):
        return (_estimate(matrix, np.mean),), []
    if isinstance(claim, AtMostClaim):
        return (_estimate(matrix, np.max),), []
    if isinstance(claim, ExtremeClaim):
        return (_estimate(matrix, _distance(claim, np.isin(names, claim.workloads))),), []
    return (_estimate(matrix, _statistic(claim)),), []


def _estimate(matrix: Scores, statistic: Callable[[Scores], Any]) -> Estimate:
    """Of the comparisons, each the mean over its seeds."""
    return stratified_bootstrap(matrix, lambda drawn: float(statistic(drawn.mean(axis=0))))


def _distance(claim: ExtremeClaim, named: NDArray[np.bool_]) -> Callable[[Scores], float]:
    """How far the workloads that a claim names lie apart from the nearest of the others."""
    if claim.which == "lowest":
        return lambda scores: float(scores[named].max() - scores[~named].min())
    return lambda scores: float(scores[named].min() - scores[~named].max())


def _statistic(
    claim: ChangeClaim | LimitClaim | UnchangedClaim | DirectionClaim,
) -> Callable[[Scores], float]:
    """The one number over the changes of all comparisons that a claim is about."""
    side = side_of(claim)
    match claim.statistic:
        case "mean":
            return lambda changes: float(changes.mean())
        case "median":
            return lambda changes: float(np.median(changes))
        case "maximum":
            return lambda changes: float(side * (side * changes).max())
        case "each":
            # All of them hold if the one that is farthest from the claim does.
            return lambda changes: float(side * (side * changes).min())
