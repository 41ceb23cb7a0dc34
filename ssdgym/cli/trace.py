"""`ssdgym trace info | convert`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import print_json, print_rows
from ssdgym.cli.options import AsJson, Columns, Seed, Set, Transforms
from ssdgym.cli.trace_sources import counting, fit, recorded, understood
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.workloads.traces.recorded import PlayedConfig


#: Volumes named one by one; a trace may have thousands.
TOP_VOLUMES = 8
#: How numbers are shown, by a part of their names: a form, and what they are divided by.
_UNITS = (
    ("share", "{:.1%}", 1),
    ("sizes_bytes", "{:,.1f} KiB", 2**10),
    ("bytes", "{:,.3f} MiB", 2**20),
    ("_ns", "{:,.1f} µs", 1000),
)
_REPEATED = (
    "unit_bytes",
    "published",
    "assumed",
    "duration_ns",
    "max_gap_ns",
    "sizes_bytes",
    "relative_error",
)


def fact_rows(facts: Mapping[str, Any], before: str = "") -> Iterator[dict[str, str]]:
    """Yield a row for each number of `trace_facts`: its name, and its value with its unit."""
    for key, value in facts.items():
        name = f"{before}{key}"
        if key == "volumes":
            most = sorted(value.items(), key=lambda item: -item[1])[:TOP_VOLUMES]
            value = {"in all": len(value), **{f"requests on {volume}": count for volume, count in most}}
        if isinstance(value, Mapping):
            yield from fact_rows(value, f"{name} ")
        elif isinstance(value, int | float) and key not in _REPEATED:
            plain = "{:,}" if isinstance(value, int) else "{:,.4g}"
            form, scale = next((unit[1:] for unit in _UNITS if unit[0] in name), (plain, None))
            yield {"measure": name, "value": form.format(value / scale if scale else value)}


trace = typer.Typer(help="Look at traces and synthetic traces, and convert them.", no_args_is_help=True)

Source = Annotated[
    str,
    typer.Argument(
        help="A trace file, several with commas between, a folder of them, trace:NAME,"
        " synthetic:NAME, or a YAML file of a trace."
    ),
]

trace.command()(fit)


@trace.command()
def info(
    source: Source,
    fields: Set = None,
    columns: Columns = None,
    transform: Transforms = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw addresses, sizes, gaps and skew.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what is in a trace: requests, bytes, footprint, sizes, times between arrivals, skew.

    Unique bytes count pages of 4 KiB, whole if a request touches them. For a synthetic trace the published
    figures stand beside the generated ones.

    Examples:

        ssdgym trace info trace.csv.gz --plot trace.png

        ssdgym trace info synthetic:hm_0
    """
    from ssdgym.experiments.report.style import check_figure_name
    from ssdgym.files import writable_folder
    from ssdgym.workloads.traces.statistics import summarize, trace_facts

    config = recorded(source, fields, columns, transform)
    if plot is not None:
        check_figure_name(plot)
        writable_folder(plot.parent)
    with counting(config, quiet=as_json) as announce:
        summary = summarize(config.records(seed), announce)
    if not summary.requests:
        raise SsdgymError(f"{source}: no request is left after the transforms; leave some out.")
    facts = trace_facts(config, summary)
    if plot is not None:
        from ssdgym.experiments.report.trace import trace_figure

        trace_figure(summary, config.records(seed), f"{source} ({facts['format']})", plot)
    if as_json:
        print_json({"source": source, **facts, "plot": None if plot is None else str(plot)})
        return
    print(f"{source} ({facts['format']})")
    for line in understood(config):
        print(line)
    print_rows(fact_rows(facts))
    if facts.get("published"):
        print_rows(facts["published"])
    for field, reason in facts.get("assumed", {}).items():
        print(f"Assumed, not published: {field}: {reason}")
    if plot is not None:
        print(plot)


@trace.command()
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(help="The file to write; .gz, .bz2, .xz or .zst packs it.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="Format of the new file.")],
    fields: Set = None,
    columns: Columns = None,
    transform: Transforms = None,
    seed: Seed = 0,
    round_times: Annotated[
        bool, typer.Option("--round-times", help="Round times down to the clock of the new format.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a trace, or a synthetic trace, as a trace file of another format.

    What the format cannot hold is refused. Nothing is lost in silence: columns that are not kept are named.

    Examples:

        ssdgym trace convert trace.vscsi.gz trace.csv.gz --to msr

        ssdgym trace convert synthetic:hm_0 hm_0.csv.zst --to alibaba --round-times
    """
    from ssdgym.workloads.traces.loading import TraceConfig, load_trace
    from ssdgym.workloads.traces.reading.columns import parse_columns
    from ssdgym.workloads.traces.registry import formats
    from ssdgym.workloads.traces.writing import convert as write_trace
    from ssdgym.workloads.traces.writing import writable_format

    target = writable_format(to)
    config = recorded(source, fields, columns, transform)
    _check_out(out, config, overwrite)
    with counting(config, quiet=False) as announce:
        written = write_trace(config.records(seed), out, target, round_times=round_times, announce=announce)
    print(f"{out}: {written.requests:,} requests in the format {target.name}")
    if isinstance(config, TraceConfig):
        trace = load_trace(config)
        unread = parse_columns(config.columns).unread if config.columns else formats()[trace.format].unread
        print(f"not in the new file: {', '.join(['the time of the first request', *unread])}")
        if skipped := trace.skipped_lines:
            print(f"{skipped:,} bad line{'s were' if skipped > 1 else ' was'} left out")
    if target.constants:
        constants = ", ".join(f"{name} {text}" for name, text in target.constants.items())
        print(f"the same for every request of the new file: {constants}")
    if written.rounded:
        tick_ns = target.tick_ns
        print(f"{written.rounded:,} times were rounded down to the clock of the format, {tick_ns} ns")
    if written.renamed:
        some = ", ".join(f"{old} is {new}" for old, new in [*written.renamed.items()][:TOP_VOLUMES])
        more = len(written.renamed) - TOP_VOLUMES
        print(
            f"volumes have other names in the new file: {some}" + (f", and {more:,} more" if more > 0 else "")
        )


def _check_out(out: Path, config: PlayedConfig, overwrite: bool) -> None:
    """Raise if the file must not, or cannot, be written, before the work."""
    from ssdgym.files import writable_folder
    from ssdgym.workloads.traces.loading import TraceConfig

    if out.exists():
        if isinstance(config, TraceConfig) and any(map(out.samefile, config.files())):
            raise SsdgymError(f"{out}: is the trace that is read; give the new file another name")
        if not overwrite or not out.is_file():
            raise SsdgymError(f"{out}: exists already; give --overwrite to replace it, or another name")
    writable_folder(out.parent)
