"""``ssdgym reproduce``: a paper's figures again, and what it said beside what is measured here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.cli.console import console, print_json, progress_note
from ssdgym.cli.evaluate import run_stored, runner_of
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from rich.table import Table

    from ssdgym.config.reproduce import FigureConfig
    from ssdgym.experiments.evaluate import Cell
    from ssdgym.experiments.paper_report import Bars
    from ssdgym.experiments.results import Result


def reproduce(
    paper: Annotated[str, typer.Argument(help="Name of the paper, for example block-size.")],
    figure: Annotated[str | None, typer.Option(help="Only the figure of this number.")] = None,
    scale: Annotated[
        Literal["smoke", "small", "paper"], typer.Option(help="How much of the experiment is run.")
    ] = "small",
    traces: Annotated[
        Path | None,
        typer.Option(help="Folder of real traces, played where one has the right name; default: stand-ins."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output folder; default: results/reproduce/PAPER/SCALE."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Regenerate a paper's figures and print, claim by claim, what it said and what is measured here.

    A claim that does not hold here is printed as not holding. Nothing is tuned to make one hold. Finished
    runs are kept: the same command goes on where it was interrupted.

    Examples:

        ssdgym reproduce block-size --figure 3 --scale small

        ssdgym reproduce block-size --scale paper --traces my-traces --workers 8
    """
    from ssdgym.experiments.reproduce import cells_of, figures, scale_of

    chosen = [(one, scale_of(one, scale)) for one in figures(paper, figure)]
    folder = out or Path("results/reproduce") / paper / scale
    reports = []
    for one, amount in chosen:
        progress_note(f"{paper}, figure {one.figure}: {one.title}", quiet=as_json)
        cells = cells_of(one, amount, traces)
        own = folder / f"figure{one.figure}"
        results = _results(cells, own, workers, quiet=as_json)
        reports.append(_report(one, scale, results, own, quiet=as_json))
    if as_json:
        print_json({"paper": paper, "scale": scale, "figures": reports})


def _results(cells: list[Cell], folder: Path, workers: int, *, quiet: bool) -> list[Result]:
    """Run what is not in the folder yet.

    Raises:
        SsdgymError: a cell failed; the others are kept.
    """
    from ssdgym.experiments.grid import Grid, write_grid
    from ssdgym.experiments.store import Store

    grid = Grid.of(cells)
    with Store(folder) as store:
        found = run_stored(grid, store, folder, runner_of(workers, None), quiet=quiet)
    if found.failures:
        raise SsdgymError(
            f"{len(found.failures)} of {len(cells)} cells failed, the first {found.failures[0]}; the same "
            "command tries them again and repeats nothing else"
        )
    write_grid(found.results, folder)
    return found.results


def _report(
    figure: FigureConfig, scale: str, results: list[Result], folder: Path, *, quiet: bool
) -> dict[str, Any]:
    """Write a figure's table, picture and claims, print them, and return them for JSON.

    The intervals of the table stand in the Markdown file; a terminal is too narrow for them.
    """
    from ssdgym.experiments.claims import check_claims
    from ssdgym.experiments.paper_report import assumed_lines, bars_of, claim_lines, draw, markdown, paths_of
    from ssdgym.files import write_bytes

    findings, bars = check_claims(figure, results), bars_of(figure, results)
    text_path, picture_path = paths_of(figure, folder)
    text = markdown(figure, scale, bars, findings, results).encode()
    write_bytes(text_path, text)
    draw(figure, bars, picture_path)
    files = [str(text_path), str(picture_path), str(folder / "results.csv")]
    if not quiet:
        console().print(_table(figure, bars))
        for line in [*assumed_lines(results), *claim_lines(figure, findings), "", *files]:
            print(line)
    claims = [finding.as_dict() for finding in findings]
    return {"figure": figure.figure, "claims": claims, "files": files}


def _table(figure: FigureConfig, bars: Bars) -> Table:
    from rich import box
    from rich.table import Table

    relative = "" if figure.normalise_to is None else f", relative to {figure.normalise_to}"
    table = Table("trace", title=f"{figure.metric} ({figure.unit}){relative}", box=box.SIMPLE_HEAD)
    for name in bars.series:
        table.add_column(name, justify="right")
    for workload in bars.workloads:
        values = (bars.estimates[name, workload].value for name in bars.series)
        table.add_row(workload, *(f"{value:.3f}" for value in values))
    return table
