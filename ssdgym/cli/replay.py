"""Commands that repeat stored results, and report on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import compile_note, print_json, print_rows, print_table, progress_bar, progress_note
from ssdgym.cli.options import AsJson, Trust
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.runs.replay import Replay


#: Exit code where a result does not reproduce.
DIFFERENT = 1
_SHOWN = ("policy", "workload", "device", "ftl", "seed")

#: How many results are drawn where none is named.
_SAMPLE = 10


def replay(
    results: Annotated[
        Path,
        typer.Argument(help="File of results (.parquet or .csv), or a folder with one.", show_default=False),
    ],
    row: Annotated[int | None, typer.Option(min=1, help="One result by its number; the first is 1.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE,...", help="The result that has these values; repeat for more."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help=f"How many results, drawn at random. Default: {_SAMPLE}.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Run one result or a sample of them again from their own rows, and compare every metric exactly.

    Exits with 1, and prints the differences, where one of them does not reproduce.

    Examples:

        ssdgym replay results/classic

        ssdgym replay results/classic --where policy=greedy,workload=zipf99,seed=100

        ssdgym replay results/classic/results.csv --row 12
    """
    from ssdgym.experiments.results import find_results, read_results
    from ssdgym.experiments.runs.replay import choose
    from ssdgym.experiments.runs.replay import replay as replay_rows
    from ssdgym.experiments.runs.replay import sample as draw

    path = find_results(results)
    stored = read_results(path)
    if not stored:
        raise SsdgymError(f"{path}: holds no results; evaluate some first")
    is_one = row is not None or bool(where)
    if is_one and sample is not None:
        raise SsdgymError("--sample draws results, and --row and --where name one: give one of the three")
    rows = [choose(stored, row, where or (), str(path))] if is_one else draw(stored, sample or _SAMPLE, seed)
    compile_note(quiet=as_json)
    with progress_bar("runs", quiet=as_json) as advance:
        advance(0, len(rows))
        found = replay_rows(stored, rows, str(path), workers, advance, trust=trust)
    if is_one and found[0].error is not None:
        raise found[0].error
    reproduce = sum(one.reproduces for one in found)
    if as_json:
        print_json({"file": str(path), "replayed": [_as_dict(one) for one in found]})
    else:
        heads = {name: name for name in _SHOWN} | {"ftl": "FTL"}
        print_rows(
            {
                "row": str(one.row),
                **{head: str(getattr(one.stored, name)) for name, head in heads.items()},
                "verdict": _outcome(one),
            }
            for one in found
        )
        if is_one and found[0].differences:
            columns = ((one.column, one.stored, one.measured) for one in found[0].differences)
            print_table(
                ["column"], ["stored", "replayed"], ([_text(text) for text in row] for row in columns)
            )
        print(f"{reproduce} of {len(found)} results reproduce, out of {len(stored)} in {path}")
    for other in dict.fromkeys(other for one in found for other in one.other_code) if not as_json else ():
        name = {"version": "ssdgym", "engine_hash": "engine"}[other.column]
        note = f"note: stored by {name} {other.stored}, replayed by {name} {other.measured}"
        progress_note(note, quiet=False)
    if reproduce < len(found):
        raise typer.Exit(DIFFERENT)


def _outcome(found: Replay) -> str:
    if found.reproduces:
        return "reproduces"
    if found.error is not None:
        return f"cannot be run: {found.error}"
    first = found.differences[0]
    values = f"{first.column} {_text(first.stored)}, now {_text(first.measured)}"
    return f"differs in {len(found.differences)}: {values}"


def _text(value: Any) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _as_dict(found: Replay) -> dict[str, Any]:
    stored = found.stored
    return {
        "row": found.row,
        **{name: getattr(stored, name) for name in ("device", "ftl", "workload", "policy", "seed")},
        "reproduces": found.reproduces,
        "error": None if found.error is None else str(found.error),
        "differences": [vars(one) for one in found.differences],
        "other_code": [vars(one) for one in found.other_code],
    }


REPORT = "report.html"


def report(
    results: Annotated[Path, typer.Argument(help="Folder that evaluate wrote, or a file of results in it.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML file. Default: report.html beside the results.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Policy that the others are compared with. Default: the best.")
    ] = None,
    learned: Annotated[
        list[str] | None,
        typer.Option(help="Policy to single out as learned; repeat for more. Default: those with an agent."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Folder for every figure as PNG, SVG and PDF and the tables as Markdown and LaTeX."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report that opens from disk: tables, figures and the configuration.

    Examples:

        ssdgym report results/evaluate

        ssdgym report results/evaluate --figures paper/figures
    """
    from ssdgym.experiments.report.files import learned_of, write_figures, write_html_report, write_tables
    from ssdgym.experiments.results import find_results, read_results
    from ssdgym.files import writable_folder

    file = find_results(results)
    found = read_results(file)
    path = out or file.with_name(REPORT)
    if path.suffix != ".html":
        raise SsdgymError(f"{path}: the report is an HTML file; give --out a name that ends in .html")
    writable_folder(path.parent)
    paths = [write_html_report(found, path, results, learned, reference)]
    if figures is not None:
        singled_out = learned_of(found) if learned is None else learned
        writable_folder(figures)
        paths += write_tables(found, figures, singled_out)
        paths += write_figures(found, figures, singled_out)
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        print(path)
