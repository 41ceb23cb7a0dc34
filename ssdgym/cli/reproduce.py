"""`ssdgym reproduce`: regenerate the figures of a paper and check its claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ssdgym.cli.console import note, show
from ssdgym.cli.evaluate import run_stored
from ssdgym.cli.options import Texts
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.papers.config import FigureConfig, ScaleConfig
    from ssdgym.experiments.papers.samples import Sample


def reproduce(
    paper: str,
    figure: str | None = None,
    every: bool = False,
    scale: Literal["smoke", "small", "paper"] = "small",
    traces: Path | None = None,
    volumes: Literal["end_to_end", "overlay"] | None = None,
    only: Texts = None,
    bar_policy: Texts = None,
    bar_agent: Texts = None,
    learned: bool = False,
    seeds: Any = None,
    workers: int | None = None,
    out: Path | None = None,
) -> None:
    """Reproduce the figures of a paper, and print each claim of the paper beside the measurement.

    A claim that does not hold here is printed as not holding. Nothing is tuned to make a claim hold. The
    output folder (default: results/reproduce/PAPER/SCALE) stores finished runs: the same command continues
    after an interruption, and figures share runs. Several commands with different figures, traces or seeds
    can fill one folder. The verdicts on claims are in claims.csv there and in the folder of each figure.

    Examples:
        ssdgym reproduce speedupgc --figure 12a
        ssdgym reproduce subftl --figure 8 --agent "stump(feature=sector_writes, cut=0.25)"
        ssdgym reproduce pen --figure 13 --learned
        ssdgym reproduce block-size --scale paper --traces my-traces --workers 8
    """
    from ssdgym.experiments.papers.figures import figures, learned_agents, points_of, scale_of, with_bars
    from ssdgym.experiments.papers.report import claims_table, cost_lines
    from ssdgym.experiments.results import write_csv

    if volumes is not None and traces is None:
        raise SsdgymError(f"--volumes {volumes}: is for real traces; give --traces with it, or leave it out")
    named = every or figure or only
    chosen = [one for one in figures(paper, figure, only or ()) if named or one.is_of_the_paper]
    found_rules = [one for one in bar_policy or () if one.startswith("stump(")]  # which play as agents do
    policies = [one for one in bar_policy or () if one not in found_rules]
    agents = (*(bar_agent or ()), *found_rules, *(learned_agents(paper) if learned else ()))
    if policies or agents:
        more = [with_bars(one, policies, agents) for one in chosen]
        if more == chosen:
            raise SsdgymError(f"--policy, --agent, --learned: no figure here has a bar for {paper}'s design")
        chosen = more
    plans = []
    for one in chosen:
        amount = scale_of(one, scale).model_copy(update={"workloads": tuple(only)} if only else {})
        plans.append((one, amount, points_of(one, amount, traces, volumes or "end_to_end", seeds or ())))
    runs = {repr(point.run): point.run for *_, own in plans for point in own}  # figures may share runs
    folder = out or Path("results/reproduce", paper, scale)
    done = run_stored(list(runs.values()), folder, workers)
    failed = {repr(failure.run) for failure in done.failures}
    found = dict(zip((name for name in runs if name not in failed), done.results, strict=True))
    reports, panels = [], []
    for one, amount, own in plans:
        if any(repr(point.run) in failed for point in own):
            note(f"figure {one.figure} is left out, some of its runs failed")
            continue
        samples = [point.with_result(found[repr(point.run)]) for point in own]
        data, parts, checked = _report(one, (scale, amount), samples, folder / f"figure{one.figure}")
        reports.append((data, parts))
        panels += checked
    write_csv(folder / "claims.csv", claims_table(panels))
    costs = cost_lines(done.results)
    show(
        {"paper": paper, "scale": scale, "figures": [data for data, _ in reports], "costs": costs},
        [*(part for _, parts in reports for part in parts), "", *costs],
    )
    if done.failures:
        raise SsdgymError(
            f"{len(failed)} runs failed, the first {done.failures[0]}; the same command tries them again and "
            "repeats nothing else"
        )


def _report(
    figure: FigureConfig, scale: tuple[str, ScaleConfig], samples: Sequence[Sample], folder: Path
) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """Write a figure's results, tables, picture and claims; return the arguments of `show`, and the claims.

    The printed tables have no intervals, because a terminal is too narrow for them.
    """
    from ssdgym.experiments.papers import report
    from ssdgym.experiments.papers.checks import check_claims
    from ssdgym.experiments.results import write_csv
    from ssdgym.experiments.runs.grid import write_grid
    from ssdgym.files import writable_folder, write_atomically

    results = [sample.result for sample in samples]
    diagrams = report.diagrams_of(figure, samples)
    panels = [(diagram, check_claims(figure, diagram.panel, samples, scale[0])) for diagram in diagrams]
    writable_folder(folder)
    text_path, picture_path = report.paths_of(figure, folder)
    write_grid(results, folder)
    write_atomically(text_path, report.markdown(figure, scale, panels, samples).encode())
    report.draw(figure, diagrams, picture_path)
    numbered = [(figure, figure.number_of(diagram.panel), checked) for diagram, checked in panels]
    claims = report.claims_table(numbered)
    write_csv(folder / "claims.csv", claims)
    files = [str(text_path), str(picture_path), str(folder / "results.csv")]
    parts: list[Any] = [f"\n{figure.paper}, figure {figure.figure}: {figure.title}"]
    for diagram, checked in panels:
        parts.append(report.table_of(figure, diagram, notes=False).to_rich())
        parts += report.claim_lines(figure.number_of(diagram.panel), checked)
    shares = report.written_lines(samples) if figure.least_writes is not None else []
    parts += ["", *shares, *report.played_lines(results), *report.assumed_lines(results), *files]
    rows = claims.astype(object).where(claims.notna(), None).to_dict("records")
    return {"figure": figure.figure, "claims": rows, "files": files}, parts, numbered
