"""Write what results are turned into: data, tables, figures, and all of it in one HTML file.

The HTML file opens from disk and needs neither network nor script.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError
from ssdgym.experiments.report import figures
from ssdgym.experiments.report.commands import repetition, seed_text, specs_of
from ssdgym.experiments.report.comparison import Advantage, advantage, policies_of
from ssdgym.experiments.report.style import FORMATS, inline_svg, save_figure
from ssdgym.experiments.report.summary import (
    COLUMNS,
    PolicyRow,
    Section,
    latex_table,
    long_names,
    markdown_table,
    overflow_notes,
    sections,
    shown_columns,
    side_by_side,
    verdicts,
)
from ssdgym.experiments.report.tables import Entry, Table, render
from ssdgym.experiments.results import Result, listed, write_results
from ssdgym.files import write_bytes


def write_report(results: Sequence[Result], folder: Path, learned: Sequence[str] = ()) -> list[Path]:
    """Write `results.parquet`, `results.csv`, tables and figures into `folder`.

    Args:
        results: of a whole grid.
        folder: an existing one.
        learned: the policies that learned, which figures and verdicts single out.

    Returns:
        The paths, the most useful first.

    Raises:
        SsdgymError: the folder cannot be written.
    """
    parquet, table = write_results(results, folder / "results")
    tables = write_tables(results, folder, learned)
    return [table, parquet, *tables, *write_figures(results, folder, learned, formats=("png",))]


def write_tables(results: Sequence[Result], folder: Path, learned: Sequence[str] = ()) -> list[Path]:
    """Write `results.md`, with verdicts on the learned policies, and `results.tex`."""
    markdown, latex = folder / "results.md", folder / "results.tex"
    remarks = [*verdicts(results, learned), *figures.left_out(results), *overflow_notes(results)]
    remarks += [f"`{short}`: `{policy}`" for short, policy in long_names(results).items()]
    text = "\n".join([markdown_table(results), *(f"- {line}" for line in remarks), ""])
    write_bytes(markdown, text.encode())
    write_bytes(latex, latex_table(results).encode())
    return [markdown, latex]


def write_figures(
    results: Sequence[Result],
    folder: Path,
    learned: Sequence[str] = (),
    reference: str | None = None,
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Write every figure of `figures.report_figures`."""
    return [
        save_figure(found.figure, folder / f"{found.name}.{file_format}")
        for found in figures.report_figures(results, learned, reference)
        for file_format in formats
    ]


