"""`ssdgym leaderboard`: rank policies and agents on suites of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ssdgym.cli.console import show
from ssdgym.cli.evaluate import carry_out
from ssdgym.cli.options import Texts, environment_fields
from ssdgym.errors import SsdgymError

#: The default suites.
SUITES = ("wa", "memory", "latency")
#: Width of the output, in columns, if there is no terminal; long names of policies then fit on one line.
_WIDTH = 150


def leaderboard(
    suite: Texts = None,
    policy: Texts = None,
    agent: Texts = None,
    environment: str | None = None,
    env_arg: Texts = None,
    trust: bool = False,
    split: Texts = None,
    seeds: Any = None,
    host_pages: int | None = None,
    warmup: int | None = None,
    workers: int | None = None,
    address: str | None = None,
    out: Path = Path("results/leaderboard"),
) -> None:
    """Rank policies, agents and bounds (rules that use the future).

    The best pair of victim rule and placement scores 0, the best bound 1. With --policy or --agent, only
    these, the bounds and the suite's baseline (score 0) are ranked. Other options override the suite; fewer
    --host-pages shorten its warm-up. Writes leaderboard.md and .json. Repeat a command to continue it.

    Examples:
        ssdgym leaderboard
        ssdgym leaderboard wa --split validation --policy "cost_benefit+dac" --agent runs/mine/agent.zip
    """
    from ssdgym.experiments.leaderboard.board import Entry, Leaderboard, named_policy
    from ssdgym.experiments.leaderboard.standings import suite_board
    from ssdgym.experiments.leaderboard.suites import load_suite
    from ssdgym.experiments.leaderboard.text import rich_board, write_leaderboard

    given = {"seeds": seeds, "host_pages": host_pages, "warmup": warmup}
    changes = {name: value for name, value in given.items() if value is not None}
    named: dict[str, Any] = {"policies": tuple(policy or ())} if policy or agent else {}
    if agent:
        named |= {"agents": agent, "environment": environment_fields(environment, env_arg) or None}
    suites = {Path(name).stem: load_suite(name) for name in suite or SUITES}
    if len(suites) < len(suite or SUITES):
        raise SsdgymError("leaderboard: two suites have one name, and so one folder; rename one.")
    splits: Any = tuple(dict.fromkeys(split or ["test"]))
    experiments = {
        title: config.experiment(splits, named or config.deciders, changes)
        for title, config in suites.items()
    }
    how: dict[str, Any] = {"workers": workers, "address": address, "trust": trust}
    boards, typed = [], [*(agent or ()), *(policy or ())]
    for title, config in suites.items():
        experiment, entries = experiments[title], []
        agents, results = carry_out(experiment, out / title, typed, **how)
        if named:
            entries = [
                Entry(label, "learned" if source.learns else "classic", (label,))
                for label, source in agents.items()
            ] + [named_policy(one) for one in experiment.policies]
            config = config.model_copy(update={"policies": (), "rules": (), "agents": (), "rivals": ()})
        pages = experiment.host_pages or 0, experiment.warmup  # suites set host_pages
        boards.append(suite_board(title, config, splits, results, pages, entries))
    board = Leaderboard(suites=tuple(boards))
    paths = write_leaderboard(board, out)
    show(board.model_dump(mode="json"), [*map(rich_board, board.suites), *paths], _WIDTH)
