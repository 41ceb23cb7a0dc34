"""`ssdgym reproduce`: regenerate the figures of a paper and check its claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.cli.console import console, print_json, progress_note
from ssdgym.cli.evaluate import run_stored
from ssdgym.cli.options import AsJson, Seeds, parse_seeds
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.papers.checks import CheckedClaim
    from ssdgym.experiments.papers.config import FigureConfig, ScaleConfig
    from ssdgym.experiments.papers.samples import Sample
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.grid import Failure
    from ssdgym.experiments.runs.spec import RunSpec


def reproduce(
    paper: Annotated[str, typer.Argument(help="Name of the paper, for example speedupgc.")],
    figure: Annotated[
        str | None, typer.Option(help="Only the figure of this number, or one of its panels.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also the figures that only add to what the paper says.")
    ] = False,
    scale: Annotated[
        Literal["smoke", "small", "paper"], typer.Option(help="How much of the experiment is run.")
    ] = "small",
    traces: Annotated[
        Path | None,
        typer.Option(help="Folder of real traces, played where one has the right name, else synthetic."),
    ] = None,
    volumes: Annotated[
        Literal["end_to_end", "overlay"] | None,
        typer.Option(
            help="Volumes of a real trace: one after the other (the default), or all from address 0."
        ),
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option("--workload", "-w", help="Only this trace of them; repeat for more.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A bar more: the paper's design under this policy; repeat for more."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="A bar more: the paper's design where this agent decides; repeat for more."),
    ] = None,
    learned: Annotated[
        bool, typer.Option(help="Bars more: the rule found and the learned agents of the paper's suite.")
    ] = False,
    seeds: Seeds = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output folder; default: results/reproduce/PAPER/SCALE."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Regenerate a paper's figures and print, claim by claim, what it said and what is measured here.

    A claim that does not hold here is printed as not holding. Nothing is tuned to make one hold. Finished
    runs are kept: the same command goes on where it was interrupted, and figures that stand on the same runs
    share them. So a long one can be run in parts, by figures, traces and seeds, into one folder. claims.csv,
    in that folder and in the folder of each figure, has the claims as a table.

    Examples:

        ssdgym reproduce speedupgc --figure 12a

        ssdgym reproduce subftl --figure 8 --agent "stump(feature=sector_writes, cut=0.25)"

        ssdgym reproduce pen --figure 13 --learned

        ssdgym reproduce block-size --scale paper --traces my-traces --workers 8
    """
    from ssdgym.experiments.papers.figures import figures, learned_agents, points_of, scale_of, with_bars
    from ssdgym.experiments.papers.report import claims_table, cost_lines
    from ssdgym.files import write_bytes

    if volumes is not None and traces is None:
        raise SsdgymError(f"--volumes {volumes}: is for real traces; give --traces, too, or leave it out")
    named = every or figure or workload
    found_figures = [one for one in figures(paper, figure, workload or ()) if named or one.is_of_the_paper]
    agents = (*(agent or ()), *(learned_agents(paper) if learned else ()))
    if policy or agents:
        more = [with_bars(one, policy or (), agents) for one in found_figures]
        if more == found_figures:
            raise SsdgymError(f"--policy, --agent, --learned: no figure here has a bar for {paper}'s design")
        found_figures = more
    chosen = [(one, scale_of(one, scale)) for one in found_figures]
    if workload:
        chosen = [(one, amount.model_copy(update={"workloads": tuple(workload)})) for one, amount in chosen]
    folder = out or Path("results/reproduce") / paper / scale
    playing = (traces, volumes or "end_to_end", () if seeds is None else parse_seeds(seeds))
    points = [points_of(one, amount, *playing) for one, amount in chosen]
    found, failures = _run([point.run for own in points for point in own], folder, workers, quiet=as_json)
    reports, panels = [], []
    for (one, amount), own in zip(chosen, points, strict=True):
        if any(repr(point.run) not in found for point in own):
            progress_note(f"figure {one.figure} is left out, some of its runs failed", quiet=as_json)
            continue
        samples = [point.with_result(found[repr(point.run)]) for point in own]
        report, checked = _report(one, (scale, amount), samples, folder, quiet=as_json)
        reports.append(report)
        panels += checked
    write_bytes(folder / "claims.csv", claims_table(panels).to_csv(index=False).encode())
    costs = cost_lines(list(found.values()))
    if as_json:
        print_json({"paper": paper, "scale": scale, "figures": reports, "costs": costs})
    else:
        print("\n".join(["", *costs]))
    if failures:
        raise SsdgymError(
            f"{len(failures)} runs failed, the first {failures[0]}; the same command tries them again and "
            "repeats nothing else"
        )


def _run(
    runs: Sequence[RunSpec], folder: Path, workers: int, *, quiet: bool
) -> tuple[dict[str, Result], list[Failure]]:
    """Run what is not in the folder yet; runs that several figures share are made once."""
    from ssdgym.experiments.runs.grid import Grid

    # One after the other those that play the same requests, which are drawn once for them.
    ordered = sorted(runs, key=lambda run: (repr(run.workload), run.seed))
    different = {repr(run): run for run in ordered}
    report = run_stored(Grid.of(list(different.values())), folder, workers, quiet=quiet)
    failed = {repr(failure.run) for failure in report.failures}
    finished = [name for name in different if name not in failed]
    return dict(zip(finished, report.results, strict=True)), report.failures


def _report(
    figure: FigureConfig,
    scale: tuple[str, ScaleConfig],
    samples: Sequence[Sample],
    folder: Path,
    *,
    quiet: bool,
) -> tuple[dict[str, Any], list[tuple[FigureConfig, str, list[CheckedClaim]]]]:
    """Write a figure's results, tables, picture and claims, print them; return them for JSON, and the claims.

    The intervals of the tables stand in the Markdown file; a terminal is too narrow for them.
    """
    from ssdgym.experiments.papers.checks import check_claims
    from ssdgym.experiments.papers.report import (
        assumed_lines,
        claim_lines,
        claims_table,
        diagrams_of,
        draw,
        markdown,
        paths_of,
        played_lines,
        table_of,
        written_lines,
    )
    from ssdgym.experiments.runs.grid import write_grid
    from ssdgym.files import writable_folder, write_bytes

    folder /= f"figure{figure.figure}"
    results = [sample.result for sample in samples]
    diagrams = diagrams_of(figure, samples)
    panels = [(diagram, check_claims(figure, diagram.panel, samples, scale[0])) for diagram in diagrams]
    writable_folder(folder)
    text_path, picture_path = paths_of(figure, folder)
    write_grid(results, folder)
    write_bytes(text_path, markdown(figure, scale, panels, samples).encode())
    draw(figure, diagrams, picture_path)
    files = [str(text_path), str(picture_path), str(folder / "results.csv")]
    if not quiet:
        print(f"\n{figure.paper}, figure {figure.figure}: {figure.title}")
        for diagram, checked in panels:
            console().print(table_of(figure, diagram, notes=False).to_rich())
            print("\n".join(claim_lines(figure.number_of(diagram.panel), checked)))
        shares = written_lines(samples) if figure.least_writes is not None else []
        print("\n".join(["", *shares, *played_lines(results), *assumed_lines(results), *files]))
    numbered = [(figure, figure.number_of(diagram.panel), checked) for diagram, checked in panels]
    table = claims_table(numbered)
    write_bytes(folder / "claims.csv", table.to_csv(index=False).encode())
    claims = table.astype(object).where(table.notna(), None).to_dict("records")
    return {"figure": figure.figure, "claims": claims, "files": files}, numbered
