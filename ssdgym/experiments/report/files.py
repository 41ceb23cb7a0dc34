"""Write results as data, tables and figures, and as one HTML report.

The HTML file opens from disk, without network or scripts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.comparison import (
    WRITE_AMPLIFICATION,
    TaskGroup,
    advantage,
    best_heuristic,
    measured,
    policies_of,
)
from ssdgym.experiments.report.figures import report_figures
from ssdgym.experiments.report.style import FORMATS, inline_svg, save_figure
from ssdgym.experiments.report.summary import Shown, cautions, markdown_table, tables, verdicts
from ssdgym.experiments.report.tables import Entry, Table
from ssdgym.experiments.results import Result, listed
from ssdgym.experiments.runs.spec import Spec, read_spec
from ssdgym.files import write_atomically


def write_tables(shown: Shown, folder: Path) -> list[Path]:
    """Write `results.md` (tables, and verdicts on learned policies) and `results.tex`; return both paths."""
    markdown, latex = folder / "results.md", folder / "results.tex"
    remarks = [*verdicts(shown), *_left_out(shown), *cautions(shown.results)]
    remarks += [f"`{short}`: `{policy}`" for short, policy in shown.names.items()]
    text = "\n".join([markdown_table(shown), *(f"- {line}" for line in remarks), ""])
    write_atomically(markdown, text.encode())
    write_atomically(latex, "\n".join(table.to_latex() for table in tables(shown)).encode())
    return [markdown, latex]


def write_figures(shown: Shown, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every figure of `report_figures` in all formats; return the paths."""
    return [
        save_figure(found.figure, folder / f"{found.name}.{file_format}")
        for found in report_figures(shown)
        for file_format in formats
    ]


_LENGTH_TITLES = {
    "host_pages": "host pages per run",
    "warmup": "host pages before, not measured",
    "preconditioning": "preconditioning",
}


def write_html_report(
    results: Sequence[Result],
    path: Path,
    folder: Path,
    learned: Sequence[str] | None = None,
    reference: str | None = None,
) -> Path:
    """Write tables, figures, configurations and commands that repeat runs into one HTML file; return `path`.

    Args:
        results: results of a whole grid, or of a part of a grid.
        path: path of the file, which is written atomically.
        folder: folder of the results, for the title and the commands.
        learned: names of learned policies; None: the result of `learned_of`.
        reference: policy to compare all other policies with; None: the best policy.

    Raises:
        SsdgymError: there are no results, they lack a given policy, or the file cannot be written.
    """
    if not results:
        raise SsdgymError(f"{folder}: there are no results to report; evaluate something first")
    shown = Shown.of(results, learned_of(results) if learned is None else learned)
    rows = [*policies_of(shown.results), *shown.names.values()]
    for policies, known in ((learned or (), policies_of(results)), ([reference] if reference else (), rows)):
        for policy in policies:
            if policy not in known:
                raise SsdgymError(
                    f"{folder}: has no results of the policy {policy!r}; choose from {', '.join(known)}"
                )
    reference = next((short for short, policy in shown.names.items() if policy == reference), reference)
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    write_atomically(
        path, environment.get_template("report.html.j2").render(_page(shown, folder, reference)).encode()
    )
    return path


def specs_of(results: Iterable[Result]) -> list[Spec]:
    """Return the specs of runs that results contain; results without a spec are skipped."""
    subject = "the column 'spec' of the result of {0.policy} on {0.workload} (seed {0.seed})"
    return [read_spec(result.spec, subject.format(result)) for result in results if result.spec]


def learned_of(results: Sequence[Result]) -> list[str]:
    """Return the names of learned policies: those whose results contain a training objective or an agent."""
    agents = {spec["names"]["policy"] for spec in specs_of(results) if spec["agent"]}
    return policies_of([result for result in results if result.objective or result.policy in agents])


