"""`ssdgym trace info | convert | fit`: what is in a trace, the same in another format, and one like it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import console, print_json
from ssdgym.cli.options import AsJson, Seed, SkipBad, TraceFormat, Transforms, VolumeLayout, Window
from ssdgym.cli.trace.fit import fit
from ssdgym.cli.trace.sources import counting, recorded
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.workloads.traces.recorded import PlayedConfig

trace = typer.Typer(help="Look at traces and synthetic traces, and convert them.", no_args_is_help=True)

Source = Annotated[
    str,
    typer.Argument(help="A trace file, trace:NAME, synthetic:NAME, or a YAML file of a trace."),
]

trace.command()(fit)


@trace.command()
def info(
    source: Source,
    trace_format: TraceFormat = None,
    skip_bad: SkipBad = None,
    transform: Transforms = None,
    window: Window = None,
    volumes: VolumeLayout = None,
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

        ssdgym trace info trace.csv.gz --transform "only(ops=write)" --transform "head(requests=1000)" --json

        ssdgym trace info synthetic:hm_0
    """
    from ssdgym.cli.trace.tables import comparison_table, distribution_table, facts_table, size_table
    from ssdgym.experiments.report.style import check_figure_name
    from ssdgym.files import writable_folder
    from ssdgym.workloads.traces.statistics import assumed_fields, deviations, summarize, trace_facts

    config = recorded(source, transform, trace_format, skip_bad, window, volumes)
    if plot is not None:
        check_figure_name(plot)
        writable_folder(plot.parent)
    with counting(config, quiet=as_json) as announce:
        summary = summarize(config.records(seed), announce)
    if not summary.requests:
        raise SsdgymError(f"{source}: no request is left after the transforms; leave some out.")
    facts = trace_facts(config, summary)
    compared = deviations(config, summary)
    if plot is not None:
        from ssdgym.experiments.report.trace import trace_figure

        trace_figure(summary, config.records(seed), f"{source} ({facts['format']})", plot)
    if as_json:
        print_json({"source": source, **facts, "plot": None if plot is None else str(plot)})
        return
    print(f"{source} ({facts['format']})")
    for table in (facts_table(facts), distribution_table(facts), size_table(summary)):
        console().print(table)
    if compared:
        console().print(comparison_table(compared))
    for field, reason in assumed_fields(config).items():
        print(f"Assumed, not published: {field}: {reason}")
    if plot is not None:
        print(plot)


@trace.command()
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(help="The file to write; .gz, .bz2, .xz or .zst packs it.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="Format of the new file.")],
    trace_format: TraceFormat = None,
    skip_bad: SkipBad = None,
    transform: Transforms = None,
    window: Window = None,
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
    from ssdgym.cli.trace.tables import TOP_VOLUMES
    from ssdgym.workloads.traces.writing import convert as write_trace
    from ssdgym.workloads.traces.writing import writable_format

    target = writable_format(to)
    config = recorded(source, transform, trace_format, skip_bad, window)
    _check_out(out, config, overwrite)
    with counting(config, quiet=False) as announce:
        written = write_trace(config.records(seed), out, target, round_times=round_times, announce=announce)
    print(f"{out}: {written.requests:,} requests in the format {target.name}")
    _print_left_out(config)
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


def _print_left_out(config: PlayedConfig) -> None:
    """Print what the trace tells of its requests that records do not hold, and its number of bad lines."""
    from ssdgym.workloads.traces.loading import TraceConfig, load_trace
    from ssdgym.workloads.traces.registry import formats

    if not isinstance(config, TraceConfig):
        return
    trace = load_trace(config)
    left_out = ", ".join(["the time of the first request", *formats()[trace.format].unread])
    print(f"not in the new file: {left_out}")
    skipped = trace.skipped_lines
    if skipped:
        print(f"{skipped:,} bad line{'s were' if skipped > 1 else ' was'} left out")


def _check_out(out: Path, config: PlayedConfig, overwrite: bool) -> None:
    """Raise if the file must not, or cannot, be written, before the work."""
    from ssdgym.files import writable_folder
    from ssdgym.workloads.traces.files import find_trace
    from ssdgym.workloads.traces.loading import TraceConfig

    if out.exists():
        if isinstance(config, TraceConfig) and out.samefile(find_trace(config.path)):
            raise SsdgymError(f"{out}: is the trace that is read; give the new file another name")
        if not overwrite or not out.is_file():
            raise SsdgymError(f"{out}: exists already; give --overwrite to replace it, or another name")
    writable_folder(out.parent)
