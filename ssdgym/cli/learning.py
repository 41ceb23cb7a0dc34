"""Commands that train agents, export them, and list those of the zoo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.cli.console import console, print_json, table_of
from ssdgym.cli.options import AsJson
from ssdgym.config.fields import with_changes
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.agents.zoo.described import ZooAgent


_OF_AGENTS = ("cmaes", "torch", "safetensors", "stable_baselines3", "sb3_contrib")


@contextmanager
def agents_extra(instead: str = "") -> Iterator[None]:
    """Say what to install where an import lacks a package of the extra `agents`, and what to do instead."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_AGENTS:
            raise
        raise SsdgymError(
            f"agents need the package {error.name}: install it with pip install 'ssdgym[agents]'{instead}"
        ) from error


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
    algorithm: Annotated[
        Literal["ppo", "fast_ppo", "cmaes"] | None,
        typer.Option(help="Masked PPO, by Stable-Baselines3 or in plain PyTorch; default: as configured."),
    ] = None,
    decisions: Annotated[
        int | None, typer.Option(min=1, help="Decisions to train for; default: as configured.")
    ] = None,
    generations: Annotated[
        int | None, typer.Option(min=1, help="Generations of an evolution; default: as configured.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Seed; default: as configured.")
    ] = None,
    device: Annotated[str | None, typer.Option("--device", "-d", help="Device to train on.")] = None,
    workload: Annotated[str | None, typer.Option("--workload", "-w", help="Workload to train on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train an agent with the algorithm of its configuration: ppo, fast_ppo, cmaes or evolution.

    Writes agent.zip, the best on validation, agent-last.zip and evaluations.csv into the folder, and but for
    evolution checkpoints and TensorBoard logs. evolution searches weights by whole runs inside the engine,
    each beside a baseline's, on the training and the validation split of a suite.

    Examples:

        ssdgym train ppo-demo --out runs/zipf --workload zipf99

        ssdgym train --out runs/zipf --resume --decisions 800000

        ssdgym train ppo-smoke --algorithm fast_ppo --seed 3 --json

        ssdgym train placement-v2 --seed 1 --out runs/placement
    """
    from ssdgym.config.loading import load_config
    from ssdgym.files import writable_folder

    if resume and overwrite:
        raise SsdgymError("--resume goes on with the run that --overwrite would remove: give one of the two")
    with agents_extra():
        from ssdgym.agents.training.train import train as learn
        from ssdgym.experiments.leaderboard import training

    loaded = training.load_training(config)
    is_evolution = isinstance(loaded, training.SuiteEvolutionConfig)
    options = {
        "--algorithm": ("algorithm", algorithm, not is_evolution),
        "--decisions": ("total_decisions", decisions, not is_evolution),
        "--generations": ("generations", generations, is_evolution),
        "--seed": ("seed", seed, True),
        "--device": ("environment.kwargs.device", device, not is_evolution),
        "--workload": ("environment.kwargs.workload", workload, not is_evolution),
        "--resume": ("", resume or None, not is_evolution),
    }
    given = {option: one for option, one in options.items() if one[1] is not None}
    for option, (_, _, fits) in given.items():
        if not fits:
            raise SsdgymError(f"{option} does not fit the algorithm of {config}; leave it out.")
    changes = {field: value for field, value, _ in given.values() if field}
    settings: Any = load_config(type(loaded), with_changes(loaded.model_dump(), changes), "training")
    writable_folder(out)
    others = [f"{name} {one[1]}" for name, one in given.items() if name not in ("--seed", "--resume")]
    command = " ".join([f"ssdgym train {config} --seed {settings.seed}", *others])
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

        ssdgym export runs/first/agent.zip --out victim.h

        ssdgym export victim-v1 --out victim.h

        ssdgym export runs/first/agent.zip --out victim.h --name victim --json
    """
    from ssdgym.files import write_bytes

    with agents_extra():
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


zoo = typer.Typer(help="Agents that come with ssdgym, each a rule by name: agent:NAME.", no_args_is_help=True)
#: What a table needs to keep what an agent is trained with on few lines.
_WIDTH = 150


@zoo.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents: what they decide, what they cost, what trained them, and what was measured of them.

    Examples:

        ssdgym zoo list

        ssdgym zoo list --json
    """
    from ssdgym.agents.zoo.described import described_zoo

    agents = described_zoo()
    if as_json:
        print_json([agent.as_dict() for agent in agents])
        return
    if not agents:
        print("The zoo is empty.")
        return
    words, numbers = (
        ["name", "decides", "network", "trained with", "results"],
        ["features", "multiply-adds", "bytes"],
    )
    rows = [
        (agent.name, agent.decides, agent.network, _training(agent), _results(agent), *_numbers(agent))
        for agent in agents
    ]
    console(_WIDTH).print(table_of(words, numbers, rows))


def _training(agent: ZooAgent) -> str:
    """Return the command, or what has trained the agent, and on what."""
    made = agent.made
    words = {"seed": "seed {}", "suite": "suite {}", "split_digest": "splits {:.12}"}
    facts = ", ".join(form.format(made[name]) for name, form in words.items() if name in made)
    return "\n".join(filter(None, (str(made.get("command", made["trained_by"])), facts)))


def _results(agent: ZooAgent) -> str:
    return "\n".join(f"{name}: {value:,.4g}" for name, value in agent.card.results.items()) or "-"


def _numbers(agent: ZooAgent) -> tuple[str, str, str]:
    cost = agent.cost
    each = f" + {cost.candidate_multiply_adds:,} each" if cost.candidate_multiply_adds else ""
    return str(len(agent.features)), f"{cost.shared_multiply_adds:,}{each}", f"{cost.weight_bytes:,}"


@zoo.command("show")
def show_agent(
    name: Annotated[str, typer.Argument(help="Name of an agent, or path of its file.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Show all that the card of one agent says.

    Examples:

        ssdgym zoo show runs/first/agent.zip

        ssdgym zoo show runs/first/agent.zip --json
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
