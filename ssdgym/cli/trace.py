"""Tables of `ssdgym trace info`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import console, print_json, print_rows, table_of
from ssdgym.cli.options import (
    AsJson,
    Columns,
    Events,
    Seed,
    SkipBad,
    TraceFormat,
    Transforms,
    VolumeLayout,
    Window,
)
from ssdgym.cli.trace_sources import counting, fit, recorded, understood
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from rich.table import Table

    from ssdgym.workloads.traces.recorded import PlayedConfig
    from ssdgym.workloads.traces.statistics import RecordSummary


#: Volumes named one by one; a trace may have thousands.
TOP_VOLUMES = 8
_ALWAYS = ("reads", "writes")
_BYTES = {
    "read": "bytes_read",
    "written": "bytes_written",
    "unique read (4-KiB pages)": "unique_bytes_read",
    "unique written (4-KiB pages)": "unique_bytes_written",
    "unique written (byte by byte)": "exact_unique_bytes_written",
    "unique read or written (4-KiB pages)": "unique_bytes",
    "trimmed": "bytes_trimmed",
}
_BURSTS = {
    "index of dispersion of arrivals in 0.1, 1, 10 s (independent: 1)": "dispersion",
    "peak over mean of arrivals in 0.1, 1, 10 s": "peak_to_mean",
}
_PERCENTILES = ("mean", "p50", "p90", "p99", "max")


def facts_table(facts: dict[str, Any]) -> Table:
    """Return a table of `trace_facts` without the histograms."""
    table = table_of(["measure"], ["value"], ())
    for section in _sections(facts):
        for row in section:
            table.add_row(*row)
        table.add_section()
    return table


def _sections(facts: dict[str, Any]) -> Iterator[list[tuple[str, str]]]:
    """Yield names and values, those that belong together at a time."""

    def counted(number: int) -> str:
        return f"{number:,} ({_percent(number / facts['requests'])})"

    kinds = [kind for kind in ("reads", "writes", "trims", "flushes") if facts[kind] or kind in _ALWAYS]
    yield [("requests", f"{facts['requests']:,}"), *((kind, counted(facts[kind])) for kind in kinds)]
    yield [
        *((name, _gib(facts[key])) for name, key in _BYTES.items() if facts[key] or name != "trimmed"),
        ("overwrite factor (written / unique written)", _decimals(facts["overwrite_factor"])),
    ]
    yield [
        ("duration", f"{facts['duration_s']:,.3f} s"),
        (
            "sequential (start where the request before on the volume ended)",
            _percent(facts["sequential_share"]),
        ),
        ("out of order (earlier than one before)", f"{facts['out_of_order']:,}"),
        ("skipped lines", f"{facts['skipped_lines']:,}"),
    ]
    bursts, runs, skew, lives = (facts[name] for name in ("bursts", "runs", "skew", "lives"))
    yield [
        *((name, ", ".join(map(_rounded, bursts[key].values()))) for name, key in _BURSTS.items()),
        ("Hurst exponent of arrivals (aggregated variance; independent: 0.5)", _decimals(bursts["hurst"])),
        (
            "mean run of one operation (in random order)",
            f"{_decimals(runs['mean'])} ({_decimals(runs['independent'])})",
        ),
    ]
    sampled = "share of the written pages that these four were counted on"
    yield [
        *(
            (
                f"page writes to the most written {share} % of written pages",
                _percent(skew[f"top_{share}_percent_share"]),
            )
            for share in (1, 10, 20)
        ),
        ("written pages that are written once", _percent(skew["written_once_share"])),
        *([(sampled, _percent(skew["sampled_share"]))] if skew["sampled_share"] < 1 else ()),
        ("correlation of the lives of neighbouring writes (independent: 0)", _decimals(lives["correlation"])),
        *(
            [("share of the writes that it was counted on", _percent(lives["sampled_share"]))]
            if lives["sampled_share"] < 1
            else ()
        ),
    ]
    volumes = sorted(facts["volumes"].items(), key=lambda item: -item[1])
    others = [requests for _, requests in volumes[TOP_VOLUMES:]]
    yield [
        ("volumes", f"{len(volumes):,}"),
        *((f"  requests on {name}", counted(requests)) for name, requests in volumes[:TOP_VOLUMES]),
        *([(f"  requests on {len(others):,} others", counted(sum(others)))] if others else ()),
    ]


def distribution_table(facts: dict[str, Any]) -> Table:
    """Return means and percentiles of request sizes and of the times between arrivals."""
    table = table_of(["distribution"], _PERCENTILES, ())
    for name, key in (("read size (KiB)", "read_sizes_bytes"), ("write size (KiB)", "write_sizes_bytes")):
        if facts[key]["mean"] is not None:
            table.add_row(name, *(f"{facts[key][column] / 1024:,.1f}" for column in _PERCENTILES))
    gaps = facts["gaps_ns"]
    if gaps["mean"] is not None:
        name = f"time to the next request (µs; percentiles within {gaps['relative_error']:.1%})"
        percentiles = (_rounded(gaps[column] / 1000, 4) for column in ("p50", "p90", "p99"))
        table.add_row(name, f"{gaps['mean'] / 1000:,.1f}", *percentiles, f"{gaps['max'] / 1000:,.1f}")
    return table


def size_rows(summary: RecordSummary) -> Iterator[dict[str, Any]]:
    """Yield how many requests have which size, by powers of two."""
    reads, writes = (
        {(low, below): count for low, below, count in sizes.octaves()}
        for sizes in (summary.read_sizes, summary.write_sizes)
    )
    for low, below in sorted(reads.keys() | writes.keys()):
        counts = {"reads": reads.get((low, below), 0), "writes": writes.get((low, below), 0)}
        yield {"request size": f"{_size(low)} to below {_size(below)}", **counts}


def comparison_table(facts: dict[str, Any]) -> Table:
    """Return what a synthetic trace generates beside what is published of the trace."""
    rows = (
        [
            item["column"],
            *(_number(item[key]) for key in ("generated", "published")),
            f"{item['deviation_percent']:+.2f} %",
        ]
        for item in facts["published"]
    )
    return table_of(["column"], ["generated", "published", "deviation"], rows)


def _size(size_bytes: int) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes // scale} {unit}"
    return f"{size_bytes} B"


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:,.3f} GiB"


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _rounded(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits, and without an exponent."""
    if value is None:
        return "-"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,g}" if rounded < 1000 else f"{rounded:,.0f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}".replace("%", " %")


