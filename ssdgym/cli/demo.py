"""``ssdgym demo``: learn garbage collection, then stand beside the classic heuristics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdgym.cli.console import compile_note, progress_note
from ssdgym.cli.evaluate import report, run_runs
from ssdgym.cli.options import AsJson, Out
from ssdgym.cli.train import learning


def demo(
    decisions: Annotated[
        int | None, typer.Option(min=1, help="Decisions to train for; default: as configured.")
    ] = None,
    host_pages: Annotated[int, typer.Option(min=1, help="Host pages per evaluated run.")] = 150_000,
    seeds: Annotated[int, typer.Option(min=2, help="How many held-out seeds.")] = 8,
    workers: Annotated[int, typer.Option(min=1, help="Processes for the evaluation.")] = 2,
    out: Out = Path("results/demo"),
    as_json: AsJson = False,
) -> None:
    """Train a small agent, then compare it with six heuristics on workload seeds it has never seen.

    Everybody writes relocated pages to a separate stream. A win is claimed only where the 95 % interval
    excludes zero; otherwise the output says that the agent does not beat the best heuristic.

    Examples:

        ssdgym demo

        ssdgym demo --decisions 20000 --seeds 3 --host-pages 50000 --out quick
    """
    from ssdgym.experiments.runs.demo import LEARNED, Demo
    from ssdgym.files import writable_folder

    writable_folder(out)
    train, TrainConfig, load_config = learning()
    first = Demo.seeds[0]
    plan = Demo(seeds=tuple(range(first, first + seeds)), host_pages=host_pages)
    config = load_config(TrainConfig, plan.training, "agents")
    if decisions is not None:
        config = config.model_copy(update={"total_decisions": decisions})
    compile_note(quiet=as_json)
    progress_note(f"1/2 training for {config.total_decisions:,} decisions", quiet=as_json)
    agent = train(config, out / "training", progress=not as_json, overwrite=True)
    runs = plan.runs(agent, objective=str(config.environment.kwargs.get("objective", "")))
    progress_note(f"2/2 comparing on {seeds} held-out seeds, {len(runs)} runs", quiet=as_json)
    report(run_runs(runs, workers, quiet=as_json), [LEARNED], out, as_json=as_json)
