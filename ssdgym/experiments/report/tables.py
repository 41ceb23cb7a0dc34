"""A table of text and numbers, as the terminal, Markdown, LaTeX and HTML pages show it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich import box
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

#: More columns than any table has.
_ANY_WIDTH = 10_000
#: Where headings break: in two lines, or where the numbers of a cell have lines of their own.
_BREAK, _BREAK_ANYWHERE = re.compile(r" (?=mean|WAF|MiB|\[)"), re.compile(r" (?!%)(/ )?")
#: Between the numbers of a cell.
BETWEEN = " / "


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes:
        text: a word, a number as text, or a dash where nothing was measured.
        note: what stands behind it, such as an interval; empty without one.
        number: the number; `None` for a word and where nothing was measured.
    """

    text: str
    note: str = ""
    number: float | None = None

    @classmethod
    def of(cls, value: float, low: float | None, high: float | None, text: Callable[[float], str]) -> Entry:
        """Return a number with its interval in brackets; without limits, or with NaN for them, alone."""
        if low is None or high is None or math.isnan(low):
            return cls(text(value), number=value)
        return cls(text(value), f"[{text(low)}, {text(high)}]", value)

    def __str__(self) -> str:
        return f"{self.text} {self.note}".rstrip()


#: Stands where nothing was measured.
NOTHING = Entry("-")


@dataclass(frozen=True)
class Table:
    """A table; the first entry of a row names the row."""

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]

    def has_words(self, column: int) -> bool:
        """Return whether a column has no numbers."""
        return all(row[column].number is None for row in self.rows)

    def without_gaps(self, hidden: Collection[str] = ()) -> Table:
        """Return the table without hidden headings and columns in which nothing was measured."""
        shown = [
            number
            for number, heading in enumerate(self.headings)
            if heading not in hidden and any(row[number] != NOTHING for row in self.rows)
        ]
        return replace(
            self,
            headings=tuple(self.headings[number] for number in shown),
            rows=tuple(tuple(row[number] for number in shown) for row in self.rows),
        )

    def to_rich(self, bold: Collection[str] = ()) -> FittingTable:
        """Return the table for the terminal."""
        return FittingTable(self, bold)

    def to_markdown(self) -> list[str]:
        """Return the lines of the table as Markdown, without its title and caption."""
        rule = ["---" if self.has_words(number) else "---:" for number in range(len(self.headings))]
        return [_markdown_row(row) for row in (self.headings, rule, *(map(str, row) for row in self.rows))]

    def to_latex(self) -> list[str]:
        r"""Return the lines of a LaTeX `table`, which needs `\usepackage{booktabs}`."""
        columns = "".join("l" if self.has_words(number) else "r" for number in range(len(self.headings)))
        return [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{latex_escaped(f'{self.title}. {self.caption}')}}}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            "    " + _latex_row(self.headings),
            r"    \midrule",
            *("    " + _latex_row(map(str, row)) for row in self.rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]


@dataclass(frozen=True)
class FittingTable:
    """A table for the terminal: a line for each row or, where that is too wide, one for each number."""

    table: Table
    bold: Collection[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichTable]:
        wide = self._rich("/")
        fits = Measurement.get(console, options.update(width=_ANY_WIDTH), wide).maximum <= options.max_width
        yield wide if fits else self._rich("\n")

    def _rich(self, separator: str) -> RichTable:
        """Return a table with a separator between the numbers of a cell and between parts of headings."""
        table, is_wide = self.table, separator != "\n"
        found = RichTable(
            title=Text(table.title),
            title_justify="left",
            caption=Text(table.caption),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
        )
        words = (len(word) for row in table.rows for word in row[0].text.split())
        least = 0 if is_wide else max(words, default=0)
        for number, heading in enumerate(table.headings):
            broken = (_BREAK if is_wide else _BREAK_ANYWHERE).sub("\n", heading) if number else heading
            found.add_column(
                Text(broken.replace(BETWEEN, separator)),
                justify="left" if table.has_words(number) else "right",
                overflow="fold",
                no_wrap=is_wide and number == 0,
                min_width=0 if number else least,
            )
        for row in table.rows:
            cells = (Text(str(entry).replace(BETWEEN, separator)) for entry in row)
            found.add_row(*cells, style="bold" if row[0].text in self.bold else "")
        return found


def render(template: str, page: Mapping[str, Any]) -> str:
    """Return the text of a page."""
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(page)


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(markdown_escaped(" ".join(cell.split())) for cell in cells) + " |"


def markdown_escaped(text: str) -> str:
    """Return a text without HTML, columns and links, which names of others may hold."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("](", "]\\(")


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(latex_escaped, cells)) + r" \\"


_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "µ": r"$\mu$",
        # At the start of a row, a bracket would be an option of the line break before it.
        "[": "{[}",
        "]": "{]}",
    }
)


def latex_escaped(text: str) -> str:
    """Return a text with everything that LaTeX would take for a command written out."""
    return text.translate(_LATEX)
