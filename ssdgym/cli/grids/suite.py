"""`ssdgym suite`: score policies and agents on the tasks of a suite."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ssdgym.cli.console import console, print_json
from ssdgym.cli.grids.stored import Runs, environment_fields, finish
from ssdgym.cli.options import AsJson, Trust, parse_seeds
from ssdgym.errors import SsdgymError


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
    split: Annotated[
        list[str] | None,
        typer.Option("--split", "-s", help="training, validation or test; repeat for more. Default: test."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds: 5, or 1,2,9, or 100-109.")] = None,
    host_pages: Annotated[int | None, typer.Option(min=1, help="Host pages per run.")] = None,
    warmup: Annotated[int | None, typer.Option(min=0, help="Host pages before them, not measured.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes. Default: 2.")] = None,
    address: Annotated[
        str | None, typer.Option(help="Run as Ray tasks: local, or the address of a cluster.")
    ] = None,
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
    from ssdgym.experiments.suites.config import SPLITS, load_suite
    from ssdgym.experiments.suites.scores import score
    from ssdgym.experiments.suites.tables import rich_scores

    config = load_suite(name)
    for word in split or ():
        if word not in config.splits:
            raise SsdgymError(f"--split {word} is none of the suite's; choose {' or '.join(config.splits)}.")
    wanted = [one for one in SPLITS if one in (split or ["test"])]
    if not wanted or any(one not in config.splits for one in wanted):
        raise SsdgymError(f"suite {name} has no split test; choose --split {' or '.join(config.splits)}.")
    deciders: dict[str, Any] = {"policies": tuple(policy or (() if agent else config.policies))}
    if agent:
        deciders |= {"agents": agent, "environment": environment_fields(environment, env_arg)}
    changes = {
        "seeds": None if seeds is None else parse_seeds(seeds),
        "host_pages": host_pages,
        "warmup": warmup,
    }
    experiment = config.experiment(wanted, deciders, {key: v for key, v in changes.items() if v is not None})
    folder = out or Path("results") / Path(name).stem
    found, learned = Runs(folder, workers, address, trust).carry_out(experiment, agent or (), quiet=as_json)
    if found.failures:
        finish(found, learned, folder, as_json=as_json)
    scores = score(found.results, config)
    if as_json:
        print_json(asdict(scores))
        return
    console().print(rich_scores(scores, config, learned))
    for line in scores.left_out:
        print(line)
