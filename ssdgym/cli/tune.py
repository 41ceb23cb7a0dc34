"""`ssdgym tune`: a sweep over settings of an agent or a heuristic."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.cli.console import (
    Advance,
    compile_note,
    console,
    is_watched,
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
        with _progress(quiet=as_json) as progress:
            outcome = run_sweep(
                config,
                folder,
                resume=resume is not None,
                address=address,
                watch=progress.watch,
                say=progress.say,
            )
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


class _Progress:
    """Shows how far a sweep is: a bar below the lines, or lines alone where nobody watches.

    Args:
        advance: moves the bar.
        lines: whether progress is told in lines, too.
        quiet: whether nothing is told.
    """

    def __init__(self, advance: Advance, *, lines: bool, quiet: bool) -> None:
        self.advance = advance
        self.lines = lines
        self.quiet = quiet
        self.told = (0, 0)

    def say(self, text: str) -> None:
        """Tell what has happened to a trial."""
        progress_note(text, quiet=self.quiet)

    def watch(self, progress: SweepProgress) -> None:
        """Tell how far the trials are: in lines after every trial, and after every tenth of the work."""
        text = f"{progress.running} running"
        if progress.waiting:
            text += f", {progress.waiting} waiting"
        if progress.failed:
            text += f", {progress.failed} failed"
        if progress.best is not None:
            text += f", best {progress.best:.6g}"
        self.advance(progress.share, progress.trials, text)
        far = (progress.done, int(10 * progress.share / progress.trials))
        if self.lines and far != self.told:
            percent = 100 * progress.share / progress.trials
            self.say(f"{percent:.0f} %: {progress.done} of {progress.trials} trials done, {text}")
            self.told = far


@contextmanager
def _progress(*, quiet: bool) -> Iterator[_Progress]:
    lines = not is_watched()
    with progress_bar("trials", quiet=quiet or lines) as advance:
        yield _Progress(advance, lines=lines and not quiet, quiet=quiet)


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
