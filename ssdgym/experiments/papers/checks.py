"""Judge the claims of a paper about a figure by measurements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ssdgym.experiments.papers.change_claims import ChangeClaim
from ssdgym.experiments.papers.claims import Claim, Found, Verdict
from ssdgym.experiments.papers.config import FigureConfig, PanelConfig
from ssdgym.experiments.papers.samples import (
    Column,
    Compared,
    Place,
    Sample,
    Values,
    values_of,
    workloads_of,
    writes_per_spare_page,
)

#: A mean of ratios leaves out traces whose divisor is below this share of the other traces' median divisor.
NEAR_ZERO = 0.01


@dataclass(frozen=True, kw_only=True)
class CheckedClaim(Found):
    """One claim with its measurement.

    Attributes:
        workloads: the workloads on which the claim was judged.
        claimed: number of workloads that the claim is about.
        means: other means of the same comparisons, by name. The paper may give one of them.
        per_workload: the mean over all comparisons on each workload.
        elsewhere: measurements at the figure's variants `also_at`, which get no verdict.
        left_out: workloads that were left out because their divisor is near zero (`NEAR_ZERO`).
        unmeasured: reasons, by workload, for which a workload writes too little to judge the claim. Such
            workloads are left out if another one remains.
    """

    claim: Claim
    workloads: tuple[str, ...] = ()
    claimed: int
    per_workload: Mapping[str, float] = field(default_factory=dict)
    means: Mapping[str, float] = field(default_factory=dict)
    elsewhere: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    unmeasured: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict_text(self) -> str:
        """The verdict as text, with the chosen comparison or the reason if there are any."""
        if self.verdict == "not comparable" and self.claim.not_comparable is not None:
            return f"{self.verdict}: {self.claim.not_comparable.why}"
        if self.verdict == "not measured" and self.unmeasured:
            name, why = next(iter(self.unmeasured.items()))
            where = f"on no trace, such as {name}: " if len(self.unmeasured) > 1 else ""
            return f"{self.verdict}: {where}{why}"
        if self.verdict == "carried by one trace":
            return f"carried by {self.carrier}"
        notes = [f"on {self.chosen}"] if self.chosen else []
        reason = self.claim.holds_by
        if reason is not None and self.verdict.startswith(("holds", "direction holds")):
            notes.append(f"by {reason.kind}: {reason.why}")
        return f"{self.verdict} ({'; '.join(notes)})" if notes else self.verdict

    @property
    def measured_text(self) -> str:
        """The measurement as text, with missing traces, measurements elsewhere and other means."""
        if not self.measured:
            return "nothing"
        count = len(self.workloads)
        part = "" if count == self.claimed else f", on {count} of {self.claimed} traces"
        if self.left_out:
            names = ", ".join(self.left_out)
            part += f" (without {names}: less than {NEAR_ZERO:.0%} of the others to divide by)"
        if self.unmeasured and self.verdict != "not measured":
            part += f" (without {', '.join(self.unmeasured)}: not measured there)"
        others = [f"{name}: {number:{self.style}}" for name, number in self.elsewhere.items()]
        others += [f"{name} {number:.2f} times" for name, number in self.means.items()]
        part += f" ({'; '.join(others)})" if others else ""
        return self.text + part


def check_claims(
    figure: FigureConfig, panel: PanelConfig, samples: Sequence[Sample], scale: str = ""
) -> list[CheckedClaim]:
    """Measure and judge every claim of a panel at a scale.

    A workload is left out if it has no value of the claim's metric, or if the divisor is 0. If other
    workloads remain, it is also left out if its divisor is near zero and ratios are averaged, or if it writes
    less than the figure's `least_writes`. A claim that names no variants is judged without the variants
    `also_at` of the figure, and measured at each of these without a verdict.
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
    """Judge a claim without the variants `also_at`, and measure it at each of these variants."""

    def at(*variants: str) -> CheckedClaim:
        return _check(figure, panel, claim.model_copy(update={"variants": variants}), samples, scale)

    found = {name: at(name).measured for name in figure.also_at}
    elsewhere = {f"{name} {figure.axis}": one.value for name, own in found.items() for one in own[:1]}
    judged = at(*(name for name in figure.variant_names if name not in figure.also_at))
    return replace(judged, elsewhere=elsewhere)


