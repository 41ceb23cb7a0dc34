"""`ssdgym evolve`: search the weights of an agent by whole runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdgym.cli.console import print_json
from ssdgym.cli.learning.extras import agents_extra
from ssdgym.cli.options import AsJson


def evolve(
    config: Annotated[
        str,
        typer.Option("--config", "-c", help="Name of a configuration in configs/evolutions, or a YAML file."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the agent; made where missing.")] = Path(
        "runs/evolve"
    ),
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Seed, in place of the configured.")
    ] = None,
    generations: Annotated[
        int | None, typer.Option(min=1, help="Generations; default: as configured.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the agent in --out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search the weights of an agent by whole runs inside the engine, each beside a baseline's.

    Uses the training and the validation split of a suite, never the test split. Writes agent.zip, the best on
    the validation tasks, agent-last.zip and evaluations.csv into the folder.

    Examples:

        ssdgym evolve --config placement-v2 --seed 1 --out runs/placement

        ssdgym evolve --config placement-v2 --generations 2 --out runs/try --json
    """
    from ssdgym.config.loading import load_config

    with agents_extra():
        from ssdgym.experiments.evolution.config import EvolutionConfig
        from ssdgym.experiments.evolution.train import evolve as search
    given = {"seed": seed, "generations": generations}
    settings = load_config(EvolutionConfig, config, "evolutions")
    settings = settings.model_copy(update={key: value for key, value in given.items() if value is not None})
    command = f"ssdgym evolve --config {config} --seed {settings.seed}"
    command += "" if generations is None else f" --generations {generations}"
    agent = search(settings, out, progress=not as_json, overwrite=overwrite, command=command)
    if as_json:
        print_json({"agent": str(agent), "folder": str(out), "config": settings.model_dump(mode="json")})
    else:
        print(agent)
