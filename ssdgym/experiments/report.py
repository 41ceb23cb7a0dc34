"""Everything a set of results is turned into: data, a table, figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ssdgym.experiments.figures import latency_figure, write_amplification_figure
from ssdgym.experiments.results import Result, write_results
from ssdgym.experiments.tables import markdown_table, verdicts
from ssdgym.files import write_atomically


def write_report(results: Sequence[Result], folder: Path, learned: Sequence[str] = ()) -> list[Path]:
    """Write ``results.parquet``, ``results.csv``, ``results.md`` and the figures into ``folder``.

    Args:
        results: of a whole grid.
        folder: an existing one.
        learned: the policies that learned, which figures and verdicts single out.

    Returns:
        The paths, in the order in which a reader wants them.

    Raises:
        SsdgymError: the folder cannot be written.
    """
    parquet, table = write_results(results, folder / "results")
    markdown = folder / "results.md"
    text = "\n".join([markdown_table(results), *(f"- {line}" for line in verdicts(results, learned)), ""])
    write_atomically(markdown, lambda file: _write(file, text))
    figures = [write_amplification_figure(results, folder / "write_amplification.png", learned)]
    for operation in ("read", "write"):
        if any(result.measured(f"{operation}_latency_ns/p50") for result in results):
            path = folder / f"{operation}_latency.png"
            figures.append(latency_figure(results, path, operation, learned))
    return [table, parquet, markdown, *figures]


def _write(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8"))
