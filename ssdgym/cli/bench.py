"""`ssdgym bench`: how fast the engine and the environments are on this machine."""

from __future__ import annotations

from functools import partial
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import compile_note, print_json, print_table, progress_note
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    import pandas as pd

#: Around the table in a page.
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
HEADINGS = ("measurement", "median", "low", "high", "share of yardstick")


def bench(
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each measurement; the median counts.")] = 5,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Measure the cold compile and the warm start, too.")
    ] = True,
    update: Annotated[
        list[Path] | None,
        typer.Option(help="Markdown page with the marks of a bench that gets the table; repeat."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="REV", help="Measure this git revision in turns with the sources that run."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure host writes/s, requests/s, decisions/s, lines/s of traces, cold compile and warm start.

    Each rate stands beside a yardstick, a kernel that only touches memory: its share of the yardstick can be
    compared between machines. With --against, what was slower in every turn is red.

    Examples:

        ssdgym bench

        ssdgym bench --no-start --repeats 9 --json

        ssdgym bench --update docs/performance.md

        ssdgym bench --against main --no-start
    """
    from ssdgym.bench import measure_against, measure_all

    def announce(name: str) -> None:
        progress_note(f"measuring {name}", quiet=as_json)

    if against and update:
        raise SsdgymError("--against and --update are two tables; give one of them.")
    compile_note(quiet=as_json)
    measure = partial(measure_against, against) if against else measure_all
    found = measure(repeats, start=start, announce=announce)
    if as_json:
        print_json(found.astype(object).where(found.notna(), None).to_dict("records"))
    elif against:
        _print_comparison(found, against)
    else:
        print_table([HEADINGS[0]], HEADINGS[1:], table_rows(found))
    for page in update or ():
        write_table(page, found)
        progress_note(str(page), quiet=as_json)


def table_rows(found: pd.DataFrame) -> list[list[str]]:
    """Return the rows of the table of measurements."""
    rows = []
    for item in found.itertuples():
        digits = 2 if item.unit == "s" else 3
        value, low, high = (_rounded(number, digits) for number in (item.median, item.low, item.high))
        share = "-" if item.share != item.share else _rounded(item.share, 2)
        rows.append([item.name, f"{value} {item.unit}", low, high, share])
    return rows


def write_table(page: Path, found: pd.DataFrame) -> Path:
    """Replace what a Markdown page has between `BEGIN` and `END` by the table of measurements."""
    from ssdgym.files import write_between

    rows = [HEADINGS, ("---", *("---:" for _ in HEADINGS[1:])), *table_rows(found)]
    return write_between(page, BEGIN, END, "".join(f"| {' | '.join(row)} |\n" for row in rows))


def _print_comparison(found: pd.DataFrame, revision: str) -> None:
    from rich.text import Text

    rows: list[list[str | Text]] = []
    for item in found.itertuples():
        values = [_rounded(number, 3) for number in (item.other, item.own)]
        ratios = [f"{ratio:.3f}" for ratio in (item.median, item.low, item.high)]
        style = "red" if item.slower else ""
        rows.append([f"{item.name}, {item.unit}", *(Text(text, style) for text in (*values, *ratios))])
    print_table(["measurement"], [revision, "here", "here / revision", "low", "high"], rows)


def _rounded(number: float, digits: int) -> str:
    """Return a number with so many significant digits, and without an exponent."""
    decimals = digits - 1 - floor(log10(number)) if number else 0
    return f"{round(number, decimals):,.{max(decimals, 0)}f}"
