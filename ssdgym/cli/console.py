"""Print results or JSON on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

#: Exit code of a command that reports a failed check, run or trial, or a result that does not reproduce.
FAILED = 1
#: Width of the output, in columns, if there is no terminal; most rows of tables then fit on one line.
WIDTH = 120


#: Output format of the running command.
_format = {"json": False}


def print_json(wanted: bool) -> None:
    """Set whether `show` prints JSON (`wanted`) or tables and lines."""
    _format["json"] = wanted


def show(data: Any, parts: Iterable[Any], width: int = WIDTH) -> None:
    """Print the results of a command.

    Args:
        data: results to print with `--json`, as one document; NaN and infinite numbers are an error.
        parts: tables of rich, and lines of text, to print without `--json`.
        width: width of the output in columns if there is no terminal.
    """
    if _format["json"]:
        print(json.dumps(data, indent=2, allow_nan=False))
        return
    from rich.console import Console

    # Square brackets in users' names must not be read as markup.
    console = Console(width=None if sys.stdout.isatty() else width, markup=False, emoji=False)
    for part in parts:
        if hasattr(part, "__rich_console__"):
            console.print(part)
        else:
            print(part)


def table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table with a column per key, columns of numbers last; the first column is never wrapped."""
    from rich import box
    from rich.table import Table

    found = list(rows)
    numbers = {key for row in found for key, value in row.items() if isinstance(value, int | float)}
    made = Table(box=box.SIMPLE_HEAD)
    headings = sorted(found[0], key=numbers.__contains__)
    for number, key in enumerate(headings):
        made.add_column(key, justify="right" if key in numbers else "left", no_wrap=number == 0)
    for row in found:
        made.add_row(*(_text(row.get(key)) for key in headings))
    return made


def facts(data: Mapping[str, Any], before: str = "") -> Iterator[dict[str, Any]]:
    """Yield a row per value of nested mappings, named by its keys; skip empty values and tables."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from facts(value, f"{before}{key} ")
        elif value not in (None, "", [], ()) and not (isinstance(value, list) and isinstance(value[0], dict)):
            yield {"name": f"{before}{key}", "value": _text(value)}


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.{'0f' if value >= 1e5 else '6g'}}"
    return "" if value is None else str(value)


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[float, float | None], None]]:
    """Show a progress bar on stderr, with rate and remaining time, if stderr is a terminal.

    Yield a function to call with the amount done and the total (None if unknown). `unit` is a plural noun.
    """
    from rich import progress
    from rich.console import Console

    columns: list[Any] = ["{task.description}", progress.BarColumn(), progress.MofNCompleteColumn()]
    columns += ["{task.fields[rate]}", progress.TimeElapsedColumn(), "elapsed,"]
    columns += [progress.TimeRemainingColumn(), "left"]
    hidden = not sys.stderr.isatty()
    with progress.Progress(*columns, console=Console(stderr=True), disable=hidden, transient=True) as bar:
        bar.add_task(unit, total=None, rate="", visible=False)  # the first call shows it
        (task,) = bar.tasks

        def advance(done: float, total: float | None) -> None:
            rate = f"{task.speed:,.1f} {unit}/s" if task.speed else ""
            bar.update(task.id, completed=done, total=total, rate=rate, visible=True)

        yield advance


def note(text: object) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr)
