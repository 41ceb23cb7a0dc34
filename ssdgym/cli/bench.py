"""``ssdgym bench``: how fast the engine and the environments are on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import compile_note, console, print_json, progress_note
from ssdgym.cli.options import AsJson

if TYPE_CHECKING:
    from ssdgym.experiments.bench import Measurement


def bench(
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each measurement; the median counts.")] = 5,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Measure the cold compile and the warm start, too.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Measure host writes/s, requests/s, decisions/s, cold compile and warm start.

    Each rate stands beside an in-process yardstick, a kernel that only touches the same memory, so that the
    ratio of the two can be compared between machines.

    Examples:

        ssdgym bench

        ssdgym bench --no-start --repeats 9 --json
    """
    from ssdgym.experiments.bench import measure_all

    compile_note(quiet=as_json)
    found = measure_all(
        repeats, start=start, announce=lambda name: progress_note(f"measuring {name}", quiet=as_json)
    )
    if as_json:
        print_json([measurement.as_dict() for measurement in found])
    else:
        _print_table(found)


def _print_table(found: Sequence[Measurement]) -> None:
    from rich import box
    from rich.table import Table

    table = Table("measurement", box=box.SIMPLE_HEAD)
    for heading in ("median", "low", "high", "expected", "", "yardstick", "ratio"):
        table.add_column(heading, justify="right")
    for item in found:
        digits = 2 if item.unit == "s" else 0
        table.add_row(
            item.name,
            f"{item.value:,.{digits}f} {item.unit}",
            f"{item.low:,.{digits}f}",
            f"{item.high:,.{digits}f}",
            "" if item.expected is None else f"{item.expected:,.{digits}f}",
            {True: "[green]reached[/]", False: "[yellow]missed[/]", None: ""}[item.reached],
            "" if item.yardstick is None else f"{item.yardstick:,.0f}",
            "" if item.ratio is None else f"{item.ratio:.2g}",
        )
    console().print(table)
