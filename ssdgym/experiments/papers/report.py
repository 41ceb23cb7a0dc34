"""A paper's figure regenerated, in words and tables: its numbers, and what the paper said beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

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
from ssdgym.config.device import load_device
from ssdgym.config.reproduce import FigureConfig, ScaleConfig
from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.bars import Bars
from ssdgym.experiments.papers.claims import Finding
from ssdgym.experiments.results import Result

#: Pages that a trace touches, those left of them modulo the logical space, and that space.
_FOOTPRINT = ("workload/trace_pages", "workload/footprint_pages", "logical_pages")


def claim_lines(number: str, findings: Sequence[Finding]) -> list[str]:
    """Return one line per claim of a panel: what the paper says, what was measured, and the verdict."""
    return [
        f"figure {number}: {finding.claim.said} ({finding.claim.source}) | paper "
        f"{said_of(finding.claim)} | here {measured_of(finding)} | {finding.verdict}"
        for finding in findings
    ]


def said_of(claim: ClaimConfig) -> str:
    """What the paper says, as a number or in a word."""
    match claim:
        case ChangeClaim():
            return f"{claim.change:+.1%}"
        case LimitClaim():
            return f"{'at least' if claim.limit < 0 else 'at most'} {claim.limit:+.1%}"
        case UnchangedClaim():
            return f"within {claim.within:.1%}"
        case RangeClaim():
            return f"{claim.low:+.1%} to {claim.high:+.1%}"
        case ValueClaim():
            return f"{claim.value:g}"
        case DirectionClaim():
            return "lower" if claim.direction == "falls" else "higher"
        case TrendClaim():
            return claim.direction
        case AtMostClaim():
            return f"at most {claim.value:g}"
        case ExtremeClaim():
            return claim.which
        case ResemblesClaim():
            return f"nearer to {claim.metric} than to {claim.rather_than}"


def measured_of(finding: Finding) -> str:
    """What was measured, and on how many of the claim's traces where not on all of them."""
    if not finding.measured:
        return "nothing"
    claim, one = finding.claim, finding.measured[0]
    if isinstance(claim, RangeClaim):
        text = f"{one.value:+.1%} to {finding.measured[-1].value:+.1%}"
    elif isinstance(claim, ValueClaim):
        share = (one.value - claim.beyond) / (claim.value - claim.beyond)
        beyond = f" beyond {claim.beyond:g}" if claim.beyond else ""
        text = f"{_with_interval(one, '.3f')}, {share:.1f} times the paper's{beyond}"
    elif isinstance(claim, AtMostClaim):
        text = _with_interval(one, ".3f")
    elif isinstance(claim, ExtremeClaim):
        text = f"{_with_interval(one, '+.1%' if claim.against else '+.3f')} from the nearest of the others"
    elif isinstance(claim, ResemblesClaim):
        text = f"{_with_interval(one, '+.1%')} of distance"
    else:
        text = _with_interval(one, "+.1%")
    count = len(finding.workloads)
    part = "" if count == finding.claimed else f", on {count} of {finding.claimed} traces"
    return text + part


def _with_interval(estimate: Estimate, style: str) -> str:
    if np.isnan(estimate.low):
        return f"{estimate.value:{style}} (one seed, no interval)"
    return f"{estimate.value:{style}} [{estimate.low:{style}}, {estimate.high:{style}}]"


def markdown(
    figure: FigureConfig,
    scale: tuple[str, ScaleConfig],
    panels: Sequence[tuple[Bars, Sequence[Finding]]],
    results: Sequence[Result],
) -> str:
    """Return the figure as Markdown: how it was made, and of each panel the table of its bars and the claims.

    Args:
        figure: which.
        scale: name and content.
        panels: the numbers and the findings of each.
        results: of the figure's cells.
    """
    name, amount = scale
    lines = [f"# {figure.paper}, figure {figure.figure}: {figure.title}", "", f"Scale `{name}`."]
    for bars, findings in panels:
        lines += _panel_lines(figure, bars, findings)
    lines += ["", "Where this is not the paper's experiment:", ""]
    known = [*figure.departures, *amount.departures, *device_lines(figure), *assumed_lines(results)]
    lines += [f"- {text}" for text in known]
    lines += ["", "What is left of the traces' addresses:", ""]
    lines += [f"- {text}" for text in footprint_lines(results)]
    return "\n".join([*lines, ""])


def _panel_lines(figure: FigureConfig, bars: Bars, findings: Sequence[Finding]) -> list[str]:
    panel = bars.panel
    title = f": {panel.title}" if panel.title else ""
    relative = "" if panel.normalise_to is None else f", relative to {panel.normalise_to}"
    axis = f" {figure.axis} |" if figure.variants else ""
    lines = [
        "",
        f"## {figure.number_of(panel)}{title}",
        "",
        f"Metric: `{panel.metric}` ({panel.unit}){relative}; means over seeds with 95 % intervals.",
        "",
        f"| trace |{axis} " + " | ".join(bars.series) + " |",
        "|---|" + ("---|" if axis else "") + "---:|" * len(bars.series),
    ]
    for workload, variant in bars.groups:
        cells = [cell(estimate) for estimate in bars.row((workload, variant))]
        names = [workload, variant] if figure.variants else [workload]
        lines.append("| " + " | ".join([*names, *cells]) + " |")
    lines += ["", "| claim | source | paper | here [95 %] | verdict |", "|---|---|---:|---:|---|"]
    for finding in findings:
        claim = finding.claim
        lines.append(
            f"| {claim.said} | {claim.source} | {said_of(claim)} | {measured_of(finding)} "
            f"| {finding.verdict} |"
        )
    return lines


def assumed_lines(results: Sequence[Result]) -> list[str]:
    """Return what of the workloads is assumed and not published, those with the same assumptions together;
    nothing of a trace.
    """
    found: dict[str, dict[str, None]] = {}
    for result in results:
        if result.assumed:
            found.setdefault(result.assumed, {})[result.workload] = None
    return [f"assumed of {', '.join(names)}: {fields}" for fields, names in found.items()]


def footprint_lines(results: Sequence[Result]) -> list[str]:
    """Return how many pages each trace touches, and how many are left of them modulo the logical space; means
    over seeds. Devices on which they are as many stand together.
    """
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for result in results:
        counts = tuple(result.metric(name) for name in _FOOTPRINT)
        found.setdefault((result.workload, result.device), []).append(counts)
    devices: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (workload, device), of_seeds in found.items():
        means = tuple(round(mean) for mean in np.mean(of_seeds, axis=0))
        devices.setdefault((workload, means), []).append(device)
    return [
        f"footprint of {workload} on {', '.join(names)}: {touched:,} pages, {left:,} of the {logical:,} "
        "logical ones"
        for (workload, (touched, left, logical)), names in devices.items()
    ]


def device_lines(figure: FigureConfig) -> list[str]:
    """Return what of the figure's devices no published source gives, as their files say."""
    return [
        f"assumed of {name}, {field}: {reason}"
        for name in figure.all_devices
        for field, reason in load_device(name).assumed.items()
    ]


def cell(estimate: Estimate) -> str:
    """A bar in a table of Markdown."""
    if np.isnan(estimate.value):
        return "not measured"
    if np.isnan(estimate.low):
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def paths_of(figure: FigureConfig, out: Path) -> tuple[Path, Path]:
    """Return where the Markdown and the picture of a figure go in its folder."""
    # One panel that was asked for does not take the place of the whole figure.
    stem = f"figure{figure.number_of(figure.panels[0]) if len(figure.panels) == 1 else figure.figure}"
    return out / f"{stem}.md", out / f"{stem}.png"
