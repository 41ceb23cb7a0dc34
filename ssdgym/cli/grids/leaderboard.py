"""`ssdgym leaderboard`: rank everything that suites name, learned policies with their losses first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import console, print_json, progress_note
from ssdgym.cli.grids.stored import Runs
from ssdgym.cli.grids.suites import Address, HostPages, Seeds, SplitOption, SuiteRuns, Warmup, Workers
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.leaderboard.board import Leaderboard, SuiteBoard

#: Suites that are ranked where none is named.
SUITES = ("wa", "latency")
#: What the standings need to keep names of policies on one line, where there is no terminal to ask.
_WIDTH = 150


def leaderboard(
    suite: Annotated[
        list[str] | None,
        typer.Argument(help="Names of suites in configs/suites, or YAML files. Default: wa and latency."),
    ] = None,
    split: SplitOption = None,
    seeds: Seeds = None,
    host_pages: HostPages = None,
    warmup: Warmup = None,
    workers: Workers = None,
    address: Address = None,
    speed: Annotated[
        bool, typer.Option(help="Time every policy beside the suite's baseline, one after the other.")
    ] = True,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; new, empty, or to go on with.")] = Path(
        "results/leaderboard"
    ),
    read: Annotated[
        Path | None, typer.Option(help="A leaderboard.json to show instead; nothing is run.")
    ] = None,
    update: Annotated[
        list[Path] | None,
        typer.Option(help="Markdown page with the marks of a leaderboard that gets its summary; repeat."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rank every policy, learned agent and bound of suites: 0 is the best fixed pair, 1 the best bound.

    Writes leaderboard.md, leaderboard.html and leaderboard.json. Keeps every finished run, and goes on where
    it was interrupted.

    Examples:

        ssdgym leaderboard

        ssdgym leaderboard wa --seeds 100 --out results/quick

        ssdgym leaderboard --read results/leaderboard/leaderboard.json --update README.md
    """
    from ssdgym.experiments.leaderboard.board import read_board
    from ssdgym.experiments.leaderboard.files import write_leaderboard
    from ssdgym.experiments.leaderboard.text import rich_board, write_summary

    if read is not None:
        board, paths = read_board(read), []
    else:
        every = [SuiteRuns.of(name, split, seeds, host_pages, warmup) for name in suite or SUITES]
        board = _board(every, out, workers, address, speed=speed, as_json=as_json)
        paths = write_leaderboard(board, out)
    paths += [write_summary(page, board) for page in update or ()]
    if as_json:
        print_json(board.model_dump(mode="json"))
        return
    for one in board.suites:
        console(_WIDTH).print(rich_board(one))
    for path in paths:
        print(path)


def _board(
    suites: list[SuiteRuns],
    out: Path,
    workers: int | None,
    address: str | None,
    *,
    speed: bool,
    as_json: bool,
) -> Leaderboard:
    import ssdgym
    from ssdgym.engine.compiler.cache import engine_hash
    from ssdgym.experiments.leaderboard.board import Leaderboard

    titles = [runs.title for runs in suites]
    if len(set(titles)) < len(titles):
        raise SsdgymError("leaderboard: two suites have one name, and so one folder; rename one.")
    boards = [
        _suite_board(runs, Runs(out / runs.title, workers, address), speed=speed, as_json=as_json)
        for runs in suites
    ]
    return Leaderboard(version=ssdgym.__version__, engine_hash=engine_hash(), suites=tuple(boards))


def _suite_board(runs: SuiteRuns, how: Runs, *, speed: bool, as_json: bool) -> SuiteBoard:
    from ssdgym.experiments.leaderboard.speed import SPEEDS_NAME, Speeds
    from ssdgym.experiments.leaderboard.standings import suite_board
    from ssdgym.experiments.runs.expand import expand

    experiment = runs.experiment()
    results, _ = runs.carry_out(experiment, how, (), as_json=as_json)
    assert experiment.host_pages is not None, "suites have it"
    pages = experiment.host_pages, experiment.warmup
    board = suite_board(runs.title, runs.config, runs.splits, results, pages)
    if not speed:
        return board
    speeds = Speeds(how.folder / SPEEDS_NAME, lambda text: progress_note(text, quiet=as_json))
    return speeds.measure(board, expand(experiment), runs.config.baseline)
