"""Print results and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

#: What a table needs to keep its numbers on one line; used where there is no terminal.
PLAIN_WIDTH = 120


class Advance(Protocol):
    """The type of a function that moves a progress bar."""

    def __call__(self, done: float, total: float | None, rate: str | None = None) -> None:
        """Show that so much is done of so much, and a text in place of the rate."""


def print_json(data: Any) -> None:
    """Print one JSON document; numbers that JSON does not have are an error, not `NaN`."""
    print(json.dumps(data, indent=2, allow_nan=False))


def console(plain_width: int = PLAIN_WIDTH) -> Console:
    """Return a console on stdout that does not fold tables into 80 columns where there is no terminal.

    It prints texts as they are: square brackets in the names of users are no markup.
    """
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else plain_width, markup=False, emoji=False)


def print_table(left: Sequence[str], right: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print a table, its columns with words before those with numbers."""
    console().print(table_of(left, right, rows))


def table_of(left: Sequence[str], right: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return the table that `print_table` prints."""
    from rich import box
    from rich.table import Table

    table = Table(*left, box=box.SIMPLE_HEAD)
    for heading in right:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def print_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a table of values by heading, numbers last; the first column, a name, is never broken."""
    found = list(rows)
    numbers = {key for row in found for key, value in row.items() if isinstance(value, int | float)}
    left, right = ([key for key in found[0] if (key in numbers) == last] for last in (False, True))
    texts = ([_text(row.get(key)) for key in (*left, *right)] for row in found)
    table = table_of(left, right, texts)
    table.columns[0].no_wrap = True
    console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return "" if value is None else str(value)


@contextmanager
def progress_bar(unit: str, *, quiet: bool) -> Iterator[Advance]:
    """Show a bar on stderr with rate and remaining time inside, unless stderr is no terminal.

    Args:
        unit: what is counted, in the plural.
        quiet: whether the output is for a machine; there is no bar then, either.

    Yields:
        What moves the bar, called with how much is done, of how much, and a text in place of the rate.
    """
    from rich import progress
    from rich.console import Console

    columns = (
        *(progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn()),
        *(progress.TextColumn("{task.fields[rate]}"), progress.TimeElapsedColumn()),
        *(progress.TextColumn("left"), progress.TimeRemainingColumn()),
    )
    hidden = quiet or not sys.stderr.isatty()
    with progress.Progress(*columns, console=Console(stderr=True), disable=hidden, transient=True) as bar:
        bar.add_task(unit, total=None, rate="")

        def advance(done: float, total: float | None, rate: str | None = None) -> None:
            task = bar.tasks[0]
            if rate is None:
                rate = f"{task.speed:,.1f} {unit}/s" if task.speed else ""
            bar.update(task.id, completed=done, total=total, rate=rate)

        yield advance


def compile_note(*, quiet: bool) -> None:
    """Let the engine say that it compiles or preconditions, unless the output is for a machine."""
    from ssdgym.engine.compiler import cache
    from ssdgym.simulator import preconditioning

    if quiet:
        cache.say = preconditioning.say = None


def progress_note(text: str, *, quiet: bool) -> None:
    """Print a note on stderr."""
    if not quiet:
        print(text, file=sys.stderr)
