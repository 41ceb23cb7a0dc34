"""Draw the table of a page on a paper: claimed numbers beside measured numbers with intervals.

`python claims.py docs/reproductions/ippbe.md --out ippbe.svg` draws the table under
`<!-- drawn: X -->`, where X labels the axis. It runs no simulation: the picture has the numbers of the page.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from ssdgym.experiments.report.style import color_of, legend_below, marker_of, save_figure, styled

MARK = re.compile(r"^<!-- drawn: (.+) -->\n\n<!-- (\S+) -->$", re.MULTILINE)
NUMBER = re.compile(r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?")


class Point(NamedTuple):
    """A cell of the table: its row, its value, and its interval, which may have length 0."""

    row: int
    value: float
    low: float
    high: float


class Table(NamedTuple):
    """The content of the picture: the label of the axis, the names of the rows, the points of each column."""

    label: str
    rows: list[str]
    columns: dict[str, list[Point]]


def read(page: Path) -> Table:
    """Return the table that a page marks; columns without numbers are left out.

    Args:
        page: a page with the mark, an empty line and the marker of the table.
    """
    mark = MARK.search(page.read_text(encoding="utf-8"))
    assert mark is not None, f"{page}: no line <!-- drawn: ... --> above a table"
    table = (page.parent / mark[2]).read_text(encoding="utf-8").replace("`", "").replace("*", "")
    head, *body = csv.reader(table.splitlines())
    columns = {name: list(_points([row[index] for row in body])) for index, name in enumerate(head) if index}
    found = {name: points for name, points in columns.items() if points}
    return Table(mark[1], [row[0] for row in body], found)


def _points(cells: list[str]) -> Iterator[Point]:
    for row, cell in enumerate(cells):
        if NUMBER.match(cell):
            value, *interval = [float(number.replace(",", "")) for number in NUMBER.findall(cell)[:3]]
            low, high = interval if "[" in cell else (value, value)
            yield Point(row, value, low, high)


def draw(table: Table, path: Path) -> Path:
    """Draw each column as points, the claimed one first and hollow; return the path.

    Args:
        table: the result of `read`.
        path: file of the picture.
    """
    count = len(table.columns)
    with styled():
        figure = Figure(figsize=(8, 0.9 + (0.12 + 0.09 * count) * len(table.rows)), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(0, color="black", linewidth=0.8)
        for index, (name, points) in enumerate(table.columns.items()):
            rows, values, lows, highs = zip(*points, strict=True)
            at = [row + 0.7 * (index + 0.5) / count - 0.35 for row in rows]
            errors = [
                [value - low for value, low in zip(values, lows, strict=True)],
                [high - value for value, high in zip(values, highs, strict=True)],
            ]
            axes.errorbar(
                values,
                at,
                xerr=errors,
                fmt=marker_of(index),
                color="black" if index == 0 else color_of(index - 1),
                markerfacecolor="none" if index == 0 else None,
                markersize=5,
                label=name,
            )
        for row in range(1, len(table.rows)):
            axes.axhline(row - 0.5, color="black", linewidth=0.4, alpha=0.3)
        axes.set_yticks(range(len(table.rows)), table.rows)
        axes.set_ylim(len(table.rows) - 0.5, -0.5)
        axes.set_xlabel(table.label)
        axes.grid(axis="x")
        legend_below(figure, axes, columns=6)
        return save_figure(figure, path)


def main() -> None:
    """Draw the table of a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--out", type=Path, default=Path("claims.svg"))
    chosen = parser.parse_args()
    print(draw(read(chosen.page), chosen.out))


if __name__ == "__main__":
    main()
