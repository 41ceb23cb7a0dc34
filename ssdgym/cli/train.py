"""`ssdgym train` and `ssdgym tune`: train agents, and search for settings."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Literal

from ssdgym.cli.console import FAILED, note, progress_bar, show
from ssdgym.cli.options import Texts, parse_pairs
from ssdgym.errors import SsdgymError, needing


def train(
    config: str | None = None,
    out: Path = Path("runs/train"),
    go_on: bool = False,
    overwrite: bool = False,
    decisions: int | None = None,
    train_seed: int | None = None,
    workload: Texts = None,
    settings: Texts = None,
) -> None:
    """Train an agent with the algorithm of its configuration: ppo, cmaes or evolution.

    Writes agent.zip (the agent that was best in validation), agent-last.zip, evaluations.csv, checkpoints and
    logs of TensorBoard. evolution measures weights in whole compiled runs; it writes no checkpoints and logs.

    Examples:
        ssdgym train ppo-demo --out runs/zipf --workload zipf99
        ssdgym train --out runs/zipf --resume --decisions 800000
        ssdgym train placement-v2 --seed 1 --out runs/placement
    """
    from ssdgym.config.fields import with_changes
    from ssdgym.config.loading import load_config
    from ssdgym.files import writable_folder
    from ssdgym.own_code import named_modules

    if go_on and overwrite:
        raise SsdgymError("--resume goes on with the run that --overwrite would remove: give one of the two")
    with needing("agents", "agents need"):
        from ssdgym.agents.training.checkpoint import FILE_NAME
        from ssdgym.agents.training.train import train as learn
        from ssdgym.experiments.leaderboard import training

    loaded, words = training.run_of(config, out if go_on else None)
    is_evolution = isinstance(loaded, training.SuiteEvolutionConfig)
    if go_on and is_evolution:
        raise SsdgymError(f"--resume: the evolution of {config} cannot go on from a checkpoint; leave it out")
    changes = parse_pairs("--set", settings)
    given = {"total_decisions": decisions, "environment.kwargs.workload": workload}
    changes |= {name: value for name, value in given.items() if value}
    seed = {} if train_seed is None else {"seed": train_seed}
    chosen: Any = load_config(type(loaded), with_changes(loaded.model_dump(), changes | seed), "training")
    writable_folder(out)
    more = [] if "--seed" in words else ["--seed", str(chosen.seed)]
    more += [f"--set={name}={json.dumps(value)}" for name, value in changes.items()]
    more += [f"--import={module}" for module in named_modules()]
    command = shlex.join([*words, *more]) if words else ""
    if is_evolution:
        agent = training.evolve(chosen, out, overwrite=overwrite, command=command)
    else:
        chosen, about = training.training_of(chosen)
        about["command"] = command
        try:
            agent = learn(chosen, out, out if go_on else None, overwrite=overwrite, about=about)
        except KeyboardInterrupt:
            if (out / FILE_NAME).exists():
                note(f"stopped; go on from the last checkpoint with: ssdgym train --out {out} --resume")
            raise
    shown = {"agent": str(agent), "folder": str(out), "config": chosen.model_dump(mode="json")}
    show(shown, [agent])


def tune(
    sweep: str,
    size: Literal["smoke", "full"] = "full",
    out: Path | None = None,
    resume: Path | None = None,
    address: str | None = None,
) -> int:
    """Try settings of an agent or a heuristic with Ray Tune; print the trials, the best trial first.

    Every trial is measured on workloads and seeds that training does not use. The command writes trials.md,
    trials.csv, results.parquet, results.csv and the best agent, best/agent.zip, by default to
    results/tune/SWEEP-SIZE. The exit code is 1 if a trial failed.

    Examples:
        ssdgym tune ppo-erase-victim --size smoke
        ssdgym tune ppo-erase-victim --size smoke --resume results/tune/ppo-erase-victim-smoke
    """
    from ssdgym.experiments.sweeps.config import load_sweep

    folder = out or resume or Path("results/tune", f"{Path(sweep).stem}-{size}")
    if resume and folder.resolve() != resume.resolve():
        raise SsdgymError(f"--out {out}: a sweep goes on in the folder of --resume; leave --out out")
    config = load_sweep(sweep, size)
    trials, at_once = config.number_of_trials, config.concurrent
    note(f"{config.description}: {trials} trials, {at_once} at a time, on Ray")
    from ssdgym.experiments.sweeps.tuner import run_sweep  # imports Ray, which takes seconds

    try:
        with progress_bar("trials") as advance:
            outcome = run_sweep(
                config, folder, resume=resume is not None, address=address, progress=advance, say=note
            )
    except KeyboardInterrupt:
        note(f"stopped; go on with: ssdgym tune {sweep} --size {size} --resume {folder}")
        raise
    best = None if outcome.best is None else outcome.best.number
    agent = None if outcome.best_agent is None else str(outcome.best_agent)
    files = [*map(str, outcome.files)]
    data = {"trials": outcome.rows(), "best": best, "agent": agent, "command": outcome.command}
    fresh = [f"The best trial on other seeds:\n{outcome.command}"] if outcome.command else []
    show(data | {"files": files}, [outcome.table.to_rich(), *fresh, *files])
    for trial in outcome.trials:
        if trial.error:
            note(f"trial {trial.number} failed: {trial.error}")
    return FAILED if any(trial.state == "failed" for trial in outcome.trials) else 0
