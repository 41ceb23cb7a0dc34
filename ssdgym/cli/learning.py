"""`ssdgym train`, and `ssdgym zoo`: what can be done with agents."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ssdgym.cli.console import print_json
from ssdgym.cli.episodes import dataset, watch
from ssdgym.cli.options import AsJson, parse_pairs
from ssdgym.config.fields import with_changes
from ssdgym.errors import SsdgymError, needing


def train(
    config: Annotated[
        str, typer.Argument(help="Name of a configuration in configs/training, or a YAML file.")
    ] = "ppo-demo",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run; made where missing.")] = Path(
        "runs/train"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in --out; not with evolution.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")] = False,
    decisions: Annotated[
        int | None, typer.Option(min=1, help="Decisions to train for; default: as configured.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Seed; default: as configured.")
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option("--workload", "-w", help="Workload to train on; repeat for more.")
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Field of the configuration, such as algorithm=fast_ppo, generations=8 or"
            " environment.kwargs.device=tiny; repeat for more.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train an agent with the algorithm of its configuration: ppo, fast_ppo, cmaes or evolution.

    Writes agent.zip, the best on validation, agent-last.zip and evaluations.csv into the folder, and except
    for evolution checkpoints and TensorBoard logs. evolution searches weights by whole runs inside the
    engine, each beside a baseline's, on the training and the validation split of a suite.

    Examples:

        ssdgym train ppo-demo --out runs/zipf --workload zipf99

        ssdgym train --out runs/zipf --resume --decisions 800000

        ssdgym train placement-v2 --seed 1 --out runs/placement
    """
    from ssdgym.config.loading import load_config
    from ssdgym.files import writable_folder

    if resume and overwrite:
        raise SsdgymError("--resume goes on with the run that --overwrite would remove: give one of the two")
    with needing("agents", "agents need"):
        from ssdgym.agents.training.train import train as learn
        from ssdgym.experiments.leaderboard import training

    loaded = training.load_training(config)
    is_evolution = isinstance(loaded, training.SuiteEvolutionConfig)
    if resume and is_evolution:
        raise SsdgymError(f"--resume: the evolution of {config} cannot go on from a checkpoint; leave it out")
    changes = parse_pairs("--set", fields)
    changes |= {} if decisions is None else {"total_decisions": decisions}
    changes |= {} if seed is None else {"seed": seed}
    if workload:
        changes["environment.kwargs.workload"] = workload[0] if len(workload) == 1 else workload
    settings: Any = load_config(type(loaded), with_changes(loaded.model_dump(), changes), "training")
    writable_folder(out)
    words = [] if decisions is None else ["--decisions", str(decisions)]
    words += [word for one in workload or () for word in ("--workload", one)]
    words += [word for one in fields or () for word in ("--set", one)]
    command = shlex.join(["ssdgym", "train", config, "--seed", str(settings.seed), *words])
    if is_evolution:
        agent = training.evolve(settings, out, progress=not as_json, overwrite=overwrite, command=command)
    else:
        settings, about = training.training_of(settings)
        about["command"] = command
        resumed = out if resume else None
        agent = learn(settings, out, resumed, progress=not as_json, overwrite=overwrite, about=about)
    if as_json:
        print_json({"agent": str(agent), "folder": str(out), "config": settings.model_dump(mode="json")})
    else:
        print(agent)


def export(
    agent: Annotated[
        str,
        typer.Argument(
            help="File that ssdgym train wrote, or name of an agent of the zoo.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="The C header to write.", show_default=False)],
    name: Annotated[str, typer.Option(help="What its functions begin with.")] = "agent",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the header if it is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write an agent as one C header without dependencies, for other simulators and for firmware.

    Its functions take features in the order in which the header lists them: NAME_scores and NAME_choose of
    an agent that scores candidates, NAME_act of one with an ordinal network.

    Examples:

        ssdgym zoo export victim-v1 --out victim.h

        ssdgym zoo export runs/first/agent.zip --out victim.h --name victim --json
    """
    from ssdgym.files import write_bytes

    with needing("agents", "agents need"):
        from ssdgym.agents.agent import Agent
        from ssdgym.agents.c_header import c_header
        from ssdgym.agents.card import cost_of
    if out.exists() and not overwrite:
        raise SsdgymError(f"{out}: is there already; give another name, or --overwrite to replace it.")
    loaded = Agent.load(agent)
    write_bytes(out, c_header(loaded, name).encode())
    cost = cost_of(loaded.card)
    if as_json:
        print_json({"header": str(out), **vars(cost)})
        return
    print(
        f"{out}: {cost.weight_bytes:,} bytes of weights; a decision costs {cost.shared_multiply_adds:,} "
        f"multiply-adds, and {cost.candidate_multiply_adds:,} for every candidate"
    )


zoo = typer.Typer(
    help="Show, export, watch and record agents: those that come with ssdgym (agent:NAME) and your own.",
    no_args_is_help=True,
)
zoo.command("export")(export)
zoo.command("watch")(watch)
zoo.command("dataset")(dataset)


@zoo.command("show")
def show_agent(
    name: Annotated[str, typer.Argument(help="Name of an agent, or path of its file.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Show all that the card of one agent says.

    Examples:

        ssdgym zoo show runs/first/agent.zip
    """
    from ssdgym.agents.zoo.described import described_agent

    agent = described_agent(name)
    if as_json:
        print_json(agent.as_dict())
        return
    for key, value in agent.as_dict().items():
        if isinstance(value, dict):
            print(f"{key}:", "" if value else "-")
            for inner, number in value.items():
                print(f"  {inner}: {number:,.4g}")
        else:
            print(f"{key}: {', '.join(value) if isinstance(value, list) else value}")
