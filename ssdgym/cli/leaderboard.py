"""Commands that score suites and rank policies and agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import console, print_json, progress_note
from ssdgym.cli.evaluate import Runs, environment_fields, finish
from ssdgym.cli.options import AsJson, Trust, parse_seeds
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.leaderboard.board import Leaderboard, SuiteBoard
    from ssdgym.experiments.leaderboard.suites import Split, SuiteConfig
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.config import ExperimentConfig


SplitOption = Annotated[
    list[str] | None,
    typer.Option("--split", "-s", help="training, validation or test; repeat for more. Default: test."),
]
Seeds = Annotated[str | None, typer.Option(help="Seeds: 5, or 1,2,9, or 100-109.")]
HostPages = Annotated[int | None, typer.Option(min=1, help="Host pages per run.")]
Warmup = Annotated[int | None, typer.Option(min=0, help="Host pages before them, not measured.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes. Default: 2.")]
Address = Annotated[str | None, typer.Option(help="Run as Ray tasks: local, or the address of a cluster.")]


@dataclass(frozen=True)
class SuiteRuns:
    """Runs of some splits of a suite.

    Attributes:
        name: of the suite, or the path of its file.
        config: of the suite.
        splits: whose workloads are run.
        changes: other values of `seeds`, `host_pages` or `warmup`.
    """

    name: str
    config: SuiteConfig
    splits: tuple[Split, ...]
    changes: dict[str, Any]

    @classmethod
    def of(
        cls,
        name: str,
        split: list[str] | None,
        seeds: str | None,
        host_pages: int | None,
        warmup: int | None,
    ) -> SuiteRuns:
        """Read the options of a command.

        Args:
            name: of a suite, or the path of its file.
            split: names of splits; none for `test`.
            seeds: as text; `None` for those of the suite.
            host_pages: likewise.
            warmup: likewise.

        Raises:
            SsdgymError: there is no such suite or split, or the seeds cannot be read.
        """
        from ssdgym.experiments.leaderboard.suites import SPLITS, load_suite

        config = load_suite(name)
        for word in split or ():
            if word not in config.splits:
                raise SsdgymError(
                    f"--split {word} is none of the suite's; choose {' or '.join(config.splits)}."
                )
        wanted = tuple(one for one in SPLITS if one in (split or ["test"]))
        if not wanted or any(one not in config.splits for one in wanted):
            raise SsdgymError(f"suite {name} has no split test; choose --split {' or '.join(config.splits)}.")
        given = {
            "seeds": None if seeds is None else parse_seeds(seeds),
            "host_pages": host_pages,
            "warmup": warmup,
        }
        return cls(name, config, wanted, {key: value for key, value in given.items() if value is not None})

    @property
    def title(self) -> str:
        """The name of the suite without folder and ending."""
        return Path(self.name).stem

    def experiment(self, deciders: dict[str, Any] | None = None) -> ExperimentConfig:
        """Return the grid of the runs.

        Args:
            deciders: `policies`, `agents` and their `environment`; by default all that the suite has.
        """
        own = {"policies": (*self.config.policies, *self.config.learned)}
        return self.config.experiment(self.splits, deciders or own, self.changes)

    def carry_out(
        self, experiment: ExperimentConfig, runs: Runs, typed: Sequence[str], *, as_json: bool
    ) -> tuple[list[Result], list[str]]:
        """Run what is not finished yet; where runs fail, report that and leave the command.

        Args:
            experiment: the grid.
            runs: how it is carried out.
            typed: agents and policies that were named on the command line.
            as_json: whether the output is for a machine.

        Returns:
            The results, and the names of those that have learned.

        Raises:
            SsdgymError: a run is wrongly configured.
        """
        found, learned = runs.carry_out(experiment, typed, quiet=as_json)
        if found.failures:
            finish(found, learned, runs.folder, as_json=as_json)
        return found.results, [*learned, *self.config.learned]


def suite(
    name: Annotated[str, typer.Argument(help="Name of a suite in configs/suites, or a YAML file.")],
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Policy; repeat for more. Default: those of the suite."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="Agent, as ssdgym evaluate takes it; repeat for more."),
    ] = None,
    environment: Annotated[
        str | None, typer.Option(help="Environment of agents that do not know their own.")
    ] = None,
    env_arg: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Argument of it such as candidates=8; repeat for more."),
    ] = None,
    trust: Trust = False,
    split: SplitOption = None,
    seeds: Seeds = None,
    host_pages: HostPages = None,
    warmup: Warmup = None,
    workers: Workers = None,
    address: Address = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder; new, empty, or to go on with. Default: results/SUITE."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score policies and agents: 0 is the suite's baseline on each task, 1 its bound.

    Prints each one's interquartile mean over all seeds and tasks with a 95 % interval, then every task with
    its baseline, its bound and the best policy. Keeps every finished run, and goes on where it was
    interrupted.

    Examples:

        ssdgym suite wa

        ssdgym suite wa --split validation --policy "cost_benefit+dac"

        ssdgym suite wa --agent runs/mine/agent.zip --workers 8 --out results/mine
    """
    from ssdgym.experiments.leaderboard.scores import rich_scores, score

    runs = SuiteRuns.of(name, split, seeds, host_pages, warmup)
    deciders: dict[str, Any] | None = {"policies": tuple(policy)} if policy else None
    if agent:
        fields = environment_fields(environment, env_arg)
        deciders = {"policies": tuple(policy or ()), "agents": agent, "environment": fields}
    folder = out or Path("results") / runs.title
    how, typed = Runs(folder, workers, address, trust), [*(agent or ()), *(policy or ())]
    results, learned = runs.carry_out(runs.experiment(deciders), how, typed, as_json=as_json)
    scores = score(results, runs.config)
    if as_json:
        print_json(scores.as_dict())
        return
    console().print(rich_scores(scores, runs.config, learned))
    for line in scores.left_out:
        print(line)


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
    from ssdgym.experiments.leaderboard.text import rich_board, write_leaderboard, write_summary

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
    from ssdgym.experiments.runs.config import expand

    experiment = runs.experiment()
    results, _ = runs.carry_out(experiment, how, (), as_json=as_json)
    assert experiment.host_pages is not None, "suites have it"
    pages = experiment.host_pages, experiment.warmup
    board = suite_board(runs.title, runs.config, runs.splits, results, pages)
    if not speed:
        return board
    speeds = Speeds(how.folder / SPEEDS_NAME, lambda text: progress_note(text, quiet=as_json))
    return speeds.measure(board, expand(experiment), runs.config.baseline)
