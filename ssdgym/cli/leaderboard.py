"""`ssdgym leaderboard`: who is how good on suites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli import options
from ssdgym.cli.console import console, print_json
from ssdgym.cli.evaluate import carry_out, environment_fields, finish
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.leaderboard.suites import Split, SuiteConfig

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
    address: options.Address = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; new, empty, or to go on with.")] = Path(
        "results/leaderboard"
    ),
    as_json: options.AsJson = False,
) -> None:
    """Rank every policy, learned agent and bound of suites: 0 is the best fixed pair, 1 the best bound.

    With --policy or --agent those are ranked alone, and 0 is the suite's baseline. Writes leaderboard.md
    and leaderboard.json. Keeps every finished run, and goes on where it was interrupted.

    Examples:

        ssdgym leaderboard

        ssdgym leaderboard wa --split validation --policy "cost_benefit+dac" --agent runs/mine/agent.zip
    """
    from ssdgym.experiments.leaderboard.board import Entry, Leaderboard, named_policy
    from ssdgym.experiments.leaderboard.standings import suite_board
    from ssdgym.experiments.leaderboard.suites import load_suite
    from ssdgym.experiments.leaderboard.text import rich_board, write_leaderboard

    changes = {"seeds": seeds and options.parse_seeds(seeds), "host_pages": host_pages, "warmup": warmup}
    changes = {name: value for name, value in changes.items() if value is not None}
    named: dict[str, Any] = {"policies": tuple(policy or ())} if policy or agent else {}
    if agent:
        named |= {"agents": agent, "environment": environment_fields(environment, env_arg)}
    suites = {Path(name).stem: load_suite(name) for name in suite or SUITES}
    if len(suites) < len(suite or SUITES):
        raise SsdgymError("leaderboard: two suites have one name, and so one folder; rename one.")
    splits = {title: _splits_of(title, config, split) for title, config in suites.items()}
    experiments = {
        title: config.experiment(splits[title], named or config.deciders, changes)
        for title, config in suites.items()
    }
    boards = []
    for title, config in suites.items():
        carried = carry_out(
            experiments[title],
            out / title,
            [*(agent or ()), *(policy or ())],
            workers=workers,
            address=address,
            trust=trust,
            quiet=as_json,
        )
        if carried.report.failures:
            finish(carried, as_json=as_json)  # leaves the command
        entries = []
        if named:
            entries = [
                Entry(label, "learned" if label in carried.learned else "classic", (label,))
                for label in dict.fromkeys(run.policy for run in carried.runs if run.agent)
            ] + [named_policy(one) for one in experiments[title].policies]
            config = config.model_copy(update={"policies": (), "rules": (), "agents": (), "rivals": ()})
        pages = experiments[title].host_pages or 0, experiments[title].warmup  # suites have them
        results = carried.report.results
        boards.append(suite_board(title, config, splits[title], results, pages, entries))
    board = Leaderboard(suites=tuple(boards))
    paths = write_leaderboard(board, out)
    if as_json:
        print_json(board.model_dump(mode="json"))
        return
    for one in board.suites:
        console(_WIDTH).print(rich_board(one))
    for path in paths:
        print(path)


def _splits_of(name: str, config: SuiteConfig, wanted: list[str] | None) -> tuple[Split, ...]:
    """Return the splits of a suite that an option names, in order; without one the test split."""
    from ssdgym.experiments.leaderboard.suites import SPLITS

    choice = f"choose {' or '.join(config.splits)}."
    for word in wanted or ():
        if word not in config.splits:
            raise SsdgymError(f"--split {word} is none of the suite's; {choice}")
    if not wanted and "test" not in config.splits:
        raise SsdgymError(f"suite {name} has no split test: give --split, and {choice}")
    return tuple(one for one in SPLITS if one in (wanted or ["test"]))
