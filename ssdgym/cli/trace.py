"""`ssdgym trace`: describe a trace, convert it to another format, and fit a synthetic trace to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ssdgym.cli.console import facts, progress_bar, show, table
from ssdgym.cli.options import Texts, chosen_workload, command
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.workloads.base import WorkloadConfig
    from ssdgym.workloads.traces.recorded import PlayedConfig
    from ssdgym.workloads.traces.statistics import RecordSummary

#: Largest number of volumes to list. A trace may have thousands.
TOP_VOLUMES = 8

trace = typer.Typer(help="Look at traces and synthetic traces, and convert them.", no_args_is_help=True)


@trace.command()
@command
def fit(
    source: str,
    fields: Texts = None,
    columns: str | None = None,
    transform: Texts = None,
    seed: int = 0,
    out_file: Path | None = None,
) -> None:
    """Make a synthetic trace that resembles a trace, save it as --out (YAML), and print statistics of both.

    The synthetic trace contains statistics of the trace, but none of its requests.
    About 30 candidates as long as the trace are generated; --transform "head(requests=100000)" saves time.

    Examples:
        ssdgym trace fit trace.csv.gz --out twin.yaml
    """
    import yaml

    from ssdgym.files import write_atomically
    from ssdgym.workloads.synthetic.twin import figures_of, fit_twin

    if out_file is not None and out_file.exists():
        raise SsdgymError(f"{out_file}: exists already; give another name")
    config = _recorded(source, fields, columns, transform)
    summary = _summary(config, source, 0)
    name = Path(source.removeprefix("trace:")).name.partition(".")[0] or "twin"
    with progress_bar("candidates") as advance:
        twin, made = fit_twin(summary, config.records().volumes, name, seed, advance)
    fields_of_twin = twin.model_dump(mode="json", exclude_unset=True)
    if out_file is not None:
        written = yaml.safe_dump({"kind": "synthetic", **fields_of_twin}, sort_keys=False, width=110)
        write_atomically(out_file, written.encode())
    ours = figures_of(made)
    figures = {name: {"trace": real, "twin": ours[name]} for name, real in figures_of(summary).items()}
    rows = ({"figure": figure, **values} for figure, values in figures.items())
    writes = twin.writes
    chosen = (
        f"{name}: replay_share {writes.replay_share:g}, replay_requests {writes.replay_requests}, "
        f"footprint_factor {twin.footprint_factor:g}"
    )
    show({"source": source, "synthetic": fields_of_twin, "figures": figures}, [table(rows), chosen])


@trace.command()
@command
def info(
    source: str,
    fields: Texts = None,
    columns: str | None = None,
    transform: Texts = None,
    seed: int = 0,
    plot: Path | None = None,
) -> None:
    """Print statistics of a trace: requests, bytes, footprint, sizes, times between arrivals, skew.

    Unique bytes are counted in whole pages of 4 KiB that requests touch. Statistics of a synthetic trace that
    comes with ssdgym are printed beside the published ones of the real trace.

    Examples:
        ssdgym trace info trace.csv.gz --plot trace.png
        ssdgym trace info synthetic:hm_0
    """
    from ssdgym.experiments.report.style import check_figure_name
    from ssdgym.files import writable_folder
    from ssdgym.workloads.traces.statistics import trace_facts

    config = _recorded(source, fields, columns, transform)
    if plot is not None:
        check_figure_name(plot)
        writable_folder(plot.parent)
    summary = _summary(config, source, seed)
    found = trace_facts(config, summary)
    heading = f"{source} ({found['format']})"
    most = sorted(found["volumes"].items(), key=lambda item: -item[1])[:TOP_VOLUMES]
    requests = {f"requests on {volume}": count for volume, count in most}
    shown = {**found, "volumes": {"in all": len(found["volumes"]), **requests}}
    parts = [heading, table(facts(shown)), *([table(found["published"])] if found.get("published") else [])]
    if plot is not None:
        from ssdgym.experiments.report.trace import trace_figure

        trace_figure(summary, config.records(seed), heading, plot)
        parts.append(plot)
    show({"source": source, **found, "plot": None if plot is None else str(plot)}, parts)


@trace.command()
@command
def convert(
    source: str,
    new_file: Path,
    to: str,
    fields: Texts = None,
    columns: str | None = None,
    transform: Texts = None,
    seed: int = 0,
    round_times: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a trace, or a synthetic trace, as a trace file of another format.

    A trace that the new format cannot represent is refused. The command prints which columns are lost.

    Examples:
        ssdgym trace convert trace.vscsi.gz trace.csv.gz --to msr
        ssdgym trace convert synthetic:hm_0 hm_0.csv.zst --to alibaba --round-times
    """
    from ssdgym.files import writable_folder
    from ssdgym.workloads.traces.loading import TraceConfig, load_trace
    from ssdgym.workloads.traces.reading.columns import parse_columns
    from ssdgym.workloads.traces.registry import formats
    from ssdgym.workloads.traces.writing import convert as write_trace
    from ssdgym.workloads.traces.writing import writable_format

    target = writable_format(to)
    config = _recorded(source, fields, columns, transform)
    if new_file.exists():
        if isinstance(config, TraceConfig) and any(map(new_file.samefile, config.files())):
            raise SsdgymError(f"{new_file}: is the trace that is read; give the new file another name")
        if not overwrite or not new_file.is_file():
            raise SsdgymError(f"{new_file}: exists already; give --overwrite to replace it, or another name")
    writable_folder(new_file.parent)
    with progress_bar("requests") as advance:
        records = config.records(seed)
        written = write_trace(
            records, new_file, target, round_times=round_times, announce=lambda done: advance(done, None)
        )
    found = {"file": str(new_file), "format": target.name, "requests": written.requests}
    if isinstance(config, TraceConfig):
        read = load_trace(config)
        unread = parse_columns(config.columns).unread if config.columns else formats()[read.format].unread
        found["bad lines left out"] = read.skipped_lines
        found["not in the new file"] = ["the time of the first request", *unread]
    found |= {
        "times rounded down to the clock of the format": written.rounded,
        "the same for every request of the new file": dict(target.constants),
        "volumes renamed": len(written.renamed),
        "new name of volume": dict([*written.renamed.items()][:TOP_VOLUMES]),
    }
    show(found, [table(facts(found))])


def _recorded(source: str, fields: Texts, columns: str | None, transforms: Texts) -> PlayedConfig:
    """Return the trace or synthetic trace that the options describe."""
    from ssdgym.workloads.traces.recorded import PlayedConfig

    config = chosen_workload(source, fields, columns, transforms)
    if not isinstance(config, PlayedConfig):
        raise SsdgymError(
            f"{source}: is a generated workload of the kind {config.kind}, not a trace; give a trace file, "
            "trace:NAME, synthetic:NAME, or a YAML file of the kind trace or synthetic."
        )
    return config


def _summary(config: PlayedConfig, source: str, seed: int) -> RecordSummary:
    """Return the summary of a trace; raise `SsdgymError` if it has no request."""
    from ssdgym.workloads.traces.statistics import summarize

    with progress_bar("requests") as advance:
        summary = summarize(config.records(seed), lambda done: advance(done, None))
    if not summary.requests:
        raise SsdgymError(f"{source}: no request is left after the transforms; leave some out.")
    return summary


def understood(config: WorkloadConfig) -> list[str]:
    """Return lines that say how a trace is read, such as its format; other workloads have none."""
    from ssdgym.workloads.traces.recorded import PlayedConfig

    origin = config.origin() if isinstance(config, PlayedConfig) else {}
    return [f"{row['name']}: {row['value']}" for row in facts(origin)]
