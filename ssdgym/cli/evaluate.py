"""`ssdgym evaluate`: a grid of policies and agents, with intervals; it can be interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import (
    compile_note,
    console,
    print_json,
    progress_bar,
    progress_note,
)
from ssdgym.cli.options import PRECONDITIONING_HELP, AsJson, Ftl, Trust, parse_ftl, parse_seeds
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.config import ExperimentConfig
    from ssdgym.experiments.runs.grid import Failure, Grid, GridReport, Runner
    from ssdgym.experiments.runs.store import Store

#: Exit code where a run failed.
SOME_FAILED = 1

#: What is run without an experiment, where no option says otherwise.
DEFAULTS: dict[str, Any] = {
    "devices": ["demo"],
    "workloads": ["zipf99", "hot90"],
    "policies": ["random", "fifo", "greedy", "d_choices", "windowed_greedy", "cost_benefit"],
    "seeds": "1000-1004",
    "host_pages": 500_000,
    "warmup": 50_000,
}


def evaluate(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="Name of an experiment in configs/experiments, or a YAML file.", show_default=False
        ),
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option("--device", "-d", help="Device; repeat for more. Default: demo.")
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", "-w", help="Workload or trace; repeat for more. Default: zipf99, hot90."),
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="Policy; repeat for more. Default: all six.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            "-a",
            help="File of a trained agent, module:callable, a zip of Stable-Baselines3, or random_action;"
            " repeat for more.",
        ),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            help="Environment of agents that do not know their own. Default: ssdgym/EraseVictim-v0."
        ),
    ] = None,
    env_arg: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Argument of it such as candidates=8; repeat for more."),
    ] = None,
    trust: Trust = False,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds: 5, or 1,2,9, or 100-109. Default: 1000-1004.")
    ] = None,
    host_pages: Annotated[
        int | None, typer.Option(min=1, help="Host pages per run. Default: 500000.")
    ] = None,
    warmup: Annotated[
        int | None, typer.Option(min=0, help="Host pages before them, not measured. Default: 50000.")
    ] = None,
    ftl: Ftl = None,
    preconditioning: Annotated[
        str | None, typer.Option(help=f"{PRECONDITIONING_HELP} Default: workload.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes. Default: 2.")] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Run as Ray tasks, on a local cluster.")] = False,
    address: Annotated[
        str | None,
        typer.Option(help="Run as Ray tasks, on the cluster at this address (auto: the running one)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder; new, empty, or to go on with. Default: results/EXPERIMENT."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every policy and agent on every device, workload and seed; print a table with 95 % intervals.

    An option replaces what the experiment says. The output folder keeps every finished run: the same command
    goes on where it was interrupted, and another grid in the same folder repeats nothing. Writes
    results.parquet, results.csv, timings.csv, tables and figures. Exits with 1 if a run has failed.

    Examples:

        ssdgym evaluate classic --out results/classic

        ssdgym evaluate my-experiment.yaml --seeds 100-109 --workers 8

        ssdgym evaluate --workload zipf99 --workload hot90 --agent runs/demo/agent.zip --policy greedy

        ssdgym evaluate --workload zipf99 --agent random_action --agent my_agents:build --policy greedy

        ssdgym evaluate --device ippbe-mlc --ftl placement=sep_gc --ftl gc.free_blocks=8 --json
    """
    from ssdgym.experiments.runs.expand import agent_labels, expand
    from ssdgym.experiments.runs.grid import Grid
    from ssdgym.experiments.runs.store import Store

    if ray and address is None:
        address = "local"
    if workers is not None and address not in (None, "local"):
        raise SsdgymError(f"--workers {workers}: a cluster at {address} has its own; leave --workers out")
    changes = {
        "devices": device,
        "workloads": workload,
        "policies": policy,
        "agents": agent,
        "environment": _environment(environment, env_arg),
        "seeds": None if seeds is None else parse_seeds(seeds),
        "host_pages": host_pages,
        "warmup": warmup,
        "preconditioning": preconditioning,
        "ftls": [dict(parse_ftl(ftl))] if ftl else None,
    }
    config = _changed(experiment, {name: value for name, value in changes.items() if value is not None})
    folder = out or Path("results") / (Path(experiment).stem if experiment else "evaluate")
    sources = agent_labels(config.agents, trusted=(trusted := _trusted(config.agents, agent or (), trust)))
    grid = Grid.of(expand(config, trusted=trusted))
    with Store(folder) as store:
        found = run_stored(grid, store, folder, runner_of(workers or 2, address), quiet=as_json)
    learned = [label for label, source in sources.items() if source.learns]
    _finish(found, learned, folder, as_json=as_json)


def _trusted(agents: Sequence[str], typed: Sequence[str], everything: bool) -> set[str]:
    """Return the agents whose code may be executed: modules that were named on the command line, or all.

    A file of an experiment, or of Stable-Baselines3, may come from a stranger; what is typed here does not.
    """
    from ssdgym.agents.playing.callables import CallableSource
    from ssdgym.agents.playing.sources import untrusted_source_of

    if everything:
        return set(agents)
    return {agent for agent in typed if isinstance(untrusted_source_of(agent), CallableSource)}


