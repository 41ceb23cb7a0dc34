"""A report in one HTML file, which opens from disk and needs neither network nor script."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, Template

from ssdgym.errors import SsdgymError
from ssdgym.experiments.analysis.comparison import policies_of
from ssdgym.experiments.report.commands import repetition, seed_text, specs_of
from ssdgym.experiments.report.files import (
    left_out,
    positive,
    report_figures,
    whole,
    write_text,
)
from ssdgym.experiments.report.html_tables import html_tables
from ssdgym.experiments.report.style import inline_svg
from ssdgym.experiments.report.tables import verdicts
from ssdgym.experiments.results import Result

TEMPLATE = "report.html.j2"


def write_html_report(
    results: Sequence[Result],
    path: Path,
    folder: Path,
    learned: Sequence[str] | None = None,
    reference: str | None = None,
) -> Path:
    """Write tables, figures, configuration and the commands to repeat them into one HTML file.

    Args:
        results: of a whole grid, or of what there is of it.
        path: of the file, which is written whole or not at all.
        folder: where the results lie, for the commands that repeat them.
        learned: the policies that learned; by default those of :func:`learned_of`.
        reference: the policy that the others are compared with; by default the best.

    Returns:
        ``path``.

    Raises:
        SsdgymError: there are no results, a policy is none of theirs, or the file cannot be written.
    """
    if not results:
        raise SsdgymError(f"{folder}: there are no results to report; evaluate something first")
    for policy in [*(learned or ()), *([reference] if reference else ())]:
        if policy not in policies_of(results):
            known = ", ".join(policies_of(results))
            raise SsdgymError(f"{folder}: has no results of the policy {policy!r}; choose from {known}")
    page = _page(results, folder, learned_of(results) if learned is None else learned, reference)
    write_text(path, _template().render(page))
    return path


def learned_of(results: Sequence[Result]) -> list[str]:
    """The policies that were trained for something or are the file of an agent."""
    agents = {spec["names"]["policy"] for spec in specs_of(results) if spec["agent"]}
    return policies_of([result for result in results if result.objective or result.policy in agents])


def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    source = resources.files("ssdgym.experiments.report").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(source)


def _page(
    results: Sequence[Result], folder: Path, learned: Sequence[str], reference: str | None
) -> dict[str, Any]:
    """Everything the template shows."""
    return {
        "title": folder.resolve().name,
        "facts": list(_facts(results)),
        "remarks": [*_remarks(results), *left_out(results)],
        "verdicts": verdicts(results, learned),
        "tables": list(html_tables(results, reference)),
        "learned": learned,
        "figures": [
            (found, inline_svg(found.figure, found.name))
            for found in report_figures(results, learned, reference)
        ],
        "devices": _configurations(results, "device"),
        "workloads": _configurations(results, "workload"),
        "assumed": {result.workload: result.assumed for result in results if result.assumed},
        "repetition": repetition(results, Path(f"{folder}-again")),
        "checks": [
            shlex.join(["ssdgym", *words])
            for words in (["replay", str(folder), "--row", "1"], ["validate", str(folder)])
        ],
    }


def _facts(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """What was run, and with what."""
    seeds = seed_text(result.seed for result in results)
    yield "results", f"{len(results):,}"
    yield "policies", ", ".join(policies_of(results))
    yield "workloads", ", ".join(_each(result.workload for result in results))
    yield "devices", ", ".join(_each(result.device for result in results))
    yield "FTL options", "; ".join(ftl or "the device's own" for ftl in _each(r.ftl for r in results))
    yield "seeds", f"{len({result.seed for result in results})} ({seeds})"
    yield from _lengths(results).items()
    yield "ssdgym", ", ".join(_each(result.version for result in results))
    yield "engine hash", ", ".join(_each(result.engine_hash for result in results)) or "unknown"


def _lengths(results: Sequence[Result]) -> dict[str, str]:
    """How long the runs were and what went before them, as far as the results say it."""
    titles = {
        "host_pages": "host pages per run",
        "requests": "requests per run",
        "warmup": "host pages before, not measured",
        "preconditioning": "preconditioning",
    }
    specs = specs_of(results)
    found = {
        title: _each(_number(spec[name]) for spec in specs if spec[name] is not None)
        for name, title in titles.items()
    }
    return {title: ", ".join(values) for title, values in found.items() if values}


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _each(values: Any) -> list[str]:
    """Every value once, in order of first appearance."""
    return list(dict.fromkeys(values))


def _remarks(results: Sequence[Result]) -> Iterator[str]:
    """What a reader has to know before trusting a number, and why a figure is not there."""
    group = whole(results)
    if len({(result.version, result.engine_hash) for result in results}) > 1:
        yield "The results come from different versions of ssdgym or its engine, whose numbers may differ."
    if len({result.seed for result in results}) == 1:
        yield (
            "There is a single seed: no interval, no probability of improvement, and no saying who is better."
        )
    if len(policies_of(results)) == 1:
        yield "There is a single policy: no performance profile and no probability of improvement."
    elif group.results and not positive(group):
        yield "Some runs wrote nothing and have no write amplification to compare over all tasks."


def _configurations(results: Sequence[Result], part: str) -> list[tuple[str, str]]:
    """The names and configurations, as YAML, of the devices or workloads, as far as the results have them."""
    found = {
        (spec["names"][part], yaml.safe_dump(spec[part], sort_keys=False)): None for spec in specs_of(results)
    }
    return list(found)