def _check(
    figure: FigureConfig, panel: PanelConfig, claim: Claim, samples: Sequence[Sample], scale: str
) -> CheckedClaim:
    metrics = (panel.metric, *claim.metrics, *filter(None, (claim.weights,)))
    values = [values_of(samples, metric, panel.divisor) for metric in metrics]
    claimed = len(claim.measured_on or figure.workloads)
    columns = _columns(figure, claim, values, workloads_of(samples))
    left_out = _without_base(columns) if claim.averages_ratios else ()
    drawn = {sample.place.workload for sample in samples if not sample.exact}
    judged = [one for one in columns if one.workload not in left_out]
    names = tuple(dict.fromkeys(one.workload for one in judged))
    comparable = _is_comparable(claim, samples, names, scale)
    unmeasured = {} if panel.always_measured or not comparable else _too_little(figure, samples, names)
    if set(names) > set(unmeasured):
        judged = [one for one in judged if one.workload not in unmeasured]
    compared = _compared(judged, drawn)
    workloads = tuple(dict.fromkeys(one.workload for one in judged))
    found = claim.find(compared) if compared.scores.size else None
    if found is None:
        return CheckedClaim((), "not measured", claim=claim, claimed=claimed, left_out=left_out)
    verdict = _too_few_seeds(compared, found) or found.verdict
    if set(workloads) <= set(unmeasured):
        verdict = "not measured"
    how = ", chosen on other seeds" if found.chosen and len(compared.scores) > 1 else ""
    shown = {
        "verdict": verdict if comparable else "not comparable",
        "chosen": found.chosen + how,
        "carrier": found.carrier if verdict == "carried by one trace" else "",
    }
    return CheckedClaim(
        **vars(found) | shown,
        claim=claim,
        workloads=workloads,
        claimed=claimed,
        per_workload={
            name: float(compared.scores[:, compared.workloads == name].mean()) for name in workloads
        },
        means=_other_means(judged) if isinstance(claim, ChangeClaim) and claim.other_means else {},
        left_out=left_out,
        unmeasured=unmeasured,
    )


def _too_few_seeds(compared: Compared, found: Found) -> Verdict | None:
    """Return the verdict for too few seeds; None if there are enough seeds or no run is random."""
    if compared.exact or not np.isnan(found.measured[0].low):
        return None
    return "one seed: no verdict" if len(compared.scores) < 2 else "too few seeds: no verdict"


def _too_little(
    figure: FigureConfig, samples: Sequence[Sample], workloads: Collection[str]
) -> dict[str, str]:
    """Return the workloads that write less than the figure's `least_writes`, each with a reason as text.

    The host's writes depend only on workload and device, so they are equal for all bars of a claim.
    """
    if figure.least_writes is None:
        return {}
    writes = writes_per_spare_page(samples)
    return {
        name: f"{writes[name]:.2f} host pages per spare page, under {figure.least_writes:g}"
        for name in workloads
        if writes[name] < figure.least_writes
    }


def _other_means(own: Sequence[Column]) -> dict[str, float]:
    """Return several means over the traces, by name, of the ratio (other bar / claim's bar).

    A paper that gives one number may have computed any of these means.
    """
    ratios = np.array([1 + np.mean(list(column.scores.values())) for column in own])
    bases = np.array([column.base for column in own])
    return {
        "one over the mean of the bars as drawn:": 1 / ratios.mean(),
        "mean of the inverse bars:": float((1 / ratios).mean()),
        "geometric mean:": float(np.exp(-np.log(ratios).mean())),
        "ratio of the sums:": float(bases.sum() / (ratios * bases).sum()),
    }


def _is_comparable(claim: Claim, samples: Sequence[Sample], workloads: Sequence[str], scale: str) -> bool:
    """Return whether measurements on `workloads` at `scale` can judge a claim, by its `not_comparable`."""
    reason = claim.not_comparable
    if reason is None or (reason.scales and scale not in reason.scales):
        return True
    assumes = any(sample.result.assumed for sample in samples if sample.place.workload in workloads)
    return reason.played == "synthetic" and not assumes


def _columns(
    figure: FigureConfig, claim: Claim, values: Sequence[Values], run: Sequence[str]
) -> list[Column]:
    """Return the comparisons of a claim; workloads with a weight of 0 are left out."""
    variants = [name for name in figure.variant_names if not claim.variants or name in claim.variants]
    of_each = [
        claim.columns(values, [Place(claim.series, workload, name) for name in variants])
        for workload in run
        if not claim.measured_on or workload in claim.measured_on
    ]
    return [one for own in of_each if all(one.weight for one in own) for one in own]


def _without_base(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the workloads whose divisor is near zero, relative to the median of the other workloads."""
    bases: dict[str, float] = {}
    for one in columns:
        bases[one.workload] = min(one.base, bases.get(one.workload, one.base))
    of_others = {name: [bases[one] for one in bases if one != name] for name in bases}
    return tuple(name for name, own in of_others.items() if own and bases[name] < NEAR_ZERO * np.median(own))


def _compared(columns: Sequence[Column], drawn: Collection[str]) -> Compared:
    """Return all comparisons at their common seeds; a workload not in `drawn` has one run for all seeds."""
    of_seeds = [set(one.scores) for one in columns if one.workload in drawn]
    seeds: list[int] = sorted(set.intersection(*of_seeds)) if of_seeds else [0]
    rows = [
        [one.scores[seed] if one.workload in drawn else next(iter(one.scores.values())) for one in columns]
        for seed in seeds
    ]
    return Compared(np.array(rows), tuple(columns), exact=not of_seeds)
