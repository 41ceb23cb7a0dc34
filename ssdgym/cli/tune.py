"""`ssdgym tune`: a sweep over settings of an agent or a heuristic."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdgym.cli.console import compile_note, console, print_json, progress_bar, progress_note
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError

#: Exit code where a trial failed.
FAILED = 1


def tune(
    sweep: Annotated[str, typer.Argument(help="Name of a sweep in configs/sweeps, or a YAML file.")],
    size: Annotated[
        Literal["smoke", "full"], typer.Option(help="full: as it is meant; smoke: minutes, to see it work.")
    ] = "full",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the results. Default: results/tune/SWEEP-SIZE."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with the sweep in this folder; what has finished is not repeated."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray cluster (auto, HOST:PORT). Default: a local one.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Try settings of an agent or a heuristic on Ray Tune; print the trials, the best first.

    Every trial is judged on workloads and seeds that no training has used. Writes trials.md, trials.csv,
    results.parquet, results.csv and the best agent, best/agent.zip. Exits with 1 if a trial failed.

    Examples:

        ssdgym tune ppo-erase-victim --size smoke

        ssdgym tune ppo-erase-victim --size smoke --resume results/tune/ppo-erase-victim-smoke
    """
    from ssdgym.experiments.sweeps.config import load_sweep

    folder = out or resume or Path("results/tune", f"{Path(sweep).stem}-{size}")
    if resume and folder.resolve() != resume.resolve():
        raise SsdgymError(f"--out {out}: a sweep goes on in the folder of --resume; leave --out out")
    config = load_sweep(sweep, size)
    progress_note(
        f"{config.description}: {config.number_of_trials} trials, {config.concurrent} at a time, on Ray",
        quiet=as_json,
    )
    from ssdgym.experiments.sweeps.tuner import run_sweep  # imports Ray, which takes seconds

    compile_note(quiet=as_json)
    try:
        with progress_bar("trials", quiet=as_json) as advance:
            outcome = run_sweep(
                config,
                folder,
                resume=resume is not None,
                address=address,
                progress=advance,
                say=partial(progress_note, quiet=as_json),
            )
    except KeyboardInterrupt:
        progress_note(
            f"stopped; go on with: ssdgym tune {sweep} --size {size} --resume {folder}", quiet=as_json
        )
        raise
    if as_json:
        agent = outcome.best_agent
        best = outcome.best.number if outcome.best else None
        files = [str(path) for path in outcome.files]
        facts = {"trials": outcome.rows(), "best": best, "agent": str(agent) if agent else None}
        print_json({**facts, "command": outcome.command, "files": files})
    else:
        console().print(outcome.table.to_rich())
        for trial in outcome.trials:
            if trial.error:
                print(f"trial {trial.number} failed: {trial.error}", file=sys.stderr)
        if outcome.command:
            print("The best trial on seeds that have not chosen it:\n", outcome.command, "\n", sep="")
        for path in outcome.files:
            print(path)
    return FAILED if any(trial.state == "failed" for trial in outcome.trials) else 0
