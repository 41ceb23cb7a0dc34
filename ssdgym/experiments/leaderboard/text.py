"""The leaderboard as tables, losses first, as text and as files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Group as Renderables

from ssdgym.experiments.leaderboard.board import (
    LEARNED,
    Interval,
    Leaderboard,
    Loss,
    Row,
    SuiteBoard,
    Task,
    TaskBoard,
)
from ssdgym.experiments.report.tables import NOTHING, Entry, Table, markdown_escaped, render
from ssdgym.files import write_bytes

LOSSES_TITLE = "Where learned policies lose"


def tables_of(board: SuiteBoard) -> list[Table]:
    """Return the tables of a suite, without that of losses where nothing is lost."""
    losses = [losses_table(board)] if board.losses else []
    return [*losses, standings_table(board), tasks_table(board), sources_table(board)]


def losses_sentence(board: SuiteBoard) -> str:
    """Return a sentence on how many tasks learned policies lose."""
    learned = [row.name for row in board.rows if row.kind in LEARNED]
    if not learned:
        return "No policy of this suite has learned."
    counts = (f"{name} on {sum(loss.name == name for loss in board.losses)}" for name in learned)
    return (
        f"Worse than the best fixed pair, {board.fixed}, on how many of the {len(board.tasks)} tasks: "
        f"{', '.join(counts)}."
    )


def losses_table(board: SuiteBoard) -> Table:
    """Return the tasks that learned policies lose, the worst first."""
    rows = [_loss(loss, board) for loss in board.losses]
    return Table(
        LOSSES_TITLE,
        f"{losses_sentence(board)} {_metric_words(board)} in relation to that pair's, geometric mean over "
        "all seeds, and how many of the runs are worse than the pair on the same seed.",
        ("policy", "workload", "device", "relative", "runs worse"),
        tuple(rows),
    )


def _loss(loss: Loss, board: SuiteBoard) -> tuple[Entry, ...]:
    relative = Entry(_change(loss.ratio), number=loss.ratio)
    runs = Entry(f"{loss.worse} of {loss.runs}", number=loss.worse / loss.runs)
    return Entry(loss.name), *_place(loss, board), relative, runs


def _place(task: Task, board: SuiteBoard) -> tuple[Entry, Entry]:
    """Return the workload and the device; of variations of one device what is varied, of FTLs if several."""
    several = len({other.ftl for other in board.tasks}) > 1
    where = _without_common(task.device, [other.device for other in board.tasks])
    return Entry(task.workload), Entry(f"{where} ({task.ftl})" if several else where)


def _without_common(device: str, devices: Sequence[str]) -> str:
    """Return how a device differs from others: of variations of one device, the fields that are varied."""
    names = {name.partition("(")[0] for name in devices}
    _, bracket, fields = device.partition("(")
    return fields.removesuffix(")") if bracket and len(names) == 1 else device


def _metric_words(board: SuiteBoard) -> str:
    return _words(board.metric).capitalize()


def _words(metric: str) -> str:
    return metric.replace("_", " ").replace("/", " ")


#: Headings of the standings, with what a row has there.
_COLUMNS: tuple[tuple[str, Callable[[Row], Entry]], ...] = (
    ("policy", lambda row: Entry(row.name)),
    ("rank", lambda row: NOTHING if row.rank is None else Entry(str(row.rank), number=row.rank)),
    ("kind", lambda row: Entry(row.kind + (f", {len(row.policies)} seeds" if row.policies[1:] else ""))),
    ("score [95 %]", lambda row: _interval(row.score, _short)),
    ("× best pair [95 %]", lambda row: _interval(row.ratio, _short)),
    ("× best rival [95 %]", lambda row: _interval(row.rivals, _short)),
    ("WA × best pair [95 %]", lambda row: _interval(row.amplification, _short)),
    ("worst task", lambda row: Entry(_change(row.worst.ratio), number=row.worst.ratio)),
    ("better [95 %]", lambda row: _interval(row.improvement, "{:.0%}".format)),
    ("won", lambda row: NOTHING if row.rank is None else Entry(str(row.won), number=row.won)),
    ("multiply-adds", lambda row: _multiply_adds(row)),
    ("bytes", lambda row: NOTHING if row.size is None else _count(row.size.weight_bytes)),
)
#: What stands under a heading, without the interval, where it does not say so itself.
MEANINGS = {
    "kind": "`classic`: only textbook rules; `paper`: any rule of a paper; `rule found`: a stump found on "
    "the split training; `learned`: trained before the run; `learned, online`: learns on the measured "
    "device; `bound`: has an oracle of the future",
    "score": "interquartile mean over all seeds and tasks: 0 is the best fixed pair, 1 the best bound of "
    "each task",
    "× best pair": "the metric relative to that of the best fixed pair, paired by seed, geometric mean over "
    "all tasks; less is better",
    "× best rival": "relative to the best of the suite's `rivals` on each task, chosen after the fact",
    "WA × best pair": "where another metric is scored, write amplification, which pays for it",
    "worst task": "the largest of the ratios of single tasks, each over all of its runs",
    "better": "probability that a run is better than one of the best fixed pair on the same task, mean over "
    "the tasks",
    "won": "tasks on which nothing but the bounds is better",
    "multiply-adds": "of a decision of a learned policy, and for each candidate",
    "bytes": "weights of a learned policy in single precision",
}


def standings_table(board: SuiteBoard, hidden: Collection[str] = ()) -> Table:
    """Return the entries by falling score, without the columns of hidden headings."""
    headings, cells = zip(*_COLUMNS, strict=True)
    rows = tuple(tuple(cell(row) for cell in cells) for row in board.rows)
    return Table(f"{board.suite}: standings", _caption(board), headings, rows).without_gaps(hidden)


#: What a summary has of them.
_SUMMARY = (
    *("policy", "kind", "score [95 %]", "× best pair [95 %]", "× best rival [95 %]"),
    *("WA × best pair [95 %]", "worst task"),
)


def summary_table(board: SuiteBoard) -> Table:
    """Return what has learned beside the best fixed pair, the rivals and the best bound of a suite."""
    cells = [cell for heading, cell in _COLUMNS if heading in _SUMMARY]
    rows = tuple(tuple(cell(row) for cell in cells) for row in summarized(board))
    return Table(board.suite, f"{facts(board)} {losses_sentence(board)}", _SUMMARY, rows).without_gaps()


def summarized(board: SuiteBoard) -> list[Row]:
    """Return the rows of a suite in a summary: learned, the best fixed pair, rivals, the best bound."""
    bound = next((row.name for row in board.rows if row.kind == "bound"), "")
    shown = {board.fixed, bound, *board.rivals}
    return [row for row in board.rows if row.kind in LEARNED or row.name in shown]


def _caption(board: SuiteBoard) -> str:
    scored, tasks = sum(task.scored for task in board.tasks), len(board.tasks)
    out = f" ({tasks - scored} of {tasks} tasks have too little room for it)" if scored < tasks else ""
    rivals = f" Rivals: {', '.join(board.rivals)}." if board.rivals else ""
    bounds = " and ".join(board.ceilings) or "no bound"
    if board.ceiling_metric:
        bounds = f"the {_words(board.ceiling_metric)} of {bounds}"
    return (
        f"Score: 0 is {board.fixed}, the best fixed pair over these tasks, 1 the best of "
        f"{bounds} on each{out}; interquartile mean over "
        f"{counted(len(board.seeds), 'seed')} and {counted(scored, 'task')}. ×: "
        f"{_metric_words(board).lower()} in relation to another's, geometric mean over all "
        f"{counted(tasks, 'task')}, less is better.{rivals}"
    )


def counted(number: int, thing: str) -> str:
    """Return a number of things in words."""
    return f"{number} {thing}{'s' * (number != 1)}"


def _interval(found: Interval | None, text: Callable[[float], str]) -> Entry:
    return NOTHING if found is None else Entry.of(found.value, found.low, found.high, text)


def _short(value: float) -> str:
    """Return a number with three decimals, a large one with fewer."""
    return f"{value:z.3f}" if abs(value) < 10 else f"{value:,.0f}"


def _change(ratio: float) -> str:
    """Return a ratio as what is added to one, in percent."""
    return f"{ratio - 1:+.1%}" if ratio < 10 else f"{ratio - 1:+,.0%}"


def _multiply_adds(row: Row) -> Entry:
    if row.size is None:
        return NOTHING
    each = f" + {row.size.multiply_adds_each:,} each" if row.size.multiply_adds_each else ""
    return Entry(f"{row.size.multiply_adds:,}{each}", number=row.size.multiply_adds)


def _count(number: int) -> Entry:
    return Entry(f"{number:,}", number=number)


def tasks_table(board: SuiteBoard) -> Table:
    """Return every task with the best fixed pair, the bound, the best entry and each that has learned."""
    learned = [row for row in board.rows if row.kind in LEARNED]
    nanoseconds = board.metric.partition("/")[0].endswith("_ns")
    return Table(
        f"{board.suite}: every task",
        f"{_metric_words(board)}{' in ms' if nanoseconds else ''}, means over the seeds.",
        ("workload", "device", "best pair", "bound", "best", "best policy", *(row.name for row in learned)),
        tuple(
            (
                *_place(task, board),
                *(_metric(value, nanoseconds) for value in (task.fixed, task.bound, task.best_value)),
                Entry(task.best),
                *(_metric(_mean(task, row), nanoseconds) for row in learned),
            )
            for task in board.tasks
        ),
    )


def sources_table(board: SuiteBoard) -> Table:
    """Return what the rules of every entry are from, and the policies that a row stands for."""
    return Table(
        f"{board.suite}: sources",
        "Of what the rules are; classic ones are named only where there are no others.",
        ("policy", "stands for", "source"),
        tuple(
            (
                Entry(row.name),
                NOTHING if row.policies == (row.name,) else Entry(", ".join(row.policies)),
                Entry(row.source),
            )
            for row in board.rows
        ),
    )


def _mean(task: TaskBoard, row: Row) -> float:
    values = [value for policy in row.policies for value in task.values[policy]]
    return sum(values) / len(values)


def _metric(value: float, nanoseconds: bool) -> Entry:
    return Entry(f"{value / 1e6:,.2f}" if nanoseconds else f"{value:.3f}", number=value)


#: Columns that a terminal has no room for.
_NOT_ON_TERMINAL = ("multiply-adds", "bytes", "better [95 %]")
#: Those of which a terminal has no notes.
_SHORT_ON_TERMINAL = ("× best rival [95 %]", "WA × best pair [95 %]")
#: Losses on a terminal.
_MOST_LOSSES = 12


def rich_board(board: SuiteBoard) -> Renderables:
    """Return the losses and the standings of a suite for the terminal."""
    learned = {row.name for row in board.rows if row.kind in LEARNED}
    standings = _without_notes(standings_table(board, _NOT_ON_TERMINAL), _SHORT_ON_TERMINAL)
    if not board.losses:
        return Renderables(f"{LOSSES_TITLE}: {losses_sentence(board)}", standings.to_rich(learned))
    losses, rest = losses_table(board), len(board.losses) - _MOST_LOSSES
    if rest > 0:
        caption = f"{losses.caption} {rest} more are in the files."
        losses = replace(losses, rows=losses.rows[:_MOST_LOSSES], caption=caption)
    return Renderables(losses.to_rich(learned), standings.to_rich(learned))


def _without_notes(table: Table, headings: Collection[str]) -> Table:
    """Return a table whose entries have no notes in some columns."""
    short = [heading in headings for heading in table.headings]
    return replace(
        table,
        headings=tuple(
            heading.removesuffix(" [95 %]") if cut else heading
            for heading, cut in zip(table.headings, short, strict=True)
        ),
        rows=tuple(
            tuple(replace(entry, note="") if cut else entry for entry, cut in zip(row, short, strict=True))
            for row in table.rows
        ),
    )


def markdown_board(board: Leaderboard) -> Iterator[str]:
    """Yield the lines of all tables as Markdown, each with a heading and a caption."""
    yield "# Leaderboard"
    for suite in board.suites:
        yield ""
        yield markdown_escaped(f"## {suite.suite}: {suite.description}")
        yield ""
        yield markdown_escaped(facts(suite))
        if not suite.losses:
            yield from ("", f"### {LOSSES_TITLE}", "", markdown_escaped(losses_sentence(suite)))
        for table in tables_of(suite):
            yield from ("", *map(markdown_escaped, (f"### {table.title}", "", table.caption)), "")
            yield from table.to_markdown()
    yield ""


def facts(board: SuiteBoard) -> str:
    """Return a sentence on what was run."""
    seeds = f"{counted(len(board.seeds), 'seed')} from {board.seeds[0]}"
    return (
        f"{counted(len(board.tasks), 'task')} of the split {' and '.join(board.splits)}, {seeds}, "
        f"{board.host_pages:,} host pages after {board.warmup:,} of warm-up, "
        f"by ssdgym {board.version}, engine {board.engine_hash}."
    )


def summary(board: Leaderboard) -> str:
    """Return a section for each suite as Markdown: what was run and lost, and a short table."""
    return "\n".join(line for suite in board.suites for line in _summary_lines(summary_table(suite)))


def _summary_lines(table: Table) -> Iterator[str]:
    yield from (f"### {markdown_escaped(table.title)}", "", markdown_escaped(table.caption), "")
    rows = tuple((Entry(f"`{name.text}`"), *rest) for name, *rest in table.rows)
    yield from (*replace(table, rows=rows).to_markdown(), "")


TEMPLATE = "leaderboard.html.j2"


def write_leaderboard(board: Leaderboard, folder: Path) -> list[Path]:
    """Write `leaderboard.md`, `leaderboard.html` and `leaderboard.json`."""
    texts = {
        "md": "\n".join(markdown_board(board)),
        "html": html_board(board),
        "json": f"{board.model_dump_json(indent=1)}\n",
    }
    paths = {folder / f"leaderboard.{ending}": text for ending, text in texts.items()}
    for path, text in paths.items():
        write_bytes(path, text.encode())
    return list(paths)


def html_board(board: Leaderboard) -> str:
    """Return the leaderboard as an HTML page."""
    return render(TEMPLATE, {"suites": [_suite(suite) for suite in board.suites]})


def _suite(board: SuiteBoard) -> dict[str, Any]:
    return {
        "title": f"{board.suite}: {board.description}",
        "facts": facts(board),
        "no_losses": () if board.losses else (LOSSES_TITLE, losses_sentence(board)),
        "tables": tables_of(board),
        "learned": [row.name for row in board.rows if row.kind in LEARNED],
    }
