"""`ssdgym tune`: a sweep over settings of an agent or a heuristic."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.cli.console import (
    compile_note,
    console,
    print_json,
    progress_bar,
    progress_note,
)
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.tuning.outcome import SweepOutcome
    from ssdgym.experiments.tuning.ray_tune import SweepProgress

#: Exit code where a trial failed.
FAILED = 1


def tune(
    sweep: Annotated[str, typer.Argument(help="Name of a sweep in configs/tuning, or a YAML file.")],
    size: Annotated[
        Literal["smoke", "full"], typer.Option(help="full: as it is meant; smoke: minutes, to see it work.")
    ] = "full",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the results. Default: results/tune/SWEEP-SIZE."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with the sweep in this folder. It holds pickles: only one that you trust."),
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

        ssdgym tune configs/tuning/gc-threshold.yaml --out results/thresholds --json
    """
    from ssdgym.experiments.tuning.config import load_sweep
    from ssdgym.experiments.tuning.ray_tune import run_sweep

    folder = out or resume or Path("results/tune", f"{Path(sweep).stem}-{size}")
    if resume and folder.resolve() != resume.resolve():
        raise SsdgymError(f"--out {out}: a sweep goes on in the folder of --resume; leave --out out")
    config = load_sweep(sweep, size)
    compile_note(quiet=as_json)
    try:
        with _progress(quiet=as_json) as watch:
            outcome = run_sweep(config, folder, resume=resume is not None, address=address, watch=watch)
    except KeyboardInterrupt:
        progress_note(
            f"stopped; go on with: ssdgym tune {sweep} --size {size} --resume {folder}", quiet=as_json
        )
        raise
    if as_json:
        print_json(_as_dict(outcome))
    else:
        _print(outcome)
    return FAILED if any(trial.state == "failed" for trial in outcome.trials) else 0


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[SweepProgress], None]]:
    """Show a bar; where stderr is no terminal, print a line whenever a trial has begun or ended."""
    lines = not quiet and not sys.stderr.isatty()
    noted = (0, 0)
    with progress_bar("trials", quiet=quiet) as advance:

        def watch(progress: SweepProgress) -> None:
            nonlocal noted
            text = f"{progress.running} running"
            if progress.failed:
                text += f", {progress.failed} failed"
            if progress.best is not None:
                text += f", best {progress.best:.6g}"
            advance(progress.share, progress.trials, text)
            if lines and (progress.done, progress.running) != noted:
                progress_note(f"{progress.done} of {progress.trials} trials done, {text}", quiet=False)
                noted = (progress.done, progress.running)

        yield watch


def _print(outcome: SweepOutcome) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading, lines = outcome.table()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in heading:
        # broken where a name has parts, since the numbers need less room than the names
        broken = name.replace(".", ".\n").replace(" [", "\n[")
        justify: Literal["left", "right"] = "left" if name == heading[-1] else "right"
        table.add_column(Text(broken), justify=justify, overflow="fold")
    for line in lines:
        table.add_row(*line)
    console().print(table)
    for trial in outcome.trials:
        if trial.error:
            print(f"trial {trial.trial.number} failed: {trial.error}", file=sys.stderr)
    if outcome.command:
        print("The best trial on seeds that have not chosen it:\n", outcome.command, "\n", sep="")
    for path in outcome.files:
        print(path)


def _as_dict(outcome: SweepOutcome) -> dict[str, Any]:
    agent = outcome.best_agent
    return {
        "trials": outcome.rows(),
        "best": outcome.best.trial.number if outcome.best else None,
        "agent": str(agent) if agent else None,
        "command": outcome.command,
        "files": [str(path) for path in outcome.files],
    }
