"""Report a reproduced figure: numbers, claims, departures from the paper, time and memory."""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ssdgym.config.device import load_device
from ssdgym.experiments.papers.checks import CheckedClaim
from ssdgym.experiments.papers.config import FigureConfig, ScaleConfig
from ssdgym.experiments.papers.diagrams import DIAGRAM_KINDS, Diagram
from ssdgym.experiments.papers.samples import Sample, writes_per_spare_page
from ssdgym.experiments.report.style import legend_below, save_figure, styled
from ssdgym.experiments.report.tables import Entry, Table
from ssdgym.experiments.results import Result
from ssdgym.experiments.statistics import Estimate


def diagrams_of(figure: FigureConfig, samples: Sequence[Sample]) -> list[Diagram]:
    """Return the diagrams of a figure, one for each panel."""
    return [DIAGRAM_KINDS[panel.diagram](figure, panel, samples) for panel in figure.panels]


@styled()
def draw(figure: FigureConfig, diagrams: Sequence[Diagram], path: Path) -> Path:
    """Draw the diagrams of a figure one below the other, and write the picture to `path`; return `path`."""
    width = max(6.4, *(diagram.width for diagram in diagrams))
    picture = Figure(figsize=(width, 1.1 + 2.9 * len(diagrams)), layout="constrained")
    rows = picture.subplots(len(diagrams), squeeze=False)[:, 0]
    for axes, diagram in zip(rows, diagrams, strict=True):
        panel = diagram.panel
        diagram.draw(axes, axes is rows[-1])
        axes.set_ylabel(f"{panel.metric}\n({diagram.unit})")
        if panel.title:
            axes.set_title(f"({panel.name}) {panel.title}" if panel.name else panel.title, loc="left")
    picture.suptitle(f"{figure.paper}, figure {figure.figure}: {figure.title}", fontsize=10)
    legend_below(picture, *rows, columns=6)
    return save_figure(picture, path)


#: Metrics: pages that a trace touches, pages that are touched modulo the logical pages, and logical pages.
_FOOTPRINT = ("workload/trace_pages", "workload/footprint_pages", "logical_pages")
#: Metrics: page writes to pages that the trace has written before, and all page writes.
_REWRITTEN = ("workload/rewritten_pages", "workload/written_pages")
#: A metric that only traces from a file have.
_OF_A_FILE = "workload/skipped_lines"
_MIB = 2**20


def claim_lines(number: str, checked: Sequence[CheckedClaim]) -> list[str]:
    """Return one line per claim of panel `number`: claim, measurement and verdict."""
    return [
        f"figure {number}: {one.claim.said} ({one.claim.source}) | paper {one.claim.describe()} "
        f"| here {one.measured_text} | {one.verdict_text}"
        for one in checked
    ]


def claims_table(panels: Sequence[tuple[FigureConfig, str, Sequence[CheckedClaim]]]) -> pd.DataFrame:
    """Return the claims of panels as one table: claim, measurement, verdict.

    Args:
        panels: figure, number and checked claims of each panel.

    Returns:
        One row per claim. `ours` is True for claims that the paper does not make. `value`, `low` and `high`
        are the first measured number and its interval, NaN if nothing was measured. `per_workload` is text
        with the mean of the comparisons on each workload.
    """
    rows = []
    for figure, number, checked in panels:
        for one in checked:
            first = one.measured[0] if one.measured else Estimate(np.nan, np.nan, np.nan)
            rows.append(
                {
                    "paper": figure.paper,
                    "figure": number,
                    "claim": one.claim.said,
                    "source": one.claim.source,
                    "ours": one.claim.is_ours,
                    "series": one.claim.series,
                    "claimed": one.claim.describe(),
                    **first._asdict(),
                    "measured": one.measured_text,
                    "per_workload": "; ".join(
                        f"{name} {mean:{one.style}}" for name, mean in one.per_workload.items()
                    ),
                    "verdict": one.verdict,
                    "why": one.verdict_text,
                }
            )
    return pd.DataFrame(rows)


