"""Tables of text and numbers for the terminal, Markdown, LaTeX and HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

#: Spaces at which a heading is broken into lines on the terminal: all except those before `%`.
_BREAK = re.compile(r" (?!%)")


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes:
        text: a word, a number as text, or a dash if nothing was measured.
        note: text after a number, such as its interval; may be empty.
        number: the number that `text` shows; `None` for a word or a dash.
    """

    text: str
    note: str = ""
    number: float | None = None

    @classmethod
    def of(cls, value: float, low: float | None, high: float | None, text: Callable[[float], str]) -> Entry:
        """Return an entry with a number and its interval in brackets, or without limits only the number."""
        if low is None or high is None or math.isnan(low):
            return cls(text(value), number=value)
        return cls(text(value), f"[{text(low)}, {text(high)}]", value)

    def __str__(self) -> str:
        return f"{self.text} {self.note}".rstrip()


#: The entry for a number that was not measured.
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
        """Return the table without the columns in `hidden` and without columns of dashes only."""
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

    def to_rich(self, bold: Collection[str] = ()) -> RichTable:
        """Return the table for the terminal; rows whose first entry is in `bold` are bold."""
        found = RichTable(
            title=Text(self.title),
            title_justify="left",
            caption=Text(self.caption),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
        )
        for number, heading in enumerate(self.headings):
            found.add_column(
                Text(_BREAK.sub("\n", heading)),
                justify="left" if self.has_words(number) else "right",
                overflow="fold",
            )
        for row in self.rows:
            found.add_row(*(Text(str(entry)) for entry in row), style="bold" if row[0].text in bold else "")
        return found

    def to_markdown(self) -> list[str]:
        """Return the lines of the table as Markdown, without its title and caption."""
        rule = ["---" if self.has_words(number) else "---:" for number in range(len(self.headings))]
        rows = (self.headings, rule, *(map(str, row) for row in self.rows))
        return [f"| {' | '.join(markdown_escaped(' '.join(cell.split())) for cell in row)} |" for row in rows]

    def to_section(self) -> list[str]:
        """Return the lines of the table as Markdown, with its heading and its caption."""
        heading = [f"### {markdown_escaped(self.title)}", "", markdown_escaped(self.caption), ""]
        return [*heading, *self.to_markdown(), ""]

    def to_latex(self) -> str:
        r"""Return a LaTeX `tabular`, which needs `\usepackage{booktabs}`; title and caption are comments."""
        import pandas as pd

        columns = "".join("l" if self.has_words(number) else "r" for number in range(len(self.headings)))
        rows = pd.DataFrame([map(str, row) for row in self.rows], columns=pd.Index(self.headings))
        style = rows.style.hide(axis="index").format(escape="latex").format_index(escape="latex", axis=1)
        return f"% {self.title}. {self.caption}\n{style.to_latex(hrules=True, column_format=columns)}"


def markdown_escaped(text: str) -> str:
    """Escape HTML, column separators and links, which names from users may contain."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("](", "]\\(")