def _page(shown: Shown, folder: Path, reference: str | None) -> dict[str, Any]:
    """Return the values by name that the template `report.html.j2` shows."""
    results, found, group = shown.runs, tables(shown, intervals=True), shown.groups[-1]
    if len(policies_of(group.results)) > 1 and len(group.seeds) > 1 and _has_ratios(group):
        found.append(_advantage_table(group, reference or str(best_heuristic(group.results, ours=()))))
    return {
        "title": folder.resolve().name,
        "facts": list(_facts(results)),
        "remarks": [*_remarks(results, group), *_left_out(shown), *cautions(shown.results)],
        "verdicts": verdicts(shown),
        "tables": found,
        "learned": shown.learned,
        "names": shown.names,
        "figures": [(figure, inline_svg(figure.figure, figure.name)) for figure in report_figures(shown)],
        "devices": _configurations(results, "device"),
        "workloads": _configurations(results, "workload"),
        "assumed": {result.workload: result.assumed for result in results if result.assumed},
        "checks": [
            shlex.join(["ssdgym", *words])
            for words in (["replay", str(folder), "--row", "1"], ["replay", str(folder)])
        ],
    }


def _facts(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield facts about the runs, each as a title and a text."""
    seeds = sorted({result.seed for result in results})
    yield "results", f"{len(results):,}"
    yield "policies", ", ".join(policies_of(results))
    yield "workloads", listed(result.workload for result in results)
    yield "devices", listed(result.device for result in results)
    yield "FTL options", "; ".join(dict.fromkeys(result.ftl or "the device's own" for result in results))
    yield "seeds", f"{len(seeds)} ({', '.join(map(str, seeds))})"
    specs = specs_of(results)
    for name, title in _LENGTH_TITLES.items():
        values = listed(
            f"{spec[name]:,}" if isinstance(spec[name], int) else spec[name]
            for spec in specs
            if spec[name] is not None
        )
        if values:
            yield title, values
    yield "ssdgym", listed(result.version for result in results)
    yield "engine hash", listed(result.engine_hash for result in results) or "unknown"


def _left_out(shown: Shown) -> list[str]:
    """Return a sentence for each policy or group of seeds that tables and figures leave out."""
    return list(dict.fromkeys(sentence for group in shown.groups for sentence in group.left_out))


def _remarks(results: Sequence[Result], group: TaskGroup) -> Iterator[str]:
    """Yield sentences that say why numbers may not be comparable."""
    if len({(result.version, result.engine_hash) for result in results}) > 1:
        yield "The results come from different versions of ssdgym or its engine, whose numbers may differ."
    if len({result.seed for result in results}) == 1:
        yield "There is a single seed: no interval, and no saying who is better."
    if group.results and len(policies_of(results)) > 1 and not _has_ratios(group):
        yield (
            "Some runs wrote nothing, or parts of what they count as pages, and have no write amplification "
            "to compare over all tasks."
        )


def _has_ratios(group: TaskGroup) -> bool:
    """Return whether all runs have a write amplification above 0."""
    return measured(group.results, WRITE_AMPLIFICATION) and all(
        result.metric(WRITE_AMPLIFICATION) > 0 for result in group.results
    )


def _configurations(results: Sequence[Result], part: str) -> list[tuple[str, str]]:
    """Return pairs of name and YAML of the devices or workloads (`part`) in the specs of results."""
    found = {
        (spec["names"][part], yaml.safe_dump(spec[part], sort_keys=False)): None for spec in specs_of(results)
    }
    return list(found)


def _advantage_table(group: TaskGroup, ours: str) -> Table:
    """Return a table that compares the policy `ours` with every other policy, over the tasks of a group."""
    rows = []
    for theirs in policies_of(group.results):
        if theirs != ours:
            one = advantage(group.results, ours, theirs)
            difference = Entry.of(*one.difference, "{:+.1%}".format)
            improvement = Entry.of(*one.improvement, "{:.0%}".format)
            word = "better" if one.beats else "worse" if one.loses else "undecided"
            rows.append((Entry(theirs), difference, improvement, Entry(word)))
    headings = (
        "policy",
        f"WA of {ours} relative to it",
        f"a run of {ours} is better",
        f"{ours} is, on average",
    )
    caption = (
        f"{group.title}, {len(group.seeds)} seeds. Differences are paired by task and seed, geometric means "
        "over the tasks; probabilities are means over the tasks; in brackets 95 % intervals. Better and "
        "worse are said only where the interval of the difference excludes zero."
    )
    return Table(f"{ours} against the others", caption, headings, tuple(rows))
