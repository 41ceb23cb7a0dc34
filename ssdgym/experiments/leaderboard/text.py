"""Show a leaderboard on the terminal and in files, with the losses of learned policies before the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Group as Renderables
from rich.text import Text

from ssdgym.experiments.leaderboard.board import LEARNED, Interval, Leaderboard, Row, SuiteBoard, Task
from ssdgym.experiments.report.comparison import varied_part
from ssdgym.experiments.report.tables import NOTHING, Entry, Table, markdown_escaped
from ssdgym.files import write_atomically

LOSSES_TITLE = "Where learned policies lose"


def losses_of(board: SuiteBoard) -> list[tuple[float, str, Task, int, int]]:
    """Return the tasks on which a learned policy is worse than the best fixed pair, worst first.

    Each tuple has the geometric mean over all runs of (metric / metric of the pair), the name of the row, the
    task, the number of runs that are worse than the pair's run of the same seed, and the number of runs.
    """
    losses = []
    for row in board.rows:
        for task in board.tasks if row.kind in LEARNED else ():
            ratios = np.divide([task.values[policy] for policy in row.policies], task.values[board.fixed])
            mean = float(np.exp(np.log(ratios).mean()))
            if mean > 1:
                losses.append((mean, row.name, task, int((ratios > 1).sum()), ratios.size))
    return sorted(losses, key=lambda loss: -loss[0])


def losses_sentence(board: SuiteBoard) -> str:
    """Return a sentence that says on how many tasks each learned policy is worse than the best fixed pair."""
    learned = [row.name for row in board.rows if row.kind in LEARNED]
    if not learned:
        return "No policy of this suite has learned."
    losers = [name for _, name, *_ in losses_of(board)]
    return (
        f"Worse than the best fixed pair, {board.fixed}, on how many of the {len(board.tasks)} tasks: "
        f"{', '.join(f'{name} on {losers.count(name)}' for name in learned)}."
    )


def losses_table(board: SuiteBoard) -> Table:
    """Return a table of `losses_of`: one row per learned policy and task, the worst first."""
    return Table(
        LOSSES_TITLE,
        f"{losses_sentence(board)} {_words(board.metric).capitalize()} in relation to that pair's, geometric "
        "mean over all seeds, and how many of the runs are worse than the pair on the same seed.",
        ("policy", "workload", "device", "relative", "runs worse"),
        tuple(
            (
                Entry(name),
                *_place(task, board),
                Entry(_change(ratio), number=ratio),
                Entry(f"{worse} of {runs}", number=worse / runs),
            )
            for ratio, name, task, worse, runs in losses_of(board)
        ),
    )


def _place(task: Task, board: SuiteBoard) -> tuple[Entry, Entry]:
    """Return the cells for workload and device; FTL options follow the device if tasks differ in them."""
    several = len({other.ftl for other in board.tasks}) > 1
    where = varied_part(task.device, [other.device for other in board.tasks])
    return Entry(task.workload), Entry(f"{where} ({task.ftl})" if several else where)


def _words(metric: str) -> str:
    return metric.replace("_", " ").replace("/", " ")


#: Headings of the standings, each with a function that returns the cell of a row.
_COLUMNS: tuple[tuple[str, Callable[[Row], Entry]], ...] = (
    ("policy", lambda row: Entry(row.name)),
    ("kind", lambda row: Entry(row.kind + (f", {len(row.policies)} seeds" if row.policies[1:] else ""))),
    ("score [95 %]", lambda row: _interval(row.score)),
    ("× best pair [95 %]", lambda row: _interval(row.ratio)),
    ("× best rival [95 %]", lambda row: _interval(row.rivals)),
    ("WA × best pair [95 %]", lambda row: _interval(row.amplification)),
    ("worst task", lambda row: Entry(_change(row.worst), number=row.worst)),
)
#: Meanings of the headings; the keys leave out the ending ` [95 %]`.
MEANINGS = {
    "kind": "`classic`: only textbook rules; `paper`: any rule of a paper; `rule found`: a stump found on "
    "the split training; `learned`: trained before the run; `learned, online`: learns on the measured "
    "device; `bound`: has an oracle of the future",
    "score": "interquartile mean over all seeds and tasks: 0 is the best fixed pair, 1 the best bound of "
    "each task",
    "× best pair": "the metric relative to that of the best fixed pair, paired by seed, geometric mean over "
    "all tasks; less is better",
    "× best rival": "the metric relative to the best of the suite's `rivals` on each task, known afterwards",
    "WA × best pair": "write amplification relative to the best fixed pair, if another metric is scored",
    "worst task": "the largest ratio of a single task, over all of its runs",
}


def standings_table(board: SuiteBoard, rows: Sequence[Row] | None = None) -> Table:
    """Return a table of the entries, the highest score first."""
    headings, cells = zip(*_COLUMNS, strict=True)
    entries = tuple(tuple(cell(row) for cell in cells) for row in rows or board.rows)
    return Table(f"{board.suite}: standings", _caption(board), headings, entries).without_gaps()


def summarized(board: SuiteBoard) -> list[Row]:
    """Return the rows of a short table: learned policies, best fixed pair, rivals and best bound."""
    bound = next((row.name for row in board.rows if row.kind == "bound"), "")
    shown = {board.fixed, bound, *board.rivals}
    return [row for row in board.rows if row.kind in LEARNED or row.name in shown]


def _caption(board: SuiteBoard) -> str:
    scored, tasks = sum(map(board.is_scored, board.tasks)), len(board.tasks)
    out = f" ({tasks - scored} of {tasks} tasks have too little room for it)" if scored < tasks else ""
    rivals = f" Rivals: {', '.join(board.rivals)}." if board.rivals else ""
    bounds = " and ".join(board.ceilings) or "no bound"
    if board.ceiling_metric:
        bounds = f"the {_words(board.ceiling_metric)} of {bounds}"
    return (
        f"Score: 0 is {board.fixed}, the best fixed pair over these tasks, 1 the best of "
        f"{bounds} on each{out}; interquartile mean over "
        f"{counted(len(board.seeds), 'seed')} and {counted(scored, 'task')}. ×: "
        f"{_words(board.metric)} in relation to another's, geometric mean over all "
        f"{counted(tasks, 'task')}, less is better.{rivals}"
    )


def counted(number: int, thing: str) -> str:
    """Return a number and a noun, such as `2 tasks`."""
    return f"{number} {thing}{'s' * (number != 1)}"


def _interval(found: Interval | None) -> Entry:
    return NOTHING if found is None else Entry.of(found.value, found.low, found.high, _short)


def _short(value: float) -> str:
    """Format a number with three decimals, or without decimals if it is large."""
    return f"{value:z.3f}" if abs(value) < 10 else f"{value:,.0f}"


def _change(ratio: float) -> str:
    """Format a ratio as a change in percent."""
    return f"{ratio - 1:+.1%}" if ratio < 10 else f"{ratio - 1:+,.0%}"


def tasks_table(board: SuiteBoard) -> Table:
    """Return a table with a row per task: metric of best pair, best bound, best entry and learned entries."""
    learned = [row for row in board.rows if row.kind in LEARNED]
    nanoseconds = board.metric.partition("/")[0].endswith("_ns")

    def entry(value: float) -> Entry:
        return Entry(f"{value / 1e6:,.2f}" if nanoseconds else f"{value:.3f}", number=value)

    rows = []
    for task in board.tasks:
        best = min(
            (row for row in board.rows if row.kind != "bound"), key=lambda row: task.mean(row.policies)
        )
        values = (task.mean([board.fixed]), board.bound(task), task.mean(best.policies))
        of_learned = (entry(task.mean(row.policies)) for row in learned)
        rows.append((*_place(task, board), *map(entry, values), Entry(best.name), *of_learned))
    return Table(
        f"{board.suite}: every task",
        f"{_words(board.metric).capitalize()}{' in ms' if nanoseconds else ''}, means over the seeds.",
        ("workload", "device", "best pair", "bound", "best", "best policy", *(row.name for row in learned)),
        tuple(rows),
    )


def rich_board(board: SuiteBoard) -> Renderables:
    """Return the sentence on losses and the standings, for the terminal."""
    learned = {row.name for row in board.rows if row.kind in LEARNED}
    sentence = Text(f"{LOSSES_TITLE}: {losses_sentence(board)}")
    return Renderables(sentence, standings_table(board).to_rich(learned))


def markdown_board(board: Leaderboard) -> Iterator[str]:
    """Yield the lines of all tables as Markdown, each with a heading and a caption."""
    yield "# Leaderboard"
    for suite in board.suites:
        yield from ("", markdown_escaped(f"## {suite.suite}: {suite.description}"), "")
        yield from (markdown_escaped(facts(suite)), "")
        if not losses_of(suite):
            yield from (f"### {LOSSES_TITLE}", "", markdown_escaped(losses_sentence(suite)), "")
        for table in (losses_table(suite), standings_table(suite), tasks_table(suite)):
            if table.rows:
                yield from table.to_section()


def facts(board: SuiteBoard) -> str:
    """Return a phrase with the tasks, seeds, length of the runs, and versions of ssdgym and the engine."""
    seeds = f"{counted(len(board.seeds), 'seed')} from {board.seeds[0]}"
    return (
        f"{counted(len(board.tasks), 'task')} of the split {' and '.join(board.splits)}, {seeds}, "
        f"{board.host_pages:,} host pages after {board.warmup:,} of warm-up, "
        f"by ssdgym {board.version}, engine {board.engine_hash}."
    )


def summary(board: Leaderboard) -> str:
    """Return a section for each suite as Markdown: runs, losses, and the short table of `summarized`."""
    lines: list[str] = []
    for suite in board.suites:
        table = standings_table(suite, summarized(suite))
        rows = tuple((Entry(f"`{name.text}`"), *rest) for name, *rest in table.rows)
        caption = f"{facts(suite)} {losses_sentence(suite)}"
        lines += replace(table, title=suite.suite, caption=caption, rows=rows).to_section()
    return "\n".join(lines)


def write_leaderboard(board: Leaderboard, folder: Path) -> list[Path]:
    """Write `leaderboard.md` and `leaderboard.json`."""
    texts = {"md": "\n".join(markdown_board(board)), "json": f"{board.model_dump_json(indent=1)}\n"}
    paths = {folder / f"leaderboard.{ending}": text for ending, text in texts.items()}
    for path, text in paths.items():
        write_atomically(path, text.encode())
    return list(paths)
