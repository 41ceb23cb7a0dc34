"""Results as a table: for the terminal, as Markdown and as LaTeX, all with the same numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich import box
from rich.console import Console, ConsoleOptions
from rich.console import Group as Renderables
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ssdgym.experiments.report.comparison import (
    WRITE_AMPLIFICATION,
    advantage,
    best_heuristic,
    groups_of,
    measured,
    policies_of,
    verdict,
)
from ssdgym.experiments.report.summary import Entry, Section, ftl_names, sections, side_by_side
from ssdgym.experiments.results import Result


@dataclass(frozen=True)
class SortableTable:
    """A sortable table; the first entry of a row names the row.

    Attributes:
        title: heading of the table.
        caption: what the numbers are.
        headings: of the columns.
        rows: an entry for every column.
    """

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]


def render(template: str, page: Mapping[str, Any]) -> str:
    """Return the text of a page.

    Args:
        template: name of one in this folder.
        page: everything that it shows, by name.
    """
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(page)


def rich_tables(results: Sequence[Result], learned: Sequence[str] = ()) -> Renderables:
    """Return tables for the terminal, one per section.

    Args:
        results: of a whole grid.
        learned: policies whose rows are in bold.
    """
    _, bold = side_by_side(results, learned)
    return Renderables(*(_FittingTable(section, bold) for section in sections(results)))


@dataclass(frozen=True)
class _FittingTable:
    """A table for the terminal: a line for each row or, where that is too wide, one for each number."""

    section: Section
    learned: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        wide = _rich_table(self.section, self.learned, "/")
        fits = Measurement.get(console, options.update(width=_ANY_WIDTH), wide).maximum <= options.max_width
        yield wide if fits else _rich_table(self.section, self.learned, "\n")


#: More columns than any table has.
_ANY_WIDTH = 10_000
#: Where headings break: in two lines, or where the numbers have lines of their own.
_BREAK, _BREAK_ANYWHERE = re.compile(r" (?=mean|WAF|MiB)"), re.compile(r" (?!%)(/ )?")


def _rich_table(section: Section, learned: Sequence[str], separator: str) -> Table:
    """Return a table with a separator between the numbers of a cell, and likewise in headings."""
    table = Table(
        title=section.title,
        title_justify="left",
        caption=section.caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    name, *headings = section.headings
    is_wide = separator != "\n"
    least = 0 if is_wide else max(len(word) for row in section.rows for word in row.policy.split())
    table.add_column(name, no_wrap=is_wide, overflow="fold", min_width=least)
    for heading in headings:
        broken = (_BREAK if is_wide else _BREAK_ANYWHERE).sub("\n", heading)
        table.add_column(Text(broken.replace(" / ", separator)), justify="right", overflow="fold")
    for row in section.parts:
        cells = [separator.join(parts) for parts in row]
        table.add_row(*cells, style="bold" if cells[0] in learned else "")
    return table


def markdown_table(results: Sequence[Result]) -> str:
    """Return the same tables as Markdown, each with a heading and a caption."""
    blocks = []
    for section in sections(results):
        heading = markdown_row(section.headings)
        rule = markdown_row(["---", *("---:" for _ in section.headings[1:])])
        rows = [markdown_row(row) for row in section.texts]
        blocks.append("\n".join([f"### {section.title}", "", section.caption, "", heading, rule, *rows]))
    return "\n\n".join(blocks) + "\n"


def markdown_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def latex_table(results: Sequence[Result]) -> str:
    r"""Return the same tables as LaTeX, one `table` per section; they need `\usepackage{booktabs}`."""
    return "\n\n".join("\n".join(_latex_lines(section)) for section in sections(results)) + "\n"


def _latex_lines(section: Section) -> Iterator[str]:
    yield r"\begin{table}"
    yield r"  \centering"
    yield rf"  \caption{{{latex_escaped(f'{section.title}. {section.caption}')}}}"
    yield rf"  \begin{{tabular}}{{l{'r' * (len(section.headings) - 1)}}}"
    yield r"    \toprule"
    yield "    " + _latex_row(section.headings)
    yield r"    \midrule"
    for row in section.texts:
        yield "    " + _latex_row(row)
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def _latex_row(cells: Sequence[str]) -> str:
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


def verdicts(results: Sequence[Result], learned: Sequence[str]) -> list[str]:
    """Return a sentence for every learned policy and group of tasks, against the best heuristic there.

    Each FTL is judged by itself.

    Args:
        results: of a whole grid.
        learned: the policies that learned.
    """
    names = ftl_names(results)
    shown, ours = side_by_side(results, learned)
    sentences = []
    for name in dict.fromkeys(names):
        for group in groups_of([result for result, its in zip(shown, names, strict=True) if its == name]):
            if not measured(group.results, WRITE_AMPLIFICATION):
                continue
            best = best_heuristic(group.results, ours)
            if best is not None:
                sentences += [
                    f"{group.title}: {verdict(advantage(group.results, policy, best))}"
                    for policy in ours
                    if policy in policies_of(group.results)
                ]
    return sentences
