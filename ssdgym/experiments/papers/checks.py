"""Check what a paper claims about a figure against what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import Claim, Compared, Verdict
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.samples import Place, Sample, Values, values_of, workloads_of

_NO_VERDICT: Verdict = "not comparable"


@dataclass(frozen=True)
class CheckedClaim:
    """One claim and what was measured.

    Attributes:
        claim: what the paper says.
        workloads: those it was checked on.
        claimed: how many of those that were run it is about.
        measured: the numbers that its kind measures; empty where nothing could be compared.
        per_workload: the mean over all comparisons on each workload.
        verdict: on the claim.
    """

    claim: Claim
    workloads: tuple[str, ...]
    claimed: int
    measured: tuple[Estimate, ...]
    per_workload: dict[str, float]
    verdict: Verdict

    @property
    def verdict_text(self) -> str:
        """The verdict; where there can be none, with the reason."""
        reason = self.claim.not_comparable
        if reason is None or self.verdict != _NO_VERDICT:
            return self.verdict
        return f"{self.verdict}: {reason.why}"

    @property
    def measured_text(self) -> str:
        """What was measured, and on how many of the claim's traces where not on all of them."""
        if not self.measured:
            return "nothing"
        count = len(self.workloads)
        part = "" if count == self.claimed else f", on {count} of {self.claimed} traces"
        return self.claim.describe_measured(self.measured) + part

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; limits of an interval that one seed does not give are null."""
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


def check_claims(
    figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample], scale: str = ""
) -> list[CheckedClaim]:
    """Check every claim of a panel.

    A workload on which a claim's metric was not measured, or is 0 where it is divided by, is left out of it.

    Args:
        figure: which.
        panel: of the figure.
        samples: the results of the figure.
        scale: name of the one at which it was run, for claims that cannot be judged at some.
    """
    return [_check(figure, panel, claim, samples, scale) for claim in panel.claims]


def _check(
    figure: FigureConfig, panel: PanelConfig, claim: Claim, samples: Sequence[Sample], scale: str
) -> CheckedClaim:
    values = [values_of(samples, metric, panel.per_unit) for metric in (panel.metric, *claim.metrics)]
    claimed = len(claim.measured_on or figure.workloads)
    compared = _compare(figure, claim, values, workloads_of(samples))
    found = tuple(dict.fromkeys(compared.workloads.tolist()))
    measured = claim.measure(compared) if len(compared.scores) else ()
    if not measured:
        return CheckedClaim(claim, (), claimed, (), {}, "not measured")
    per_workload = {name: float(compared.scores[:, compared.workloads == name].mean()) for name in found}
    verdict = claim.judge(measured, compared) if _is_comparable(claim, samples, found, scale) else _NO_VERDICT
    return CheckedClaim(claim, found, claimed, measured, per_workload, verdict)


def _is_comparable(claim: Claim, samples: Sequence[Sample], workloads: Sequence[str], scale: str) -> bool:
    """Return whether what was measured at a scale, on these workloads, says anything about a claim."""
    reason = claim.not_comparable
    if reason is None or (reason.scales and scale not in reason.scales):
        return True
    assumes = any(sample.result.assumed for sample in samples if sample.place.workload in workloads)
    return reason.played == "synthetic" and not assumes


def _compare(figure: FigureConfig, claim: Claim, values: Sequence[Values], run: Sequence[str]) -> Compared:
    """Return all comparisons of a claim on the workloads that were run, by the seeds they have in common."""
    variants = [name for name in figure.variant_names if not claim.variants or name in claim.variants]
    columns = [
        (workload, scores)
        for workload in run
        if not claim.measured_on or workload in claim.measured_on
        for scores in claim.columns(values, [Place(claim.series, workload, name) for name in variants])
    ]
    seeds = sorted(set.intersection(*(set(scores) for _, scores in columns))) if columns else []
    matrix = np.array([[scores[seed] for _, scores in columns] for seed in seeds])
    return Compared(matrix, np.array([workload for workload, _ in columns]))