def beside(claims: pd.DataFrame, **others: pd.DataFrame) -> pd.DataFrame:
    """Return a table of claims with columns for other measurements of them, such as at another scale.

    Args:
        claims: table from `claims_table` or from `claims.csv`.
        others: further tables of claims by NAME. Each adds the columns `measured_NAME` and `verdict_NAME`,
            with NaN for claims that are not in the further table.
    """
    key = ["paper", "figure", "claim", "claimed"]
    for name, other in others.items():
        found = other[[*key, "measured", "verdict"]].drop_duplicates()
        claims = claims.merge(found, "left", key, suffixes=("", f"_{name}"), validate="one_to_one")
    return claims


def markdown(
    figure: FigureConfig,
    scale: tuple[str, ScaleConfig],
    panels: Sequence[tuple[Diagram, Sequence[CheckedClaim]]],
    samples: Sequence[Sample],
) -> str:
    """Return a Markdown report of a figure: tables and claims of its panels, departures, and what was run."""
    name, amount = scale
    results = [sample.result for sample in samples]
    lines = [f"# {figure.paper}, figure {figure.figure}: {figure.title}", "", f"Scale `{name}`."]
    for diagram, checked in panels:
        lines += _panel_lines(figure, diagram, checked)
    lines += ["", "Where this is not the paper's experiment:", ""]
    known = [*figure.departures, *amount.departures, *device_lines(figure), *assumed_lines(results)]
    lines += [f"- {text}" for text in known]
    lines += ["", "What was played:", ""]
    lines += [f"- {text}" for text in played_lines(results)]
    if figure.least_writes is not None:
        lines += ["", f"Claims are judged where this is at least {figure.least_writes:g}:", ""]
        lines += [f"- {text}" for text in written_lines(samples)]
    return "\n".join([*lines, ""])


def _panel_lines(figure: FigureConfig, diagram: Diagram, checked: Sequence[CheckedClaim]) -> list[str]:
    panel = diagram.panel
    title = f": {panel.title}" if panel.title else ""
    shown = f", relative to {panel.base}" if panel.base else f" ({panel.unit})"
    lines = [
        "",
        f"## {figure.number_of(panel)}{title}",
        "",
        f"Metric: `{panel.metric}`{shown}; means over seeds with 95 % intervals.",
        "",
        *table_of(figure, diagram, notes=True).to_markdown(),
    ]
    texts = [
        (one.claim.said, one.claim.source, one.claim.describe(), one.measured_text, one.verdict_text)
        for one in checked
    ]
    claims = tuple(tuple(map(Entry, row)) for row in texts)
    headings = ("claim", "source", "paper", "here [95 %]", "verdict")
    return [*lines, "", *Table("", "", headings, claims).to_markdown()]


def table_of(figure: FigureConfig, diagram: Diagram, *, notes: bool) -> Table:
    """Return a table of the numbers of a diagram, with intervals if `notes`."""
    rows = tuple(
        (*map(Entry, row.names), *(_entry(estimate, notes=notes) for estimate in row.estimates))
        for row in diagram.rows
    )
    title = f"{figure.number_of(diagram.panel)}  {diagram.panel.metric} ({diagram.unit})"
    return Table(title, "", (*diagram.name_columns, *diagram.number_columns), rows)


def assumed_lines(results: Sequence[Result]) -> list[str]:
    """Return lines with the assumptions about workloads; workloads with equal assumptions share a line."""
    found: dict[str, dict[str, None]] = {}
    for result in results:
        if result.assumed:
            found.setdefault(result.assumed, {})[result.workload] = None
    return [f"assumed of {', '.join(names)}: {fields}" for fields, names in found.items()]


def footprint_lines(results: Sequence[Result]) -> list[str]:
    """Return lines with the number of pages that each trace touches, as such and modulo the logical pages.

    A generated workload touches only logical pages, so its line has only the second number. Numbers are means
    over seeds. Devices with equal numbers share a line.
    """
    means = _metrics(results, _FOOTPRINT).groupby(["workload", "device"], sort=False).mean().round()
    alike = means.reset_index("device").groupby(["workload", *_FOOTPRINT], sort=False, dropna=False)["device"]
    return [
        f"footprint of {workload} on {devices}: "
        + ("" if np.isnan(touched) else f"{touched:,.0f} pages, ")
        + f"{left:,.0f} of the {logical:,.0f} logical ones"
        for (workload, touched, left, logical), devices in alike.agg(", ".join).items()
    ]