def _environment(name: str | None, arguments: list[str] | None) -> dict[str, Any] | None:
    """Return the fields of `EnvironmentConfig` that options give; `None` without any."""
    if name is None and not arguments:
        return None
    from ssdgym.agents.playing.callables import read_parameters

    kwargs = read_parameters("--env-arg", arguments or ())
    return {**({} if name is None else {"id": name}), "kwargs": kwargs}


def _changed(experiment: str | None, changes: dict[str, Any]) -> ExperimentConfig:
    """Return the experiment with what the command line replaces."""
    from ssdgym.experiments.runs.config import load_experiment

    own = DEFAULTS if experiment is None else load_experiment(experiment).model_dump(exclude_unset=True)
    if "host_pages" in changes:
        own = {name: value for name, value in own.items() if name != "requests"}
    return load_experiment({**own, **changes})


def runner_of(workers: int, address: str | None) -> Runner:
    """Return what carries out jobs.

    Args:
        workers: number of processes.
        address: of a Ray cluster, `local` for a new one on this machine; `None`: without Ray.
    """
    if address is not None:
        from ssdgym.experiments.runs.ray_runner import run_on_ray

        return lambda jobs: run_on_ray(jobs, None if address == "local" else address, workers)
    from ssdgym.experiments.runs.workers import run_locally

    return lambda jobs: run_locally(jobs, workers)


def run_stored(grid: Grid, store: Store, folder: Path, runner: Runner, *, quiet: bool) -> GridReport:
    """Carry out a grid with a progress bar; report what is there already, and after Ctrl-C how to go on.

    Args:
        grid: what to run.
        store: of `folder`, for what is finished.
        folder: of the results.
        runner: carries the jobs out.
        quiet: whether the output is for a machine.

    Raises:
        SsdgymError: the store cannot be written.
    """
    from ssdgym.experiments.runs.grid import run_grid

    _note_stored(grid, store, quiet=quiet)
    compile_note(quiet=quiet)
    done = 0

    def follow(finished: int, total: int) -> None:
        nonlocal done
        done = finished
        advance(finished, total)

    try:
        with progress_bar("runs", quiet=quiet) as advance:
            return run_grid(grid, store, runner, follow)
    except KeyboardInterrupt:
        progress_note(
            f"interrupted: {done} of {len(grid.runs)} runs are finished and kept in {folder}; the same "
            "command goes on from there",
            quiet=False,
        )
        raise


def _note_stored(grid: Grid, store: Store, *, quiet: bool) -> None:
    finished = store.finished(grid.keys)
    if finished:
        done = sum(key in finished for key in grid.keys)
        progress_note(f"{done} of {len(grid.keys)} runs are finished already", quiet=quiet)
    same, other = store.others(grid.keys)
    if same:
        progress_note(
            f"{same} finished runs belong to another grid; they are kept, not reported", quiet=quiet
        )
    if other:
        progress_note(
            f"{other} finished runs are of another version or engine; they are kept, not reused", quiet=quiet
        )


def _finish(found: GridReport, learned: Sequence[str], folder: Path, *, as_json: bool) -> None:
    """Report a complete grid; of another one write what there is, and name what is missing."""
    from ssdgym.experiments.runs.grid import write_grid, write_timings

    if not found.failures:
        timings = write_timings(found.results, folder)
        report(found.results, learned, folder, as_json=as_json, others=[timings])
        return
    paths = write_grid(found.results, folder)
    if as_json:
        failed = [{**_names(failure), "error": failure.sentence} for failure in found.failures]
        print_json(
            {
                "results": [result.as_dict() for result in found.results],
                "failed": failed,
                "files": [str(path) for path in paths],
            }
        )
    else:
        print("\n".join(map(str, paths)))
    for failure in found.failures:
        progress_note(f"failed: {failure}", quiet=False)
    progress_note(
        f"{len(found.failures)} of {len(found.failures) + len(found.results)} runs failed, so there is no "
        "table; the same command tries them again and repeats nothing else",
        quiet=False,
    )
    raise typer.Exit(SOME_FAILED)


def _names(failure: Failure) -> dict[str, Any]:
    run = failure.run
    return {
        "device": run.device_name,
        "workload": run.workload_name,
        "policy": run.policy,
        "seed": run.seed,
    }


def report(
    results: Sequence[Result],
    learned: Sequence[str],
    out: Path,
    *,
    as_json: bool,
    others: Sequence[Path] = (),
) -> None:
    """Write results, table and figures; print the table, the verdicts and the paths.

    Args:
        results: of a whole grid.
        learned: the policies that learned.
        out: an existing folder.
        as_json: print JSON instead.
        others: paths of files that were written beside these.
    """
    from ssdgym.experiments.report.files import write_report
    from ssdgym.experiments.report.tables import rich_tables, verdicts

    paths = [*write_report(results, out, learned), *others]
    sentences = verdicts(results, learned)
    if as_json:
        print_json(
            {
                "results": [result.as_dict() for result in results],
                "verdicts": sentences,
                "files": [str(path) for path in paths],
            }
        )
        return
    console().print(rich_tables(results, learned))
    for line in [*sentences, "", *map(str, paths)]:
        print(line)
