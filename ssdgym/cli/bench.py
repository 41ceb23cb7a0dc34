"""`ssdgym bench`: how fast the engine and the environments are on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import compile_note, print_json, print_table, progress_note
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from rich.text import Text

    from ssdgym.bench.against import Comparison
    from ssdgym.bench.measurement import Measurement, Spread
    from ssdgym.bench.policies import Rate


def bench(
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each measurement; the median counts.")] = 5,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Measure the cold compile and the warm start, too.")
    ] = True,
    policies: Annotated[
        bool, typer.Option("--policies", help="Measure the rates under several policies instead.")
    ] = False,
    families: Annotated[
        bool, typer.Option("--families", help="Measure the rates of the FTL families instead.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="With --policies: which; repeat for more. Default: SpeedupGC's."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            "-d",
            help="With --policies or --families: on which device.",
        ),
    ] = None,
    host_pages: Annotated[
        int | None,
        typer.Option(min=1, help="With --policies: pages written in each repeat. Default: 500,000."),
    ] = None,
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
    """Measure host writes/s, requests/s, decisions/s, cold compile and warm start; or policies, or families.

    Each rate stands beside an in-process yardstick, a kernel that only touches the same memory, so that the
    ratio of the two can be compared between machines. With --against, what was slower in every turn is red.
    With --policies the yardstick is the baseline (greedy on whole blocks) on the same device, in turns with
    each policy. With --families it is the page-mapping FTL on the same flash, and rates are of flash
    operations.

    Examples:

        ssdgym bench

        ssdgym bench --no-start --repeats 9 --json

        ssdgym bench --update docs/performance.md

        ssdgym bench --against main --no-start

        ssdgym bench --policies

        ssdgym bench --families

        ssdgym bench --policies --device speedupgc-64l-small --policy speedupgc --policy greedy+sep_gc
    """

    def announce(name: str) -> None:
        progress_note(f"measuring {name}", quiet=as_json)

    if policies and families:
        raise SsdgymError("--policies and --families are measured apart; give one of them.")
    if against and (policies or families or update):
        raise SsdgymError("--against measures what `ssdgym bench` does alone; leave the other options out.")
    if update and (policies or families):
        raise SsdgymError("--update is for what `ssdgym bench` measures alone; leave it out.")
    for option, value in (("--policy", policy), ("--host-pages", host_pages)):
        if value and not policies:
            raise SsdgymError(f"{option} is for measuring policies; add --policies or leave it out.")
    if device and not (policies or families):
        raise SsdgymError("--device is for policies and families; add --policies or --families.")
    compile_note(quiet=as_json)
    if policies or families:
        from ssdgym.bench.policies import DEVICE, HOST_PAGES, POLICIES, measure_families, measure_policies

        if policies:
            rates = measure_policies(
                policy or POLICIES,
                device=device or DEVICE,
                repeats=repeats,
                host_pages=host_pages or HOST_PAGES,
                announce=announce,
            )
            words = ("policy", "host pages/s", "baseline")
        else:
            rates = measure_families(repeats, announce, device=device)
            words = ("FTL", "flash operations/s", "page")
        print_json([rate.as_dict() for rate in rates]) if as_json else _print_rates(rates, *words)
        return
    if against:
        from ssdgym.bench.against import measure_against

        compared = measure_against(against, repeats, start=start, announce=announce)
        print_json([item.as_dict() for item in compared]) if as_json else _print_comparisons(compared)
        return
    from ssdgym.bench.engine import measure_all
    from ssdgym.bench.measurement import write_table

    found = measure_all(repeats, start=start, announce=announce)
    if as_json:
        print_json([measurement.as_dict() for measurement in found])
    else:
        _print_measurements(found)
    for page in update or ():
        write_table(page, found)
        progress_note(str(page), quiet=as_json)


def _print_measurements(found: Sequence[Measurement]) -> None:
    print_table(
        ["measurement"],
        ["median", "low", "high", "expected", "", "yardstick", "ratio"],
        (_measurement_row(item) for item in found),
    )


def _measurement_row(item: Measurement) -> list[str | Text]:
    from rich.text import Text

    digits = 2 if item.unit == "s" else 0
    return [
        item.name,
        f"{item.value:,.{digits}f} {item.unit}",
        f"{item.low:,.{digits}f}",
        f"{item.high:,.{digits}f}",
        "" if item.expected is None else f"{item.expected:,.{digits}f}",
        {True: Text("reached", "green"), False: Text("missed", "yellow"), None: Text()}[item.reached],
        "" if item.yardstick is None else f"{item.yardstick:,.0f}",
        "" if item.ratio is None else f"{item.ratio:.2g}",
    ]


def _print_comparisons(found: Sequence[Comparison]) -> None:
    from rich.text import Text

    rows: list[list[str | Text]] = []
    for item in found:
        digits = ",.2f" if item.unit == "s" else ",.0f"
        spreads = (*_spread(item.other, digits), *_spread(item.own, digits), *_spread(item.ratio, ".3f"))
        style = "red" if item.is_slower else ""
        rows.append([f"{item.name}, {item.unit}", *(Text(text, style) for text in spreads)])
    headings = ["revision", "low to high", "here", "low to high", "here / revision", "low to high"]
    print_table(["measurement"], headings, rows)


#: How facts of the work that was measured are headed and written.
_WORK = {
    "write_amplification": ("WA", ".3f"),
    "gc_invocations": ("GC rounds", ","),
    "operations_per_request": ("operations per request", ".2f"),
}


def _print_rates(found: Sequence[Rate], what: str, unit: str, reference: str) -> None:
    rows = (
        [
            item.name,
            item.timing,
            *_spread(item.rate, ",.0f"),
            *_spread(item.ratio, ".3f"),
            *(f"{value:{_WORK[fact][1]}}" for fact, value in item.work.items()),
        ]
        for item in found
    )
    facts = (_WORK[fact][0] for fact in found[0].work)
    print_table([what, "timing"], [unit, "low to high", f"of {reference}'s", "low to high", *facts], rows)


def _spread(spread: Spread, digits: str) -> tuple[str, str]:
    """Return the median, and the smallest and largest."""
    return f"{spread.median:{digits}}", f"{spread.low:{digits}} to {spread.high:{digits}}"
