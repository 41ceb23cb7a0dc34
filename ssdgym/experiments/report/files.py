"""Write what results are turned into: data, tables, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from ssdgym.experiments.report.comparison import WRITE_AMPLIFICATION as WA
from ssdgym.experiments.report.comparison import TaskGroup, best_heuristic, groups_of, measured, policies_of
from ssdgym.experiments.report.figures import (
    has_latencies,
    improvement_figure,
    interval_figure,
    latency_figure,
    profile_figure,
)
from ssdgym.experiments.report.style import FORMATS, save_figure
from ssdgym.experiments.report.summary import (
    describe,
    latex_table,
    markdown_table,
    overflow_notes,
    side_by_side,
    verdicts,
)
from ssdgym.experiments.results import Result, write_results
from ssdgym.files import write_bytes


@dataclass(frozen=True)
class ReportFigure:
    """A figure with the name of its file, its title, and a caption on what it shows."""

    name: str
    title: str
    caption: str
    figure: Figure


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
    remarks = [*verdicts(results, learned), *left_out(results), *overflow_notes(results)]
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
    """Write every figure of `report_figures`."""
    return [
        save_figure(found.figure, folder / f"{found.name}.{file_format}")
        for found in report_figures(results, learned, reference)
        for file_format in formats
    ]


def left_out(results: Sequence[Result]) -> list[str]:
    """Return one sentence for everything that tables and figures leave out, so that comparisons are fair."""
    groups = groups_of(side_by_side(results)[0])
    return list(dict.fromkeys(sentence for group in groups for sentence in group.left_out))


def whole(results: Sequence[Result]) -> TaskGroup:
    """Return all results that can be compared with each other, over all tasks."""
    return groups_of(side_by_side(results)[0])[-1]


def report_figures(
    results: Sequence[Result], learned: Sequence[str] = (), reference: str | None = None
) -> Iterator[ReportFigure]:
    """Yield the figures that make sense for these results, in the order of a report."""
    results, learned = side_by_side(results, learned)
    group = whole(results)
    numbers = describe(len({result.seed for result in results}), 1, "as a bar")
    if any(measured(found.results, WA) for found in groups_of(results)):
        yield ReportFigure(
            WA,
            "Write amplification",
            f"{numbers} Less is better; the axes of the panels begin and end where their numbers do.",
            interval_figure(results, WA, learned),
        )
    for operation in ("read", "write"):
        if has_latencies(results, operation):
            yield ReportFigure(
                f"{operation}_latency",
                f"{operation.capitalize()} latency",
                f"{numbers} Both axes are the same in all panels.",
                latency_figure(results, operation, learned),
            )
    if makes_profiles(group):
        yield ReportFigure(
            "performance_profile",
            "Performance profile",
            f"Share of the {len(group.results) // len(policies_of(group.results))} runs of each policy "
            f"({len(group.seeds)} seeds on {len(group.tasks)} tasks) whose write amplification is below τ "
            "times the best policy's interquartile mean on the task. Higher is better; bands are pointwise "
            "95 % intervals.",
            profile_figure(group.results, WA, learned),
        )
    if makes_improvement(group):
        against = reference or best_policy(group)
        yield ReportFigure(
            "probability_of_improvement",
            "Probability of improvement",
            f"How likely a run of {against} has a lower write amplification than a run of the other policy "
            f"on the same task, mean over {len(group.tasks)} tasks with {len(group.seeds)} seeds each, with "
            "95 % intervals; 50 % is a draw.",
            improvement_figure(group.results, against, WA),
        )


def makes_profiles(group: TaskGroup) -> bool:
    """Return whether a performance profile means anything: several policies, several runs of each."""
    return len(policies_of(group.results)) > 1 and len(group.seeds) * len(group.tasks) > 1 and positive(group)


def makes_improvement(group: TaskGroup) -> bool:
    """Return whether a probability of improvement does: several policies, several seeds of each."""
    return len(policies_of(group.results)) > 1 and len(group.seeds) > 1 and positive(group)


def positive(group: TaskGroup) -> bool:
    """Return whether ratios of write amplification exist; a run that wrote nothing has none."""
    return measured(group.results, WA) and all(result.metric(WA) > 0 for result in group.results)


def best_policy(group: TaskGroup) -> str:
    """Return the policy with the lowest geometric mean of write amplification over the tasks."""
    best = best_heuristic(group.results, ours=())
    assert best is not None, "a group that can be compared has a policy"
    return best
