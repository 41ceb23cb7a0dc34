"""What commands print: results and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

#: What a table needs to keep its numbers on one line; used where there is no terminal to ask.
PLAIN_WIDTH = 120


def print_json(data: Any) -> None:
    """Print one JSON document; numbers that JSON does not have are an error, not ``NaN``."""
    print(json.dumps(data, indent=2, allow_nan=False))


def console() -> Console:
    """A rich console on stdout that does not fold tables into 80 columns where nobody reads along."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)


@contextmanager
def progress_bar(unit: str, *, quiet: bool) -> Iterator[Progress]:
    """A bar on stderr with rate and remaining time, absent when ``quiet`` or when stderr is no terminal.

    Args:
        unit: what is counted, in the plural.
        quiet: whether the output is for a machine.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    hidden = quiet or not sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), disable=hidden, transient=True) as bar:
        bar.add_task(unit, total=None, rate="")
        yield bar


def advance_to(bar: Progress, done: int, total: int | None) -> None:
    """Move the bar of :func:`progress_bar` to ``done`` of ``total`` and refresh its rate."""
    task = bar.tasks[0]
    rate = f"{task.speed:,.1f} {task.description}/s" if task.speed else ""
    bar.update(task.id, completed=done, total=total, rate=rate)


def compile_note(*, quiet: bool) -> None:
    """Say why the first run takes long, where the compiled engine is not in the cache yet."""
    from ssdgym.engine.core.kernel import compile_cache_folder

    if not any(compile_cache_folder().rglob("*.nbc")):
        progress_note("compiling the engine, once for this version: about a minute", quiet=quiet)


def progress_note(text: str, *, quiet: bool) -> None:
    """Say on stderr what comes next, unless the output is for a machine."""
    if not quiet:
        print(text, file=sys.stderr)
