"""Check what a paper claims about a figure against what was measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ssdgym.experiments.papers.claims import Claim, Verdict
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.samples import (
    BySeed,
    Column,
    Compared,
    Place,
    Sample,
    Values,
    values_of,
    workloads_of,
)
from ssdgym.experiments.statistics import Estimate

#: A trace is left out of a mean of ratios if it has less to divide by than this share of the others' median.
NEAR_ZERO = 0.01
#: How it reads that a claim holds without saying much.
_HOLDS_BY = {"arithmetic": "by arithmetic", "construction": "by construction", "vacuity": "vacuously"}
_NO_VERDICT: Verdict = "not comparable"
_NOT_MEASURED: Verdict = "not measured"
_CARRIED: Verdict = "carried by one trace"


@dataclass(frozen=True)
class CheckedClaim:
    """One claim and what was measured.

    Attributes:
        workloads: those it was checked on.
        claimed: how many of those that were run it is about.
        measured: the numbers that its kind measures; empty where nothing could be compared.
        per_workload: the mean over all comparisons on each workload.
        chosen: the comparison that it was judged on and how, where one was chosen among them.
        carrier: the workload without which a mean is not on the claimed side; empty where none carries it.
        elsewhere: what is measured at each variant that gets no verdict (`also_at` of the figure).
        left_out: workloads that have next to nothing to divide by.
        unmeasured: workloads whose runs say nothing about it, each with the reason; they are left out where
            others are left.
    """

    claim: Claim
    workloads: tuple[str, ...]
    claimed: int
    measured: tuple[Estimate, ...]
    per_workload: dict[str, float]
    verdict: Verdict
    chosen: str = ""
    carrier: str = ""
    elsewhere: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    unmeasured: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict_text(self) -> str:
        """The verdict, the comparison that was chosen for it, and why there is none or it says little."""
        if self.verdict == _NO_VERDICT and self.claim.not_comparable is not None:
            return f"{self.verdict}: {self.claim.not_comparable.why}"
        if self.verdict == _NOT_MEASURED and self.unmeasured:
            name, why = next(iter(self.unmeasured.items()))
            where = f"on no trace, such as {name}: " if len(self.unmeasured) > 1 else ""
            return f"{self.verdict}: {where}{why}"
        if self.verdict == _CARRIED:
            return f"carried by {self.carrier}"
        notes = [f"on {self.chosen}"] if self.chosen else []
        reason = self.claim.holds_by
        if reason is not None and self.verdict.startswith(("holds", "direction holds")):
            notes.append(f"{_HOLDS_BY[reason.kind]}: {reason.why}")
        return f"{self.verdict} ({'; '.join(notes)})" if notes else self.verdict

    @property
    def measured_text(self) -> str:
        """What was measured, and on how many of the claim's traces where not on all of them."""
        if not self.measured:
            return "nothing"
        count = len(self.workloads)
        part = "" if count == self.claimed else f", on {count} of {self.claimed} traces"
        if self.left_out:
            names = ", ".join(self.left_out)
            part += f" (without {names}: less than {NEAR_ZERO:.0%} of the others to divide by)"
        if self.unmeasured and self.verdict != _NOT_MEASURED:
            part += f" (without {', '.join(self.unmeasured)}: not measured there)"
        others = [f"{name}: {value:{self.claim.style}}" for name, value in self.elsewhere.items()]
        part += f" ({'; '.join(others)})" if others else ""
        return self.claim.describe_measured(self.measured) + part

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; limits of an interval that one seed does not give are null."""
        return {
            **self.claim.model_dump(mode="json"),
            "workloads": list(self.workloads),
            "measured": [
                {name: None if np.isnan(x) else x for name, x in estimate._asdict().items()}
                for estimate in self.measured
            ],
            "per_workload": self.per_workload,
            "verdict": self.verdict,
            "chosen": self.chosen,
            "carrier": self.carrier,
            "elsewhere": dict(self.elsewhere),
            "left_out": list(self.left_out),
            "unmeasured": dict(self.unmeasured),
        }


def check_claims(
    figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample], scale: str = ""
) -> list[CheckedClaim]:
    """Check every claim of a panel.

    A workload on which a claim's metric was not measured, or is 0 where it is divided by, is left out;
    so is, where ratios are averaged, one with next to nothing to divide by, and one whose runs say nothing
    about the claim (`measured_by` of the figure), as long as others are left. A claim that names no variants
    is judged without those of `also_at` of the figure, and measured at each of them.
    """
    return [
        _check(figure, panel, claim, samples, scale)
        if claim.variants or not figure.also_at
        else _check_elsewhere(figure, panel, claim, samples, scale)
        for claim in panel.claims
    ]


def _check_elsewhere(
    figure: FigureConfig, panel: PanelConfig, claim: Claim, samples: Sequence[Sample], scale: str
) -> CheckedClaim:
    """Check a claim at the variants that it is judged by, and measure it at each of the others."""

    def at(*variants: str) -> CheckedClaim:
        return _check(figure, panel, claim.model_copy(update={"variants": variants}), samples, scale)

    found = {name: at(name).measured for name in figure.also_at}
    elsewhere = {f"{name} {figure.axis}": one.value for name, own in found.items() for one in own[:1]}
    judged = at(*(name for name in figure.variant_names if name not in figure.also_at))
    return replace(judged, elsewhere=elsewhere)


def _check(
    figure: FigureConfig, panel: PanelConfig, claim: Claim, samples: Sequence[Sample], scale: str
) -> CheckedClaim:
    metrics = (panel.metric, *claim.metrics, *filter(None, (claim.weighing,)))
    values = [values_of(samples, metric, panel.divisor) for metric in metrics]
    claimed = len(claim.measured_on or figure.workloads)
    columns = _columns(figure, claim, values, workloads_of(samples))
    left_out = _without_base(columns) if claim.averages_ratios else ()
    drawn = {sample.place.workload for sample in samples if not sample.exact}
    judged = {name: own for name, own in columns.items() if name not in left_out}
    comparable = _is_comparable(claim, samples, tuple(judged), scale)
    judged_by = None if panel.always_measured or not comparable else figure.measured_by
    unmeasured = judged_by.unmeasured(claim, samples, judged) if judged_by else {}
    if any(name not in unmeasured for name in judged):
        judged = {name: own for name, own in judged.items() if name not in unmeasured}
    compared = _compared(judged, drawn)
    found = tuple(dict.fromkeys(compared.workloads.tolist()))
    measured = claim.measure(compared) if len(compared.scores) else ()
    if not measured:
        return CheckedClaim(claim, (), claimed, (), {}, _NOT_MEASURED, left_out=left_out)
    per_workload = {name: float(compared.scores[:, compared.workloads == name].mean()) for name in found}
    verdict = _NOT_MEASURED if set(found) <= set(unmeasured) else claim.verdict(measured, compared)
    return CheckedClaim(
        claim,
        found,
        claimed,
        measured,
        per_workload,
        verdict if comparable else _NO_VERDICT,
        chosen=_chosen(claim, compared),
        carrier=claim.carrier(compared) if verdict == _CARRIED else "",
        left_out=left_out,
        unmeasured=unmeasured,
    )


def _is_comparable(claim: Claim, samples: Sequence[Sample], workloads: Sequence[str], scale: str) -> bool:
    """Return whether what was measured at a scale, on these workloads, says anything about a claim."""
    reason = claim.not_comparable
    if reason is None or (reason.scales and scale not in reason.scales):
        return True
    assumes = any(sample.result.assumed for sample in samples if sample.place.workload in workloads)
    return reason.played == "synthetic" and not assumes


def _chosen(claim: Claim, compared: Compared) -> str:
    name = claim.chosen(compared)
    return f"{name}, chosen on other seeds" if name and len(compared.scores) > 1 else name


def _columns(
    figure: FigureConfig, claim: Claim, values: Sequence[Values], run: Sequence[str]
) -> dict[str, list[Column]]:
    """Return the comparisons of a claim on each workload that was run, without those that weigh nothing."""
    variants = [name for name in figure.variant_names if not claim.variants or name in claim.variants]
    of_each = {
        workload: claim.columns(values, [Place(claim.series, workload, name) for name in variants])
        for workload in run
        if not claim.measured_on or workload in claim.measured_on
    }
    return {name: own for name, own in of_each.items() if own and all(one.weight for one in own)}


def _without_base(columns: dict[str, list[Column]]) -> tuple[str, ...]:
    """Return the workloads that have next to nothing to divide by, held against the median of the others."""
    bases = {name: min(one.base for one in own) for name, own in columns.items()}
    found = []
    for name, base in bases.items():
        others = [other for workload, other in bases.items() if workload != name]
        if others and base < NEAR_ZERO * np.median(others):
            found.append(name)
    return tuple(found)


def _compared(columns: dict[str, list[Column]], drawn: Collection[str]) -> Compared:
    """Return all comparisons by the seeds they have in common; what nothing is drawn for has every seed."""
    pairs = [(workload, column) for workload, own in columns.items() for column in own]
    of_seeds = [set(column.scores) for workload, column in pairs if workload in drawn]
    seeds: list[int] = sorted(set.intersection(*of_seeds)) if of_seeds else [0]
    rows = [
        [column.scores[seed] if workload in drawn else _only(column.scores) for workload, column in pairs]
        for seed in seeds
    ]
    return Compared(
        np.array(rows if pairs else []),
        np.array([workload for workload, _ in pairs]),
        tuple(column.name for _, column in pairs),
        tuple(column.weight for _, column in pairs),
        exact=not of_seeds,
    )


def _only(scores: BySeed) -> float:
    (score,) = scores.values()
    return score