def _number(value: float) -> str:
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:,.0f}"


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
    trace_format: TraceFormat = None,
    columns: Columns = None,
    events: Events = None,
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
    from ssdgym.experiments.report.style import check_figure_name
    from ssdgym.files import writable_folder
    from ssdgym.workloads.traces.statistics import summarize, trace_facts

    config = recorded(
        source,
        transforms=transform,
        format=trace_format,
        columns=columns,
        events=events,
        skip_bad=skip_bad,
        window=window,
        volumes=volumes,
    )
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
    console().print(facts_table(facts), distribution_table(facts))
    print_rows(size_rows(summary))
    if facts.get("published"):
        console().print(comparison_table(facts))
    for field, reason in facts.get("assumed", {}).items():
        print(f"Assumed, not published: {field}: {reason}")
    if plot is not None:
        print(plot)


@trace.command()
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(help="The file to write; .gz, .bz2, .xz or .zst packs it.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="Format of the new file.")],
    trace_format: TraceFormat = None,
    columns: Columns = None,
    events: Events = None,
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
    from ssdgym.workloads.traces.loading import TraceConfig, load_trace
    from ssdgym.workloads.traces.reading.columns import parse_columns
    from ssdgym.workloads.traces.registry import formats
    from ssdgym.workloads.traces.writing import convert as write_trace
    from ssdgym.workloads.traces.writing import writable_format

    target = writable_format(to)
    config = recorded(
        source,
        transforms=transform,
        format=trace_format,
        columns=columns,
        events=events,
        skip_bad=skip_bad,
        window=window,
    )
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
