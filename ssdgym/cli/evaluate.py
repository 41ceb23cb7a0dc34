"""``ssdgym evaluate``: a grid of policies and agents, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import advance_to, compile_note, console, print_json, progress_bar
from ssdgym.cli.options import (
    AsJson,
    Ftl,
    Out,
    Preconditioning,
    closed_loop,
    parse_ftl,
    parse_seeds,
)
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.evaluate import Cell
    from ssdgym.experiments.results import Result


def evaluate(
    device: Annotated[
        list[str] | None, typer.Option("--device", "-d", help="Device; repeat for more. Default: demo.")
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", "-w", help="Workload or trace; repeat for more. Default: zipf99, hot90."),
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="Policy; repeat for more. Default: all six.")
    ] = None,
    agent: Annotated[
        list[Path] | None, typer.Option("--agent", "-a", help="File of a trained agent; repeat for more.")
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds: 5, or 1,2,9, or 100-109.")] = "1000-1004",
    host_pages: Annotated[int, typer.Option(min=1, help="Host pages per run.")] = 500_000,
    settle: Annotated[int, typer.Option(min=0, help="Host pages before them, not measured.")] = 50_000,
    ftl: Ftl = None,
    preconditioning: Preconditioning = "workload",
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    out: Out = Path("results/evaluate"),
    as_json: AsJson = False,
) -> None:
    """Run every policy and agent on every device, workload and seed; print a table with 95 % intervals.

    Writes results.parquet, results.csv, a Markdown table and figures into the output folder.

    Examples:

        ssdgym evaluate --workload zipf99 --workload hot90 --seeds 100-109

        ssdgym evaluate --agent runs/demo/agent.zip --policy greedy --policy cost_benefit

        ssdgym evaluate --device ippbe-mlc --ftl placement=sep_gc --ftl gc.free_blocks=8 --json
    """
    from ssdgym.config.workload import load_workload
    from ssdgym.experiments.demo import HEURISTICS
    from ssdgym.experiments.evaluate import Cell
    from ssdgym.files import writable_folder

    for option, names in (("--device", device), ("--workload", workload), ("--policy", policy)):
        if names and len(set(names)) < len(names):
            raise SsdgymError(f"{option}: names one of {', '.join(names)} twice; give each once")
    learned = agent_labels(agent or [])
    cells = [
        Cell(
            device=one_device,
            workload=one_workload,
            policy=name,
            seed=seed,
            ftl=closed_loop(parse_ftl(ftl), load_workload(one_workload)),
            host_pages=host_pages,
            settle=settle,
            preconditioning=preconditioning,
            agent=learned.get(name),
        )
        for one_device in device or ["demo"]
        for one_workload in workload or ["zipf99", "hot90"]
        for name in [*learned, *(policy or HEURISTICS)]
        for seed in parse_seeds(seeds)
    ]
    writable_folder(out)
    results = run_cells(cells, workers, quiet=as_json)
    report(results, list(learned), out, as_json=as_json)


def agent_labels(paths: Sequence[Path]) -> dict[str, Path]:
    """Names for agents in tables: the file's, with the folder's in front where the file's says nothing.

    Raises:
        SsdgymError: a file does not exist, or two would have the same name.
    """
    labels: dict[str, Path] = {}
    for path in paths:
        if not path.is_file():
            raise SsdgymError(f"{path}: there is no such agent; train one first or correct the path")
        stem = path.stem
        label = f"{path.resolve().parent.name}/{stem}" if stem.startswith("agent") else stem
        if label in labels:
            raise SsdgymError(f"{path}: {labels[label]} goes by the name {label}, too; rename one of them")
        labels[label] = path
    return labels


def run_cells(cells: Sequence[Cell], workers: int, *, quiet: bool) -> list[Result]:
    """Evaluate with a progress bar."""
    from ssdgym.experiments.evaluate import check_cells
    from ssdgym.experiments.evaluate import evaluate as evaluate_cells

    check_cells(cells)
    compile_note(quiet=quiet)
    with progress_bar("runs", quiet=quiet) as bar:
        advance_to(bar, 0, len(cells))
        return evaluate_cells(cells, workers, lambda done, total: advance_to(bar, done, total))


def report(results: Sequence[Result], learned: Sequence[str], out: Path, *, as_json: bool) -> None:
    """Write results, table and figures into ``out``; print the table, the verdicts and the paths."""
    from ssdgym.experiments.report import write_report
    from ssdgym.experiments.tables import rich_tables, verdicts

    paths = write_report(results, out, learned)
    sentences = verdicts(results, learned)
    if as_json:
        print_json(
            {
                "results": [result.as_dict() for result in results],
                "verdicts": sentences,
                "files": [str(path) for path in paths],
            }
        )
        return
    console().print(rich_tables(results, learned))
    for line in [*sentences, "", *map(str, paths)]:
        print(line)
