"""`ssdgym evaluate`: run policies and agents on a grid of devices, workloads and seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ssdgym.cli.console import FAILED, note, progress_bar, show
from ssdgym.cli.options import Texts, chosen_workload, environment_fields, parse_pairs
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.agents.playing.agents import Source
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.config import ExperimentConfig
    from ssdgym.experiments.runs.grid import GridReport
    from ssdgym.experiments.runs.spec import RunSpec


def evaluate(
    experiment: str = "evaluate",
    device: Texts = None,
    workload: Texts = None,
    fields: Texts = None,
    columns: str | None = None,
    policy: Texts = None,
    agent: Texts = None,
    environment: str | None = None,
    env_arg: Texts = None,
    trust: bool = False,
    seeds: Any = None,
    host_pages: int | None = None,
    warmup: int | None = None,
    ftl: Texts = None,
    ftls: Texts = None,
    vary: Texts = None,
    preconditioning: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    out: Path | None = None,
) -> None:
    """Run every policy and agent on every device, workload and seed; print a table with 95 % intervals.

    Options override fields of the experiment; fewer --host-pages shorten its warm-up. The output folder
    (default: results/EXPERIMENT) stores finished runs: the same command continues an interrupted grid, and
    another grid does not repeat them. Writes results, timings, tables and figures. Exits with 1 on failure.

    The default experiment `evaluate` runs the classic victim policies on the device demo with the workloads
    zipf99 and hot90 and the seeds 1000-1004, for 500,000 host pages after a warm-up of 50,000.

    Examples:
        ssdgym evaluate classic --out results/classic
        ssdgym evaluate -p greedy -p cost_benefit --vary capacity.over_provisioning=0.1,0.15,0.2,0.28
        ssdgym evaluate -d subftl-tlc-small -w sysbench -p greedy --ftls kind=cgm --ftls kind=subftl
    """
    from ssdgym.envs.sources import named_workloads
    from ssdgym.experiments.runs.config import load_experiment
    from ssdgym.experiments.runs.spec import split_options
    from ssdgym.policy.names import modules_of

    workloads: Sequence[Any] | None = workload
    if fields or columns is not None:
        if not workload:
            raise SsdgymError("--set and --columns change the workloads of --workload; name one")
        configs = [chosen_workload(one, fields, columns) for one in named_workloads(workload, with_test=True)]
        workloads = [config.model_dump(mode="json", exclude_defaults=True) for config in configs]
    varied = (text.partition("=") for text in vary or ())
    several = [[*(ftl or ()), *split_options(text)] for text in ftls or ("",)]
    given = {
        "devices": device,
        "workloads": workloads,
        "policies": policy,
        "agents": agent,
        "environment": environment_fields(environment, env_arg) or None,
        "seeds": seeds,
        "host_pages": host_pages,
        "warmup": warmup,
        "preconditioning": preconditioning,
        "vary": parse_pairs("--vary", (f"{name}=[{values}]" for name, _, values in varied)) or None,
        "ftls": [parse_pairs("--ftl", texts) for texts in several] if ftl or ftls else None,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    config = load_experiment(experiment, changes)
    folder = out or Path("results", Path(experiment).stem)
    how: dict[str, Any] = {"workers": workers, "address": address, "trust": trust}
    agents, results = carry_out(config, folder, [*(agent or ()), *(policy or ())], **how)
    learned = [name for name, source in agents.items() if source.learns]
    show(*report(results, [*learned, *filter(modules_of, config.policies)], folder))


def carry_out(
    config: ExperimentConfig,
    folder: Path,
    typed: Sequence[str] = (),
    *,
    workers: int | None = None,
    address: str | None = None,
    trust: bool = False,
) -> tuple[Mapping[str, Source], list[Result]]:
    """Run an experiment, store every finished run in `folder`, and return its agents by name and its results.

    Code of agents and policies is executed only if the command line names them (`typed`), or if `trust` is
    set. `address` is the address of a Ray cluster, or `local` for a new cluster on this machine. If a run has
    failed, the other results are written, the failures are printed, and `typer.Exit` is raised with code 1.
    """
    from ssdgym.agents.playing.agents import names_callable
    from ssdgym.experiments.runs.config import agent_labels, expand
    from ssdgym.experiments.runs.grid import write_grid
    from ssdgym.policy.names import modules_of

    if workers is not None and address not in (None, "local"):
        raise SsdgymError(f"--workers {workers}: a cluster at {address} has its own; leave --workers out")
    # Experiment files may be from strangers, so code that they name is executed only with `trust`.
    named = {text for text in typed if names_callable(text) or modules_of(text)}
    trusted = {*config.agents, *config.policies} if trust else named
    agents = agent_labels(config.agents, trusted=trusted)
    done = run_stored(expand(config, trusted=trusted), folder, workers, address)
    if not done.failures:
        return agents, done.results
    files = [*map(str, write_grid(done.results, folder))]
    failed = [failure.as_dict() for failure in done.failures]
    show({"results": [one.as_dict() for one in done.results], "failed": failed, "files": files}, files)
    first = {failure.sentence: str(failure) for failure in reversed(done.failures)}
    for sentence, count in Counter(failure.sentence for failure in done.failures).items():
        note(f"failed: {first[sentence]}" + (f" ({count - 1} more for this reason)" if count > 1 else ""))
    note(
        f"{len(failed)} of {len(failed) + len(done.results)} runs failed, so there is no table; the same "
        "command tries them again and repeats nothing else"
    )
    raise typer.Exit(FAILED)


def run_stored(
    runs: Sequence[RunSpec], folder: Path, workers: int | None = None, address: str | None = None
) -> GridReport:
    """Carry out runs that are not stored in `folder`, with a progress bar; on Ctrl-C say how to continue."""
    from ssdgym.experiments.runs.evaluate import run_locally
    from ssdgym.experiments.runs.grid import Grid, run_grid
    from ssdgym.experiments.runs.ray_runner import run_on_ray
    from ssdgym.experiments.runs.store import Store

    runner = partial(run_locally, workers=workers or 2)
    if address is not None:
        runner = partial(run_on_ray, address=None if address == "local" else address, workers=workers or 2)
    grid = Grid.of(runs)
    with Store(folder) as store:

        def finished() -> int:
            found = store.finished(grid.keys)
            return sum(key in found for key in grid.keys)

        same, other = store.others(grid.keys)
        for number, text in (
            (finished(), f"of {len(runs)} runs are finished already"),
            (same, "finished runs belong to another grid; they are kept, not reported"),
            (other, "finished runs are of another version or engine; they are kept, not reused"),
        ):
            if number:
                note(f"{number} {text}")
        try:
            with progress_bar("runs") as advance:
                return run_grid(grid, store, runner, advance)
        except KeyboardInterrupt:
            note(
                f"interrupted: {finished()} of {len(runs)} runs are finished and kept in {folder}; the same "
                "command goes on from there"
            )
            raise


def report(results: Sequence[Result], learned: Sequence[str], out: Path) -> tuple[dict[str, Any], list[Any]]:
    """Write results, tables and figures, and compare `learned`; return the JSON and the parts to print."""
    from ssdgym.experiments.report.files import write_figures, write_tables
    from ssdgym.experiments.report.summary import Shown, cautions, tables, verdicts
    from ssdgym.experiments.results import write_results
    from ssdgym.experiments.runs.grid import write_timings

    shown = Shown.of(results, learned)
    paths = [*reversed(write_results(results, out / "results")), *write_tables(shown, out)]
    paths += [*write_figures(shown, out, ["png"]), write_timings(results, out)]
    files, sentences = [*map(str, paths)], verdicts(shown)
    printed = [one.to_rich(shown.learned) for one in tables(shown)]
    names = [f"{short} is {policy}." for short, policy in shown.names.items()]
    parts = [*printed, *sentences, *names, *cautions(shown.results), "", *files]
    return {"results": [one.as_dict() for one in results], "verdicts": sentences, "files": files}, parts
