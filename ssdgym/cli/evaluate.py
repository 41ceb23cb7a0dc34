"""Commands and options of grids of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import compile_note, console, print_json, progress_bar, progress_note
from ssdgym.cli.options import PRECONDITIONING_HELP, AsJson, Ftl, Trust, parse_ftls, parse_seeds
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.config import ExperimentConfig
    from ssdgym.experiments.runs.grid import Failure, Grid, GridReport, Runner
    from ssdgym.experiments.runs.store import Store


#: Exit code where a run failed.
SOME_FAILED = 1


@dataclass(frozen=True)
class Runs:
    """How a grid is carried out.

    Attributes:
        folder: of the results.
        workers: number of processes; `None` for 2.
        address: of a Ray cluster, `local` for a new one on this machine; `None`: without Ray.
        trust: whether the code of all agents may be executed.
    """

    folder: Path
    workers: int | None = None
    address: str | None = None
    trust: bool = False

    def carry_out(
        self, config: ExperimentConfig, typed: Sequence[str], *, quiet: bool
    ) -> tuple[GridReport, list[str]]:
        """Run an experiment, and keep every finished run."""
        from ssdgym.experiments.runs.config import agent_labels, expand
        from ssdgym.experiments.runs.grid import Grid
        from ssdgym.experiments.runs.store import Store

        if self.workers is not None and self.address not in (None, "local"):
            raise SsdgymError(
                f"--workers {self.workers}: a cluster at {self.address} has its own; leave --workers out"
            )
        trusted = trusted_of((*config.agents, *config.policies), typed, self.trust)
        sources = agent_labels(config.agents, trusted=trusted)
        grid = Grid.of(expand(config, trusted=trusted))
        runner = runner_of(self.workers or 2, self.address)
        with Store(self.folder) as store:
            found = run_stored(grid, store, self.folder, runner, quiet=quiet)
        return found, [label for label, source in sources.items() if source.learns]


def trusted_of(deciders: Sequence[str], typed: Sequence[str], everything: bool) -> set[str]:
    """Return the agents and policies whose code may be executed: modules named on the command line, or all.

    A file of an experiment, or of Stable-Baselines3, may come from a stranger; what is typed here does not.
    """
    from ssdgym.agents.playing.agents import names_callable
    from ssdgym.policy.names import modules_of

    if everything:
        return set(deciders)
    return {text for text in typed if names_callable(text) or modules_of(text)}


def environment_fields(name: str | None, arguments: list[str] | None) -> dict[str, Any] | None:
    """Return the fields of `EnvironmentConfig` that options give; `None` without any."""
    if name is None and not arguments:
        return None
    from ssdgym.agents.playing.agents import read_parameters

    kwargs = read_parameters("--env-arg", arguments or ())
    return {**({} if name is None else {"id": name}), "kwargs": kwargs}


def runner_of(workers: int, address: str | None) -> Runner:
    """Return what carries out jobs."""
    if address is not None:
        from ssdgym.experiments.runs.ray_runner import run_on_ray

        return lambda jobs: run_on_ray(jobs, None if address == "local" else address, workers)
    from ssdgym.experiments.runs.evaluate import run_locally

    return lambda jobs: run_locally(jobs, workers)


def run_stored(grid: Grid, store: Store, folder: Path, runner: Runner, *, quiet: bool) -> GridReport:
    """Carry out a grid with a progress bar; report what is there already, and after Ctrl-C how to go on."""
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


def finish(found: GridReport, learned: Sequence[str], folder: Path, *, as_json: bool) -> None:
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
    """Write results, table and figures; print the table, the verdicts and the paths."""
    from ssdgym.experiments.report.files import write_report
    from ssdgym.experiments.report.summary import overflow_notes, rich_tables, verdicts

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
    for line in [*sentences, *overflow_notes(results), "", *map(str, paths)]:
        print(line)


#: What is run without an experiment, where no option says otherwise.
DEFAULTS: dict[str, Any] = {
    "devices": ["demo"],
    "workloads": ["zipf99", "hot90"],
    "seeds": "1000-1004",
    "host_pages": 500_000,
    "warmup": 50_000,
}
#: And which policies, by the usual one of the devices.
POLICIES: dict[str, list[str]] = {
    "greedy": ["random", "fifo", "greedy", "d_choices", "windowed_greedy", "cost_benefit"],
    "merge": ["merge", "mmerge_fixed", "mmerge", "cheapest_plan"],
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
        list[str] | None,
        typer.Option(
            "--policy", "-p", help="Policy, or module:rule; repeat for more. Default: the classic ones."
        ),
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
        typer.Option(help="Environment of agents that come without one. Default: ssdgym/EraseVictim-v0."),
    ] = None,
    env_arg: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Its argument, such as candidates=8; repeat for more."),
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
    ftls: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="One of several FTLs for the same table, with options of its own beside those of --ftl:"
            " kind=cgm, or mapping=page,placement=single; repeat for more.",
        ),
    ] = None,
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

        ssdgym evaluate -d subftl-tlc-small -w sysbench -p greedy --ftls kind=cgm --ftls kind=subftl
    """
    changes = {
        "devices": device,
        "workloads": workload,
        "policies": policy,
        "agents": agent,
        "environment": environment_fields(environment, env_arg),
        "seeds": None if seeds is None else parse_seeds(seeds),
        "host_pages": host_pages,
        "warmup": warmup,
        "preconditioning": preconditioning,
        "ftls": parse_ftls(ftls, ftl) if ftl or ftls else None,
    }
    config = _changed(experiment, {name: value for name, value in changes.items() if value is not None})
    folder = out or Path("results") / (Path(experiment).stem if experiment else "evaluate")
    how = Runs(folder, workers, "local" if ray and address is None else address, trust)
    found, learned = how.carry_out(config, [*(agent or ()), *(policy or ())], quiet=as_json)
    finish(found, learned, folder, as_json=as_json)


def _changed(experiment: str | None, changes: dict[str, Any]) -> ExperimentConfig:
    """Return the experiment with what the command line replaces."""
    from ssdgym.experiments.runs.config import load_experiment

    if experiment is None:
        own = {**DEFAULTS, "policies": _usual_policies({**DEFAULTS, **changes})}
    else:
        own = load_experiment(experiment).model_dump(exclude_unset=True)
    if "host_pages" in changes:
        own = {name: value for name, value in own.items() if name != "requests"}
    return load_experiment({**own, **changes})


def _usual_policies(fields: dict[str, Any]) -> list[str]:
    """Return the policies that are compared where none is named: those of the first device."""
    from ssdgym.policy import usual_policy

    ftl = next(iter(fields.get("ftls", ())), None)
    usual = usual_policy(fields["devices"][0], ftl)
    return POLICIES.get(usual, [usual])
