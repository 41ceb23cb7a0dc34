"""`ssdgym evaluate`: a grid of policies and agents, with intervals; it can be interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.grids.stored import Runs, environment_fields, finish
from ssdgym.cli.options import PRECONDITIONING_HELP, AsJson, Ftl, Trust, parse_ftls, parse_seeds

if TYPE_CHECKING:
    from ssdgym.experiments.runs.config import ExperimentConfig

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
