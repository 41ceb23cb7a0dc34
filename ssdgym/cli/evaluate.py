"""Commands and options of grids of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli import options
from ssdgym.cli.console import compile_note, console, print_json, progress_bar, progress_note
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.config import ExperimentConfig
    from ssdgym.experiments.runs.grid import Failure, Grid, GridReport
    from ssdgym.experiments.runs.spec import RunSpec


#: Exit code where a run failed.
SOME_FAILED = 1


@dataclass(frozen=True)
class Carried:
    """An experiment that was carried out.

    Attributes:
        learned: the names of those policies that learned.
    """

    runs: Sequence[RunSpec]
    report: GridReport
    learned: list[str]
    folder: Path


def carry_out(
    config: ExperimentConfig,
    folder: Path,
    typed: Sequence[str],
    *,
    workers: int | None,
    address: str | None,
    trust: bool,
    quiet: bool,
) -> Carried:
    """Run an experiment, and keep every finished run.

    The code of agents and policies may be executed where they were typed on the command line, or with
    `trust`. The address is that of a Ray cluster, or `local` for a new one on this machine.
    """
    from ssdgym.agents.playing.agents import names_callable
    from ssdgym.experiments.runs.config import agent_labels, expand
    from ssdgym.experiments.runs.grid import Grid
    from ssdgym.policy.names import modules_of

    if workers is not None and address not in (None, "local"):
        raise SsdgymError(f"--workers {workers}: a cluster at {address} has its own; leave --workers out")
    # A file of an experiment, or of Stable-Baselines3, may come from a stranger; what is typed here does not.
    trusted = {text for text in typed if names_callable(text) or modules_of(text)}
    if trust:
        trusted = {*config.agents, *config.policies}
    learned = [
        label for label, source in agent_labels(config.agents, trusted=trusted).items() if source.learns
    ]
    runs = expand(config, trusted=trusted)
    report = run_stored(Grid.of(runs), folder, workers or 2, address, quiet=quiet)
    return Carried(runs, report, learned, folder)


def environment_fields(name: str | None, arguments: list[str] | None) -> dict[str, Any] | None:
    """Return the fields of `EnvironmentConfig` that options give; `None` without any."""
    if name is None and not arguments:
        return None
    from ssdgym.agents.playing.agents import read_parameters

    kwargs = read_parameters("--env-arg", arguments or ())
    return {**({} if name is None else {"id": name}), "kwargs": kwargs}


def run_stored(
    grid: Grid, folder: Path, workers: int, address: str | None = None, *, quiet: bool
) -> GridReport:
    """Carry out a grid with a progress bar; report what is there already, and after Ctrl-C how to go on."""
    from ssdgym.experiments.runs.evaluate import run_locally
    from ssdgym.experiments.runs.grid import run_grid
    from ssdgym.experiments.runs.ray_runner import run_on_ray
    from ssdgym.experiments.runs.store import Store

    if address is None:
        runner = partial(run_locally, workers=workers)
    else:
        runner = partial(run_on_ray, address=None if address == "local" else address, workers=workers)
    done = 0

    def follow(finished: int, total: int) -> None:
        nonlocal done
        done = finished
        advance(finished, total)

    with Store(folder) as store:
        found = store.finished(grid.keys)
        same, other = store.others(grid.keys)
        count = len(grid.keys)
        for number, note in (
            (sum(key in found for key in grid.keys), f"of {count} runs are finished already"),
            (same, "finished runs belong to another grid; they are kept, not reported"),
            (other, "finished runs are of another version or engine; they are kept, not reused"),
        ):
            if number:
                progress_note(f"{number} {note}", quiet=quiet)
        compile_note(quiet=quiet)
        try:
            with progress_bar("runs", quiet=quiet) as advance:
                return run_grid(grid, store, runner, follow)
        except KeyboardInterrupt:
            progress_note(
                f"interrupted: {done} of {count} runs are finished and kept in {folder}; the same command "
                "goes on from there",
                quiet=False,
            )
            raise


def finish(carried: Carried, *, as_json: bool) -> None:
    """Report a complete grid; of another one write what there is, and name what is missing."""
    from ssdgym.experiments.runs.grid import write_grid, write_timings

    results, failures = carried.report.results, carried.report.failures
    if not failures:
        timings = write_timings(results, carried.folder)
        report(results, carried.learned, carried.folder, as_json=as_json, others=[timings])
        return
    paths = write_grid(results, carried.folder)
    if as_json:
        _print_results(results, {"failed": [failure.as_dict() for failure in failures]}, paths)
    else:
        print("\n".join(map(str, paths)))
    alike: dict[str, list[Failure]] = {}
    for failure in failures:
        alike.setdefault(failure.sentence, []).append(failure)
    for first, *others in alike.values():
        more = f" ({len(others)} more for this reason)" if others else ""
        progress_note(f"failed: {first}{more}", quiet=False)
    progress_note(
        f"{len(failures)} of {len(failures) + len(results)} runs failed, so there is no table; the same "
        "command tries them again and repeats nothing else",
        quiet=False,
    )
    raise typer.Exit(SOME_FAILED)


def _print_results(results: Sequence[Result], facts: dict[str, Any], paths: Sequence[Path]) -> None:
    found = [result.as_dict() for result in results]
    print_json({"results": found, **facts, "files": [str(path) for path in paths]})


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
    from ssdgym.experiments.report.summary import long_names, overflow_notes, side_by_side, tables, verdicts

    paths = [*write_report(results, out, learned), *others]
    sentences = verdicts(results, learned)
    if as_json:
        _print_results(results, {"verdicts": sentences}, paths)
        return
    bold = side_by_side(results, learned)[1]
    console().print(*(table.to_rich(bold) for table in tables(results)))
    sentences += [f"{short} is {policy}." for short, policy in long_names(results).items()]
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
    fields: options.Set = None,
    columns: options.Columns = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", help="Policy, or module:rule; repeat for more. Default: the classic ones."
        ),
    ] = None,
    agent: options.Agents = None,
    environment: options.Environment = None,
    env_arg: options.EnvArgs = None,
    trust: options.Trust = False,
    seeds: options.Seeds = None,
    host_pages: options.HostPages = None,
    warmup: options.Warmup = None,
    ftl: options.Ftl = None,
    ftls: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="One of several FTLs for the same table, with options of its own beside those of --ftl:"
            " kind=cgm, or mapping=page,placement=single; repeat for more.",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE,...",
            help="Field of the devices with several values, such as capacity.over_provisioning=0.07,0.28.",
        ),
    ] = None,
    preconditioning: Annotated[
        str | None, typer.Option(help=f"{options.PRECONDITIONING_HELP} Default: workload.")
    ] = None,
    workers: options.Workers = None,
    address: options.Address = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder; new, empty, or to go on with. Default: results/EXPERIMENT."
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run every policy and agent on every device, workload and seed; print a table with 95 % intervals.

    An option replaces what the experiment says. The output folder keeps every finished run: the same command
    goes on where it was interrupted, and another grid in the same folder repeats nothing. Writes
    results.parquet, results.csv, timings.csv, tables and figures. Exits with 1 if a run has failed.

    Without an experiment the classic policies are run on demo with zipf99 and hot90 and the seeds 1000-1004,
    for 500,000 host pages behind 50,000 that are not measured.

    Examples:

        ssdgym evaluate classic --out results/classic

        ssdgym evaluate -p greedy -p cost_benefit --vary capacity.over_provisioning=0.1,0.15,0.2,0.28

        ssdgym evaluate -d subftl-tlc-small -w sysbench -p greedy --ftls kind=cgm --ftls kind=subftl
    """
    changes = {
        "devices": device,
        "workloads": _read_as(workload, fields, columns),
        "policies": policy,
        "agents": agent,
        "environment": environment_fields(environment, env_arg),
        "seeds": None if seeds is None else options.parse_seeds(seeds),
        "host_pages": host_pages,
        "warmup": warmup,
        "preconditioning": preconditioning,
        "vary": options.parse_varied(vary),
        "ftls": options.parse_ftls(ftls, ftl) if ftl or ftls else None,
    }
    config = _changed(experiment, {name: value for name, value in changes.items() if value is not None})
    folder = out or Path("results") / (Path(experiment).stem if experiment else "evaluate")
    carried = carry_out(
        config,
        folder,
        [*(agent or ()), *(policy or ())],
        workers=workers,
        address=address,
        trust=trust,
        quiet=as_json,
    )
    finish(carried, as_json=as_json)


def _read_as(
    workloads: list[str] | None, fields: list[str] | None, columns: str | None
) -> list[str] | list[dict[str, Any]] | None:
    """Return workloads, by name unless an option changes them."""
    if not fields and columns is None:
        return workloads
    if workloads is None:
        raise SsdgymError("--set and --columns change the workloads of --workload; name one")
    configs = [options.chosen_workload(workload, fields, columns) for workload in workloads]
    return [config.model_dump(mode="json", exclude_defaults=True) for config in configs]


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