def _metrics(results: Sequence[Result], names: Sequence[str]) -> pd.DataFrame:
    """Return a row for each result: workload, device and metrics; a metric that was not measured is NaN."""
    rows = [
        (one.workload, one.device, *(one.metric(name) if one.measured(name) else np.nan for name in names))
        for one in results
    ]
    return pd.DataFrame(rows, columns=["workload", "device", *names])


def played_lines(results: Sequence[Result]) -> list[str]:
    """Return lines on the workloads of results: those from files, touched pages and rewritten pages."""
    names = dict.fromkeys(result.workload for result in results if result.measured(_OF_A_FILE))
    of_files = [f"played from files: {', '.join(names)}"] if names else []
    return [*of_files, *footprint_lines(results), *rewrite_lines(results)]


def written_lines(samples: Sequence[Sample]) -> list[str]:
    """Return lines with the host pages that each workload writes per spare page of the device."""
    shares = writes_per_spare_page(samples)
    return [f"host pages written per spare page on {name}: {share:.2f}" for name, share in shares.items()]


def rewrite_lines(results: Sequence[Result]) -> list[str]:
    """Return lines with the share of page writes to pages that the workload has written before."""
    sums = _metrics(results, _REWRITTEN).groupby("workload", sort=False)[[*_REWRITTEN]].sum()
    return [
        f"rewrites of {workload}: {again / written:.1%} of the pages that it writes"
        for workload, again, written in sums.itertuples()
        if written
    ]


def device_lines(figure: FigureConfig) -> list[str]:
    """Return lines with the assumed fields of the figure's devices, and the reasons."""
    return [
        f"assumed of {name}, {field}: {reason}"
        for name in figure.all_devices
        for field, reason in load_device(name).assumed.items()
    ]


def _entry(estimate: Estimate, *, notes: bool) -> Entry:
    if np.isnan(estimate.value):
        return Entry("not measured" if notes else "-", number=estimate.value)
    low, high = (estimate.low, estimate.high) if notes else (None, None)
    return Entry.of(estimate.value, low, high, "{:.3f}".format)


def paths_of(figure: FigureConfig, out: Path) -> tuple[Path, Path]:
    """Return the paths of the Markdown report and of the picture of a figure."""
    # The files of a single panel must not overwrite those of the whole figure.
    stem = f"figure{figure.number_of(figure.panels[0]) if len(figure.panels) == 1 else figure.figure}"
    return out / f"{stem}.md", out / f"{stem}.png"


def cost_lines(results: Sequence[Result]) -> list[str]:
    """Return lines with the time of each workload, the peak memory, and the table sizes in the controller."""
    rows = [
        (one.workload, one.policy, one.wall_seconds, one.metrics.get("controller_table_bytes", 0))
        for one in results
    ]
    costs = pd.DataFrame(rows, columns=["workload", "policy", "seconds", "bytes"])
    times = costs.groupby("workload", sort=False)["seconds"].agg(["sum", "size", "max"])
    lines = [
        f"time of {name}: {total:.1f} s for {runs} runs, the longest {longest:.1f} s"
        for name, total, runs, longest in times.itertuples()
    ]
    lines.append(f"memory of the largest process: {_peak_bytes() / _MIB:.0f} MiB")
    sizes = costs.groupby("policy", sort=False)["bytes"].max()
    kept = [f"{name} {size / 1000:.1f} kB" for name, size in sizes.items() if size]
    return [*lines, f"tables in the controller's memory: {', '.join(kept)}"] if kept else lines


def _peak_bytes() -> int:
    """Return the peak memory of this process or of its largest ended child, in bytes."""
    own, children = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    unit = 1 if sys.platform == "darwin" else 1024
    return max(own, children) * unit
