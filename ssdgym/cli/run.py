"""`ssdgym run`: simulate one policy on one device and one workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ssdgym.cli.console import facts, progress_bar, show, table
from ssdgym.cli.options import Texts, chosen_workload, parse_pairs
from ssdgym.cli.trace import understood
from ssdgym.enums import Timing


def run(
    device: str = "ippbe-mlc",
    workload: str = "zipf99",
    policy: str | None = None,
    fields: Texts = None,
    columns: str | None = None,
    transform: Texts = None,
    host_pages: int | None = None,
    timing: Timing | None = None,
    queue_depth: int | None = None,
    ftl: Texts = None,
    warmup: int = 0,
    days: int | None = None,
    preconditioning: str = "fill",
    size_to_trace: bool = True,
    seed: int = 0,
    out: Path | None = None,
) -> None:
    """Simulate one policy on one device and workload, and print its metrics.

    The default policy is greedy; on devices of mapping block it is merge. Without --host-pages, a trace runs
    to its end, an endless workload for a million host pages. --out is a folder for run.parquet and run.csv.

    Examples:
        ssdgym run --device ippbe-mlc --policy greedy --workload zipf99 --host-pages 2000000
        ssdgym run --workload trace.csv.gz --set loops=5 --transform "only(ops=write)"
        ssdgym run --device subftl-tlc-small --workload sysbench --warmup 3000 --days 31 --host-pages 3000
    """
    from ssdgym.config.device import read_preconditioning
    from ssdgym.envs.sources import is_sizing, sized_to_traces
    from ssdgym.experiments.report.summary import cautions
    from ssdgym.experiments.results import write_results
    from ssdgym.experiments.runs.config import closed_loop
    from ssdgym.experiments.runs.evaluate import check_runs
    from ssdgym.experiments.runs.run import run_policy
    from ssdgym.experiments.runs.spec import RunSpec, ftl_changes
    from ssdgym.files import writable_folder
    from ssdgym.policy import Policy, policy_for
    from ssdgym.policy.names import import_rules

    source = chosen_workload(workload, fields, columns, transform)
    if source.is_endless and host_pages is None:
        host_pages = 1_000_000
    named = {"timing": timing, "queue_depth": queue_depth}
    texts = [f"{name}={value}" for name, value in named.items() if value is not None]
    options = tuple(sorted(parse_pairs("--ftl", [*(ftl or ()), *texts]).items()))
    changes = ftl_changes(options)
    policy = policy or cast(Policy, policy_for("default", device, changes)).label
    for typed in (policy, dict(options).get("placement")):
        import_rules(str(typed or ""), trust=True)
    sized: Any = device
    if size_to_trace and is_sizing(source):
        advice = "give --no-size-to-trace"
        sized = sized_to_traces(device, [source], ftl=changes, policy=policy, seed=seed, advice=advice)
    spec = RunSpec(
        device=sized,
        workload=source,
        policy=policy,
        seed=seed,
        ftl=closed_loop(options, source),
        host_pages=host_pages,
        warmup=warmup,
        days=days,
        preconditioning=read_preconditioning(preconditioning).text,
        label=workload,
    )
    check_runs([spec])
    if out is not None:
        writable_folder(out)
    with progress_bar("pages") as advance:
        result = run_policy(spec, lambda done: advance(done, host_pages))
    files = [*map(str, write_results([result], out / "run"))] if out is not None else []

    row = {name.removeprefix("metrics/"): value for name, value in result.as_row().items()}
    metrics = {name: value for name, value in row.items() if result.measured(name)}
    shown = facts(metrics | {"wall_seconds": result.wall_seconds})
    heading = f"{result.policy} on {result.device}, {result.workload}, seed {result.seed}"
    parts = [heading, *understood(source), table(shown)]
    parts += [f"Assumed of this workload, not published: {result.assumed}"] if result.assumed else []
    show(result.as_dict() | {"files": files}, [*parts, *cautions([result]), *files])
