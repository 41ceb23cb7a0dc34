"""Results as a table: for the terminal, as Markdown and as LaTeX, all with the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group as Renderables
from rich.table import Table
from rich.text import Text

from ssdgym.experiments.analysis.comparison import WRITE_AMPLIFICATION, advantage, best_heuristic, verdict
from ssdgym.experiments.analysis.summary import COLUMNS, Section, sections
from ssdgym.experiments.analysis.tasks import groups_of, measured, policies_of
from ssdgym.experiments.results import Result


def rich_tables(results: Sequence[Result], learned: Sequence[str] = ()) -> Renderables:
    """Return tables for the terminal, one per section.

    Args:
        results: of a whole grid.
        learned: policies whose rows are in bold.
    """
    return Renderables(*(_rich_table(section, learned) for section in sections(results)))


def _rich_table(section: Section, learned: Sequence[str]) -> Table:
    table = Table(
        title=section.title,
        title_justify="left",
        caption=section.caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("policy", no_wrap=True)
    for column in COLUMNS:
        # Headings break in two lines; the cells set the width, and fold only on a narrow terminal.
        heading = Text(column.title.replace(" mean", "\nmean").replace("d pages", "d\npages"))
        table.add_column(heading, justify="right", overflow="fold")
    for row in section.rows:
        table.add_row(row.policy, *row.texts(), style="bold" if row.policy in learned else "")
    return table


def markdown_table(results: Sequence[Result]) -> str:
    """Return the same tables as Markdown, each with a heading and a caption."""
    heading = markdown_row(["policy", *(column.title for column in COLUMNS)])
    rule = markdown_row(["---", *("---:" for _ in COLUMNS)])
    blocks = []
    for section in sections(results):
        rows = [markdown_row([row.policy, *row.texts()]) for row in section.rows]
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
    yield rf"  \begin{{tabular}}{{l{'r' * len(COLUMNS)}}}"
    yield r"    \toprule"
    yield "    " + _latex_row(["policy", *(column.title for column in COLUMNS)])
    yield r"    \midrule"
    for row in section.rows:
        yield "    " + _latex_row([row.policy, *row.texts()])
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

    Args:
        results: of a whole grid.
        learned: the policies that learned.
    """
    sentences = []
    for group in groups_of(results):
        if not measured(group.results, WRITE_AMPLIFICATION):
            continue
        best = best_heuristic(group.results, learned)
        ours = [policy for policy in learned if policy in policies_of(group.results)]
        if best is not None:
            sentences += [
                f"{group.title}: {verdict(advantage(group.results, policy, best))}" for policy in ours
            ]
    return sentences
