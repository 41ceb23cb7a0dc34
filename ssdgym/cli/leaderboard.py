"""`ssdgym leaderboard`: who is how good on suites."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli import options
from ssdgym.cli.console import console, print_json
from ssdgym.cli.evaluate import Carried, carry_out, environment_fields, finish
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.leaderboard.board import SuiteBoard
    from ssdgym.experiments.leaderboard.suites import Split, SuiteConfig
    from ssdgym.experiments.runs.config import ExperimentConfig


@dataclass(frozen=True)
class SuiteRuns:
    """Runs of some splits of a suite.

    Attributes:
        config: of the suite; without its own policies and agents where others are named.
    """

    name: str
    config: SuiteConfig
    splits: tuple[Split, ...]
    experiment: ExperimentConfig

    @classmethod
    def of(
        cls, name: str, split: list[str] | None, changes: dict[str, Any], named: dict[str, Any]
    ) -> SuiteRuns:
        """Read the options of the command."""
        from ssdgym.experiments.leaderboard.suites import SPLITS, load_suite

        config = load_suite(name)
        for word in split or ():
            if word not in config.splits:
                raise SsdgymError(
                    f"--split {word} is none of the suite's; choose {' or '.join(config.splits)}."
                )
        splits = tuple(one for one in SPLITS if one in (split or ["test"]))
        if not splits or any(one not in config.splits for one in splits):
            raise SsdgymError(f"suite {name} has no split test; choose --split {' or '.join(config.splits)}.")
        experiment = config.experiment(splits, named or config.deciders, changes)
        if named:
            config = config.model_copy(update={"policies": (), "rules": (), "agents": (), "rivals": ()})
        return cls(Path(name).stem, config, splits, experiment)


#: Suites that are ranked where none is named.
SUITES = ("wa", "memory", "latency")
#: What the standings need to keep names of policies on one line, where there is no terminal.
_WIDTH = 150


def leaderboard(
    suite: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of suites in configs/suites, or YAML files. Default: wa, memory and latency."
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Policy to rank in place of the suite's own; repeat for more."),
    ] = None,
    agent: options.Agents = None,
    environment: options.Environment = None,
    env_arg: options.EnvArgs = None,
    trust: options.Trust = False,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", "-s", help="training, validation or test; repeat for more. Default: test."),
    ] = None,
    seeds: options.Seeds = None,
    host_pages: options.HostPages = None,
    warmup: options.Warmup = None,
    workers: options.Workers = None,
    address: Annotated[
        str | None, typer.Option(help="Run as Ray tasks: local, or the address of a cluster.")
    ] = None,
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
    as_json: options.AsJson = False,
) -> None:
    """Rank every policy, learned agent and bound of suites: 0 is the best fixed pair, 1 the best bound.

    With --policy or --agent those are ranked alone, and 0 is the suite's baseline. Writes leaderboard.md,
    leaderboard.html and leaderboard.json. Keeps every finished run, and goes on where it was interrupted.

    Examples:

        ssdgym leaderboard

        ssdgym leaderboard wa --seeds 100 --out results/quick

        ssdgym leaderboard wa --split validation --policy "cost_benefit+dac" --agent runs/mine/agent.zip

        ssdgym leaderboard --read results/leaderboard/leaderboard.json --update docs/leaderboard.md
    """
    from ssdgym.experiments.leaderboard.board import Leaderboard, read_board
    from ssdgym.experiments.leaderboard.text import rich_board, write_leaderboard, write_summary

    if read is not None:
        board, paths = read_board(read), []
    else:
        changes = {"seeds": seeds and options.parse_seeds(seeds), "host_pages": host_pages, "warmup": warmup}
        changes = {name: value for name, value in changes.items() if value is not None}
        named: dict[str, Any] = {"policies": tuple(policy or ())} if policy or agent else {}
        if agent:
            named |= {"agents": agent, "environment": environment_fields(environment, env_arg)}
        every = [SuiteRuns.of(name, split, changes, named) for name in suite or SUITES]
        titles = [runs.name for runs in every]
        if len(set(titles)) < len(titles):
            raise SsdgymError("leaderboard: two suites have one name, and so one folder; rename one.")
        typed = [*(agent or ()), *(policy or ())]
        boards = []
        for runs in every:
            carried = carry_out(
                runs.experiment,
                out / runs.name,
                typed,
                workers=workers,
                address=address,
                trust=trust,
                quiet=as_json,
            )
            boards.append(_suite_board(runs, carried, as_json))
        board = Leaderboard(suites=tuple(boards))
        paths = write_leaderboard(board, out)
    paths += [write_summary(page, board) for page in update or ()]
    if as_json:
        print_json(board.model_dump(mode="json"))
        return
    for one in board.suites:
        console(_WIDTH).print(rich_board(one))
    for path in paths:
        print(path)


def _suite_board(suite_runs: SuiteRuns, carried: Carried, as_json: bool) -> SuiteBoard:
    """Rank what was run; where runs have failed, report that and leave the command."""
    from ssdgym.experiments.leaderboard.board import Entry, named_policy
    from ssdgym.experiments.leaderboard.standings import suite_board

    experiment, suite = suite_runs.experiment, suite_runs.config
    if carried.report.failures:
        finish(carried, as_json=as_json)
    assert experiment.host_pages is not None, "suites have it"
    named = []
    if not (suite.policies or suite.rules or suite.agents):
        agents = {run.policy: run.agent for run in carried.runs if run.agent}
        named = [
            Entry(label, "learned" if label in carried.learned else "classic", f"agent {text}", (label,))
            for label, text in agents.items()
        ]
        named += map(named_policy, experiment.policies)
    pages = experiment.host_pages, experiment.warmup
    return suite_board(suite_runs.name, suite, suite_runs.splits, carried.report.results, pages, named)
