"""``ssdgym bench``: how fast the engine and the environments are on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from ssdgym.cli.console import console, print_json, progress_note
from ssdgym.cli.options import AsJson


def bench(
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each measurement; the median counts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure host writes/s, requests/s, decisions/s, compile time and warm start.

    Each rate stands beside an in-process yardstick, a kernel that does the same memory touches and nothing
    else, so that ratios can be compared between machines.

    Examples:

        ssdgym bench

        ssdgym bench --repeats 9 --json
    """
    from rich import box
    from rich.table import Table

    from ssdgym.experiments.bench import measure_all

    measurements = measure_all(repeats, lambda name: progress_note(f"measuring {name}", quiet=as_json))
    if as_json:
        print_json([vars(measurement) for measurement in measurements])
        return
    table = Table("measurement", box=box.SIMPLE_HEAD)
    for heading in ("value", "unit", "yardstick", "share", "expected"):
        table.add_column(heading, justify="right")
    for item in measurements:
        table.add_row(item.name, f"{item.value:,.2f}", item.unit, *item.comparison())
    console().print(table)
