"""What a training run says while it runs: a bar with a rate, and a line for every evaluation."""

from __future__ import annotations

import csv
import io
from typing import IO, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

#: A row of the table of evaluations: `stage`, `decisions`, `return_mean` and the means of metrics.
Row = dict[str, Any]


class _Rate(ProgressColumn):
    """Decisions, or generations, per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s" if speed < 10 else f"{speed:,.0f}/s")


def training_bar(visible: bool) -> Progress:
    """Return a bar on stderr; where that is no terminal, only lines show.

    Args:
        visible: whether anything is to be shown.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True, soft_wrap=True),
        disable=not visible,
    )


def evaluation_line(row: Row, best: bool) -> str:
    """Return a line about an evaluation.

    Args:
        row: of the table of evaluations.
        best: whether the agent is the best so far.
    """
    amplification = row.get("write_amplification")
    shown = f", write amplification {amplification:.3f}" if amplification is not None else ""
    return (
        f"{row['stage']}, {row['decisions']:,} decisions: validation return {row['return_mean']:.4g}{shown}"
        + (" (best so far)" if best else "")
    )


def write_rows(file: IO[bytes], rows: list[Row]) -> None:
    """Write the table of evaluations as CSV.

    Args:
        file: to write to.
        rows: of the table; its columns are those of all rows.
    """
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, fieldnames=columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    file.write(text.getvalue().encode())
