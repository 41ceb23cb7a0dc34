"""`ssdgym train`: train an agent, or go on with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ssdgym.cli.console import print_json
from ssdgym.cli.learning.extras import agents_extra
from ssdgym.cli.options import AsJson
from ssdgym.config.fields import with_changes
from ssdgym.errors import SsdgymError


def train(
    config: Annotated[
        str, typer.Option("--config", "-c", help="Name of a configuration in configs/agents, or a YAML file.")
    ] = "ppo-demo",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run; made where missing.")] = Path(
        "runs/train"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")] = False,
    algorithm: Annotated[
        Literal["ppo", "fast_ppo", "dqn"] | None,
        typer.Option(help="Masked PPO, by SB3 or in plain PyTorch, or masked DQN; default: as configured."),
    ] = None,
    decisions: Annotated[
        int | None, typer.Option(min=1, help="Decisions to train for; default: as configured.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed; default: as configured.")] = None,
    device: Annotated[str | None, typer.Option("--device", "-d", help="Device to train on.")] = None,
    workload: Annotated[str | None, typer.Option("--workload", "-w", help="Workload to train on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train an agent; write agent.zip, checkpoints, evaluations.csv and TensorBoard logs into the folder.

    Examples:

        ssdgym train --config ppo-demo --out runs/zipf --workload zipf99

        ssdgym train --out runs/zipf --resume --decisions 800000

        ssdgym train --config ppo-smoke --algorithm dqn --seed 3 --json
    """
    from ssdgym.files import writable_folder

    if resume and overwrite:
        raise SsdgymError("--resume goes on with the run that --overwrite would remove: give one of the two")
    learn, _, load_config = learning()
    from ssdgym.experiments.suites.training import SuiteTrainConfig, training_of

    changes = {
        "algorithm": algorithm,
        "total_decisions": decisions,
        "seed": seed,
        "environment.kwargs.device": device,
        "environment.kwargs.workload": workload,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    fields = load_config(SuiteTrainConfig, config, "agents").model_dump()
    asked = load_config(SuiteTrainConfig, with_changes(fields, given), "agents")
    writable_folder(out)
    settings, about = training_of(asked)
    agent = learn(
        settings, out, out if resume else None, progress=not as_json, overwrite=overwrite, about=about
    )
    if as_json:
        print_json({"agent": str(agent), "folder": str(out), "config": settings.model_dump(mode="json")})
    else:
        print(agent)


def learning() -> tuple[Any, Any, Any]:
    """Import what needs the packages of the extra `agents`."""
    with agents_extra():
        from ssdgym.agents.config import TrainConfig
        from ssdgym.agents.train import train as learn
    from ssdgym.config.loading import load_config

    return learn, TrainConfig, load_config