TEMPLATE = "report.html.j2"
_LENGTH_TITLES = {
    "host_pages": "host pages per run",
    "requests": "requests per run",
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
    """Write tables, figures, configuration and the commands to repeat them into one HTML file.

    Args:
        results: of a whole grid, or of a part of one.
        path: of the file, which is written whole or not at all.
        folder: where the results lie, for the commands that repeat them.
        learned: the policies that learned; by default those of `learned_of`.
        reference: the policy that the others are compared with; by default the best.

    Returns:
        `path`.

    Raises:
        SsdgymError: there are no results, a policy is none of theirs, or the file cannot be written.
    """
    if not results:
        raise SsdgymError(f"{folder}: there are no results to report; evaluate something first")
    rows = [*policies_of(side_by_side(results)[0]), *long_names(results).values()]
    for policies, known in ((learned or (), policies_of(results)), ([reference] if reference else (), rows)):
        for policy in policies:
            if policy not in known:
                raise SsdgymError(
                    f"{folder}: has no results of the policy {policy!r}; choose from {', '.join(known)}"
                )
    names = long_names(results)
    if reference in names.values():
        reference = next(short for short, policy in names.items() if policy == reference)
    page = _page(results, folder, learned_of(results) if learned is None else learned, reference)
    write_bytes(path, render(TEMPLATE, page).encode())
    return path


def learned_of(results: Sequence[Result]) -> list[str]:
    """Return the policies that were trained for something or are the file of an agent."""
    agents = {spec["names"]["policy"] for spec in specs_of(results) if spec["agent"]}
    return policies_of([result for result in results if result.objective or result.policy in agents])


def _page(
    results: Sequence[Result], folder: Path, learned: Sequence[str], reference: str | None
) -> dict[str, Any]:
    """Return everything that the template shows."""
    return {
        "title": folder.resolve().name,
        "facts": list(_facts(results)),
        "remarks": [*_remarks(results), *figures.left_out(results), *overflow_notes(results)],
        "verdicts": verdicts(results, learned),
        "tables": list(_tables(results, reference)),
        "learned": side_by_side(results, learned)[1],
        "names": long_names(results),
        "figures": [
            (found, inline_svg(found.figure, found.name))
            for found in figures.report_figures(results, learned, reference)
        ],
        "devices": _configurations(results, "device"),
        "workloads": _configurations(results, "workload"),
        "assumed": {result.workload: result.assumed for result in results if result.assumed},
        "repetition": repetition(results, Path(f"{folder}-again")),
        "checks": [
            shlex.join(["ssdgym", *words])
            for words in (["replay", str(folder), "--row", "1"], ["replay", str(folder)])
        ],
    }


def _facts(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield what was run, and with what."""
    seeds = seed_text(result.seed for result in results)
    yield "results", f"{len(results):,}"
    yield "policies", ", ".join(policies_of(results))
    yield "workloads", listed(result.workload for result in results)
    yield "devices", listed(result.device for result in results)
    yield "FTL options", "; ".join(dict.fromkeys(result.ftl or "the device's own" for result in results))
    yield "seeds", f"{len({result.seed for result in results})} ({seeds})"
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


def _remarks(results: Sequence[Result]) -> Iterator[str]:
    """Yield what limits the numbers, and why a figure is not there."""
    results, _ = side_by_side(results)
    group = figures.whole(results)
    if len({(result.version, result.engine_hash) for result in results}) > 1:
        yield "The results come from different versions of ssdgym or its engine, whose numbers may differ."
    if len({result.seed for result in results}) == 1:
        yield (
            "There is a single seed: no interval, no probability of improvement, and no saying who is better."
        )
    if len(policies_of(results)) == 1:
        yield "There is a single policy: no performance profile and no probability of improvement."
    elif group.results and not figures.positive(group):
        yield (
            "Some runs wrote nothing, or parts of what they count as pages, and have no write amplification "
            "to compare over all tasks."
        )


def _configurations(results: Sequence[Result], part: str) -> list[tuple[str, str]]:
    """Return the names and configurations, as YAML, of the devices or workloads that results describe."""
    found = {
        (spec["names"][part], yaml.safe_dump(spec[part], sort_keys=False)): None for spec in specs_of(results)
    }
    return list(found)


def _tables(results: Sequence[Result], reference: str | None) -> Iterator[Table]:
    """Yield tables over several tasks together, of each task by itself, and of all policies against one."""
    found = sections(results)
    for section in found:
        if len(section.group.tasks) > 1:
            shown = shown_columns(section.rows)
            rows = [(Entry(row.policy), *_numbers(row, shown)) for row in section.rows]
            headings = (section.heading, *_headings(shown))
            yield Table(_sentence(section.title), section.caption, headings, tuple(rows)).without_gaps()
    single = [section for section in found if len(section.group.tasks) == 1]
    if single:
        yield _task_table(single, _spares(results))
    group = figures.whole(results)
    if figures.makes_improvement(group):
        against = reference or figures.best_policy(group)
        others = [policy for policy in policies_of(group.results) if policy != against]
        found_advantages = [advantage(group.results, against, policy) for policy in others]
        yield _advantage_table(found_advantages, f"{group.title}, {len(group.seeds)} seeds")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _headings(shown: Sequence[int]) -> Iterator[str]:
    for column in (COLUMNS[number] for number in shown):
        for part in column.parts:
            yield f"{column.heading.replace(' (', f' {part} (') if part else column.heading}"


def _numbers(row: PolicyRow, shown: Sequence[int]) -> Iterator[Entry]:
    for number in shown:
        yield from row.entries[number]


def _spares(results: Sequence[Result]) -> dict[str, str]:
    """Return the share of spare pages of each device, by its name."""
    devices = {spec["names"]["device"]: spec["device"] for spec in specs_of(results)}
    return {name: f"{load_device(device).spare_ratio:.0%}" for name, device in devices.items()}


def _task_table(found: Sequence[Section], spares: Mapping[str, str]) -> Table:
    """Return a row per task and policy; device, FTL and spare pages have columns where there are several."""
    tasks = [section.group.tasks[0] for section in found]
    names = {2: "workload", 0: "device", 1: "FTL options"}
    columns = shown_columns([row for section in found for row in section.rows])
    shown = [part for part in names if part == 2 or len({task[part] for task in tasks}) > 1]
    spare = ["spare"] if len(set(spares.values())) > 1 else []
    rows = [
        (
            Entry(row.policy),
            *(Entry(task[part]) for part in shown),
            *(Entry(spares.get(task[0], "-")) for _ in spare),
            Entry(str(len(section.group.seeds)), number=len(section.group.seeds)),
            *_numbers(row, columns),
        )
        for section, task in zip(found, tasks, strict=True)
        for row in section.rows
    ]
    headings = (found[0].heading, *(names[part] for part in shown), *spare, "seeds", *_headings(columns))
    title = "Each task" if len(found) > 1 else _sentence(found[0].title)
    longest = max((section.caption for section in found), key=len)
    return Table(title, longest, headings, tuple(rows)).without_gaps()


def _advantage_table(found: Sequence[Advantage], what: str) -> Table:
    ours = found[0].ours
    rows = tuple(
        (
            Entry(one.theirs),
            Entry.of(*one.difference, "{:+.1%}".format),
            Entry.of(*one.improvement, "{:.0%}".format),
            Entry("better" if one.beats else "worse" if one.loses else "undecided"),
        )
        for one in found
    )
    headings = (
        "policy",
        f"WA of {ours} relative to it",
        f"a run of {ours} is better",
        f"{ours} is, on average",
    )
    caption = (
        f"{what}. Differences are paired by task and seed, geometric means over the tasks; probabilities are "
        "means over the tasks; in brackets 95 % intervals. Better and worse are said only where the interval "
        "of the difference excludes zero."
    )
    return Table(f"{ours} against the others", _sentence(caption), headings, rows)
