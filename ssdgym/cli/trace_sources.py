"""The command that fits a synthetic trace, and where traces of commands come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.console import console, print_json, progress_bar, table_of
from ssdgym.cli.options import (
    AsJson,
    Columns,
    Events,
    Seed,
    SkipBad,
    TraceFormat,
    Transforms,
    VolumeLayout,
    recorded_options,
)
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ssdgym.workloads.base import WorkloadConfig
    from ssdgym.workloads.synthetic.twin import Twin
    from ssdgym.workloads.traces.recorded import PlayedConfig


def recorded(source: str, **fields: Any) -> PlayedConfig:
    """Return a trace or a synthetic trace with what the options say."""
    from ssdgym.workloads.traces.recorded import PlayedConfig

    config = recorded_options(source, **fields)
    if not isinstance(config, PlayedConfig):
        raise SsdgymError(
            f"{source}: is a generated workload of the kind {config.kind}, not a trace; give a trace file, "
            "trace:NAME, synthetic:NAME, or a YAML file of the kind trace or synthetic."
        )
    return config


def understood(config: WorkloadConfig) -> list[str]:
    """Return lines that say how a trace file was read; none for another workload."""
    from ssdgym.workloads.traces.loading import TraceConfig

    if not isinstance(config, TraceConfig):
        return []
    origin = config.origin()
    lines = [f"read as {origin['format']}: {origin['columns']}"] if origin["columns"] else []
    lines.append(f"first request: {origin['first_request']}")
    if origin["passed_over"]:
        passed = ", ".join(f"{what}: {count:,}" for what, count in origin["passed_over"].items())
        lines.append(f"beside requests: {passed}")
    return lines


@contextmanager
def counting(config: PlayedConfig, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar of requests; it has no total while a file is being parsed."""
    with progress_bar("requests", quiet=quiet) as advance:
        total = _known_requests(config)
        yield lambda done: advance(done, total)


def _known_requests(config: PlayedConfig) -> int | None:
    """Return the number of requests, where it is known beforehand."""
    from ssdgym.workloads.traces.loading import TraceConfig, load_trace

    return load_trace(config).requests if isinstance(config, TraceConfig) and config.is_whole else None


#: Heads of the columns by the figures of a twin, in the order in which they are printed.
_HEADS = {
    "dispersion_0.1s": "IDC 0.1 s",
    "dispersion_1s": "IDC 1 s",
    "dispersion_10s": "IDC 10 s",
    "hurst": "Hurst",
    "mean_run": "mean run",
    "life_correlation": "lives",
    "top_1_percent_share": "hottest 1 %",
    "written_once_share": "written once",
    "unique_bytes_written": "unique MiB",
}
_SHARES = ("top_1_percent_share", "written_once_share")
_RELATIVE = ("dispersion_0.1s", "dispersion_1s", "dispersion_10s", "mean_run", "unique_bytes_written")


def fit(
    sources: Annotated[list[str], typer.Argument(help="Trace files, or trace:NAME.")],
    trace_format: TraceFormat = None,
    columns: Columns = None,
    events: Events = None,
    skip_bad: SkipBad = None,
    transform: Transforms = None,
    volumes: VolumeLayout = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="Write the synthetic trace, of one source.")
    ] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a synthetic trace with memory to a trace, and print both side by side.

    The synthetic trace holds no request of the trace, so it can be given away where the trace cannot. Some 30
    candidates are generated, each as long as the trace; --transform "head(requests=100000)" takes less time.

    Examples:

        ssdgym trace fit trace.csv.gz --out twin.yaml

        ssdgym trace fit trace:w92 trace:fin1 --markdown
    """
    import yaml

    from ssdgym.files import write_bytes
    from ssdgym.workloads.synthetic.twin import fit_twin
    from ssdgym.workloads.traces.statistics import summarize

    if out is not None and len(sources) > 1:
        raise SsdgymError("--out takes the synthetic trace of one source; give one at a time.")
    if out is not None and out.exists():
        raise SsdgymError(f"{out}: exists already; give another name")
    twins = {}
    for source in sources:
        config = recorded(
            source,
            transforms=transform,
            format=trace_format,
            columns=columns,
            events=events,
            skip_bad=skip_bad,
            volumes=volumes,
        )
        summary = summarize(config.records())
        if not summary.requests:
            raise SsdgymError(f"{source}: no request is left after the transforms; leave some out.")
        with progress_bar("candidates", quiet=as_json or as_markdown) as advance:
            name = Path(source.removeprefix("trace:")).name.partition(".")[0] or "twin"
            twins[source] = fit_twin(summary, config.records().volumes, name, seed, advance)
    fields = {
        source: twin.config.model_dump(mode="json", exclude_unset=True) for source, twin in twins.items()
    }
    if out is not None:
        written = {"kind": "synthetic", **fields[sources[0]]}
        write_bytes(out, yaml.safe_dump(written, sort_keys=False, width=110).encode())
    if as_json:
        print_json(
            [
                {
                    "source": source,
                    "synthetic": fields[source],
                    "figures": {name: {"trace": real, "twin": made} for name, real, made in twin.figures()},
                }
                for source, twin in twins.items()
            ]
        )
    elif as_markdown:
        print("\n".join(_markdown(twins)))
    else:
        console().print(table_of(["trace", ""], [*_HEADS.values()], _rows(twins)))
        for twin in twins.values():
            writes = twin.config.writes
            print(
                f"{twin.config.name}: replay_share {writes.replay_share:g}, replay_requests "
                f"{writes.replay_requests}, footprint_factor {twin.config.footprint_factor:g}"
            )


def _rows(twins: dict[str, Twin]) -> list[list[str]]:
    """Return three rows for each trace: its own, that of its twin, and how far they are apart."""
    rows = []
    for source, twin in twins.items():
        figures = {name: (real, made) for name, real, made in twin.figures() if name in _HEADS}
        pairs = [(name, *figures[name]) for name in _HEADS]
        rows.append([source, "trace", *(_shown(name, real) for name, real, _ in pairs)])
        rows.append(["", "twin", *(_shown(name, made) for name, _, made in pairs)])
        rows.append(["", "misfit", *(_apart(*pair) for pair in pairs)])
    return rows


def _markdown(twins: dict[str, Twin]) -> list[str]:
    heads = ["trace", "", *_HEADS.values()]
    lines = [heads, ["---", "---", *("---:" for _ in _HEADS)], *_rows(twins)]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name in _SHARES:
        return f"{100 * value:.0f} %"
    return f"{value / 2**20:,.1f}" if name == "unique_bytes_written" else f"{float(f'{value:.3g}'):,g}"


def _apart(name: str, real: float | None, made: float | None) -> str:
    """Return the difference: in % of the trace's value, in percentage points of a share, or as it is."""
    if real is None or made is None:
        return "-"
    if name in _RELATIVE:
        return f"{100 * (made / real - 1):+.0f} %" if real else "-"
    return f"{100 * (made - real):+.0f}" if name in _SHARES else f"{made - real:+.2f}"
