"""A paper's figure regenerated: its table, its picture, and what the paper said beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ssdgym.config.reproduce import FigureConfig
from ssdgym.experiments.claims import Finding
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate, stratified_bootstrap
from ssdgym.experiments.style import color_of, legend_below, save_figure, styled


@dataclass(frozen=True)
class Bars:
    """The numbers of a figure.

    Attributes:
        series: names of the bars of a group.
        workloads: names of the groups.
        estimates: of each bar by (series, workload), mean over seeds with a 95 % interval; relative to the
            series that counts as 1, seed by seed, where the figure is normalised.
    """

    series: tuple[str, ...]
    workloads: tuple[str, ...]
    estimates: dict[tuple[str, str], Estimate]


def bars_of(figure: FigureConfig, results: Sequence[Result]) -> Bars:
    """Return the numbers of a figure from the results of its cells."""
    series = figure.devices if figure.series == "device" else figure.policies
    workloads = tuple(dict.fromkeys(result.workload for result in results))
    values = {
        (getattr(result, figure.series), result.workload, result.seed): result.metric(figure.metric)
        for result in results
    }
    seeds = sorted({result.seed for result in results})
    estimates = {}
    for name in series:
        for workload in workloads:
            scores = np.array([values[name, workload, seed] for seed in seeds])
            if figure.normalise_to is not None:
                base = np.array([values[figure.normalise_to, workload, seed] for seed in seeds])
                # 0 / 0 happens where nothing was collected at all; the table then says nan.
                with np.errstate(invalid="ignore", divide="ignore"):
                    scores = scores / base
            if np.isfinite(scores).all():
                estimates[name, workload] = stratified_bootstrap(scores[:, None], lambda m: float(m.mean()))
            else:
                estimates[name, workload] = Estimate(np.nan, np.nan, np.nan)
    return Bars(tuple(series), workloads, estimates)


def claim_lines(figure: FigureConfig, findings: Sequence[Finding]) -> list[str]:
    """Return one line per claim: what the paper says, what was measured, and the verdict."""
    return [
        f"figure {figure.figure}: {finding.claim.said} ({finding.claim.source}) | paper "
        f"{_paper(finding)} | here {_here(figure, finding)} | {finding.verdict}"
        for finding in findings
    ]


def _paper(finding: Finding) -> str:
    claim = finding.claim
    limit = ("at least " if claim.change < 0 else "at most ") if claim.bound else ""
    return f"{limit}{claim.change:+.1%}" if claim.change else f"within {claim.unchanged_within:.1%}"


def _here(figure: FigureConfig, finding: Finding) -> str:
    """What was measured, and on how many of the claim's traces where not on all of them."""
    claimed = len(finding.claim.workloads or figure.workloads)
    part = "" if len(finding.workloads) == claimed else f", on {len(finding.workloads)} of {claimed} traces"
    return _change(finding.measured) + part


def _change(estimate: Estimate) -> str:
    if np.isnan(estimate.low):
        return f"{estimate.value:+.1%} (one seed, no interval)"
    return f"{estimate.value:+.1%} [{estimate.low:+.1%}, {estimate.high:+.1%}]"


def markdown(
    figure: FigureConfig, scale: str, bars: Bars, findings: Sequence[Finding], results: Sequence[Result]
) -> str:
    """Return the figure as Markdown: how it was made, the table of its bars, and the claims."""
    relative = "" if figure.normalise_to is None else f", relative to {figure.normalise_to}"
    lines = [
        f"# {figure.paper}, figure {figure.figure}: {figure.title}",
        "",
        f"Scale `{scale}`. Metric: `{figure.metric}` ({figure.unit}){relative}; means over seeds with 95 % "
        "intervals.",
        "",
        "| trace | " + " | ".join(bars.series) + " |",
        "|---|" + "---:|" * len(bars.series),
    ]
    for workload in bars.workloads:
        cells = [_cell(bars.estimates[name, workload]) for name in bars.series]
        lines.append(f"| {workload} | " + " | ".join(cells) + " |")
    lines += ["", "| claim | source | paper | here [95 %] | verdict |", "|---|---|---:|---:|---|"]
    for finding in findings:
        claim = finding.claim
        lines.append(
            f"| {claim.said} | {claim.source} | {_paper(finding)} | {_here(figure, finding)} "
            f"| {finding.verdict} |"
        )
    lines += ["", "Where this is not the paper's experiment:", ""]
    lines += [f"- {text}" for text in [*figure.departures, *assumed_lines(results)]]
    return "\n".join([*lines, ""])


def assumed_lines(results: Sequence[Result]) -> list[str]:
    """Return, for each workload, what of it is assumed and not published; nothing of a trace."""
    found = {result.workload: result.assumed for result in results if result.assumed}
    return [f"assumed of {workload}: {fields}" for workload, fields in found.items()]


def _cell(estimate: Estimate) -> str:
    if np.isnan(estimate.low):
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def paths_of(figure: FigureConfig, out: Path) -> tuple[Path, Path]:
    """Return where the Markdown and the picture of a figure go in its folder."""
    stem = f"figure{figure.figure}"
    return out / f"{stem}.md", out / f"{stem}.png"


@styled()
def draw(figure: FigureConfig, bars: Bars, path: Path) -> Path:
    """Draw a figure as groups of bars with intervals; return ``path``, a PNG, SVG or PDF by its ending.

    Raises:
        SsdgymError: the file cannot be written.
    """
    groups = np.arange(len(bars.workloads))
    width = 1.0 / (len(bars.series) + 1)
    size = (max(6.4, 1.2 + 0.22 * len(groups) * (len(bars.series) + 1)), 4.2)
    picture = Figure(figsize=size, layout="constrained")
    axes = picture.add_subplot()
    for index, name in enumerate(bars.series):
        estimates = [bars.estimates[name, workload] for workload in bars.workloads]
        spread = np.array([[e.value - e.low, e.high - e.value] for e in estimates]).T
        axes.bar(
            groups + (index - (len(bars.series) - 1) / 2) * width,
            [estimate.value for estimate in estimates],
            width,
            yerr=None if np.isnan(spread).any() else np.maximum(spread, 0.0),
            color=color_of(index),
            edgecolor="white",
            label=name,
        )
    axes.set_xticks(groups, bars.workloads)
    axes.set_xlabel("trace")
    relative = "" if figure.normalise_to is None else f", {figure.normalise_to} = 1"
    axes.set_ylabel(f"{figure.metric} ({figure.unit}{relative})")
    axes.set_title(f"{figure.paper}, figure {figure.figure}: {figure.title}")
    legend_below(picture, axes, columns=6)
    return save_figure(picture, path)
