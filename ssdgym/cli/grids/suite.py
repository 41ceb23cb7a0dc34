"""`ssdgym suite`: score policies and agents on the tasks of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ssdgym.cli.console import console, print_json
from ssdgym.cli.grids.stored import Runs, environment_fields
from ssdgym.cli.grids.suites import Address, HostPages, Seeds, SplitOption, SuiteRuns, Warmup, Workers
from ssdgym.cli.options import AsJson, Trust


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
    from ssdgym.experiments.suites.scores import score
    from ssdgym.experiments.suites.tables import rich_scores

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
