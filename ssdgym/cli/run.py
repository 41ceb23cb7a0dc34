"""`ssdgym run`: one policy on one device and one workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli import options
from ssdgym.cli.console import compile_note, print_json, print_table, progress_bar
from ssdgym.cli.trace_sources import understood
from ssdgym.enums import Timing

if TYPE_CHECKING:
    from ssdgym.config.device import DeviceConfig

#: Length of a run of a generated workload that does not end by itself.
DEFAULT_HOST_PAGES = 1_000_000


def run(
    device: options.Device = "ippbe-mlc",
    workload: Annotated[
        str,
        typer.Option(
            "--workload",
            "-w",
            help="Name of a workload (synthetic:hm_0: a synthetic trace), YAML file, or trace file.",
        ),
    ] = "zipf99",
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            help="Victim rule, with a placement or without (gsm+hotness_groups), or speedupgc; on devices of"
            " mapping block a merge rule. One of your own: module:rule. Default: greedy, or merge.",
        ),
    ] = None,
    fields: options.Set = None,
    columns: options.Columns = None,
    transform: options.Transforms = None,
    tenant: Annotated[
        list[str] | None,
        typer.Option(
            help="Another workload on the same device, in a part of its own; repeat for more. --set,"
            " --columns and --transform apply to --workload only."
        ),
    ] = None,
    requests: Annotated[int | None, typer.Option(min=1, help="Stop after so many requests.")] = None,
    host_pages: Annotated[int | None, typer.Option(min=1, help="Stop after so many host pages.")] = None,
    timing: Annotated[Timing | None, typer.Option(help="Count only, or simulate in time.")] = None,
    queue_depth: Annotated[
        int | None,
        typer.Option(min=0, help="Requests outstanding; 0: by arrival times. Default: 32 without a pace."),
    ] = None,
    ftl: options.Ftl = None,
    warmup: Annotated[int, typer.Option(min=0, help="Host pages before them that are not measured.")] = 0,
    days: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=36_500,
            help="Days that pass behind the warm-up, on devices of mapping subpage: data grows older, and"
            " moving what is too old is measured.",
        ),
    ] = None,
    preconditioning: Annotated[str, typer.Option(help=options.PRECONDITIONING_HELP)] = "fill",
    size_to_trace: Annotated[
        bool,
        typer.Option(
            help="Give the device the size that the pages a compact trace touches need, at its own"
            " over-provisioning."
        ),
    ] = True,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for run.parquet and run.csv; none by default.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Simulate one policy on one device and workload, and print what it cost.

    Examples:

        ssdgym run --device ippbe-mlc --policy greedy --workload zipf99 --host-pages 2000000

        ssdgym run --workload trace.csv.gz --set loops=5 --transform "only(ops=write)"

        ssdgym run --device subftl-tlc-small --workload sysbench --warmup 3000 --days 31 --host-pages 3000
    """
    from ssdgym.config.device import read_preconditioning
    from ssdgym.envs.sources import is_sizing, sized_to_traces
    from ssdgym.experiments.report.summary import overflow_notes
    from ssdgym.experiments.results import write_results
    from ssdgym.experiments.runs.config import closed_loop
    from ssdgym.experiments.runs.evaluate import check_runs
    from ssdgym.experiments.runs.run import run_policy
    from ssdgym.experiments.runs.spec import RunSpec, ftl_changes
    from ssdgym.files import writable_folder
    from ssdgym.policy import usual_policy
    from ssdgym.policy.names import import_rules
    from ssdgym.workloads.stream import load_workload

    source = options.chosen_workload(workload, fields, columns, transform)
    if tenant:
        tenants: list[dict[str, Any]] = [{"name": workload, "workload": source}]
        tenants += [{"name": other, "workload": load_workload(other)} for other in tenant]
        source = load_workload({"kind": "tenants", "tenants": tenants})
        workload = " + ".join([workload, *tenant])
    if source.is_endless and requests is None and host_pages is None:
        host_pages = DEFAULT_HOST_PAGES
    ftl_options = options.parse_ftl(ftl, timing=timing, queue_depth=queue_depth)
    changes = ftl_changes(ftl_options)
    policy = policy or usual_policy(device, changes)
    for typed in (policy, dict(ftl_options).get("placement")):
        import_rules(str(typed or ""), trust=True)
    sized: str | DeviceConfig = device
    if size_to_trace and is_sizing(source):
        advice = "give --no-size-to-trace"
        sized = sized_to_traces(device, [source], ftl=changes, policy=policy, seed=seed, advice=advice)
    spec = RunSpec(
        device=sized,
        workload=source,
        policy=policy,
        seed=seed,
        ftl=closed_loop(ftl_options, source),
        host_pages=host_pages,
        requests=requests,
        warmup=warmup,
        days=days,
        preconditioning=read_preconditioning(preconditioning).text,
        label=workload,
    )
    check_runs([spec])
    if out is not None:
        writable_folder(out)
    compile_note(quiet=as_json)
    with progress_bar("pages", quiet=as_json) as advance:
        result = run_policy(spec, lambda done: advance(done, host_pages))
    paths = write_results([result], out / "run") if out is not None else ()
    if as_json:
        print_json(result.as_dict() | {"files": [str(path) for path in paths]})
        return
    print(f"{result.policy} on {result.device}, {result.workload}, seed {result.seed}")
    for line in understood(source):
        print(line)
    row = {name.removeprefix("metrics/"): value for name, value in result.as_row().items()}
    rows = [[name, _text(value)] for name, value in row.items() if result.measured(name)]
    print_table(["metric"], ["value"], [*rows, ["wall_seconds", f"{result.wall_seconds:.2f}"]])
    if result.assumed:
        print(f"Assumed of this workload, not published: {result.assumed}")
    for line in [*overflow_notes([result]), *paths]:
        print(line)


def _text(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
