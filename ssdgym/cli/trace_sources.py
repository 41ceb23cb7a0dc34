"""The command that fits a synthetic trace, and where traces of commands come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import print_json, print_rows, progress_bar
from ssdgym.cli.options import AsJson, Columns, Seed, Set, Transforms, chosen_workload
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ssdgym.workloads.base import WorkloadConfig
    from ssdgym.workloads.traces.recorded import PlayedConfig


def recorded(
    source: str, fields: list[str] | None, columns: str | None, transforms: list[str] | None
) -> PlayedConfig:
    """Return a trace or a synthetic trace with what the options say."""
    from ssdgym.workloads.traces.recorded import PlayedConfig

    config = chosen_workload(source, fields, columns, transforms)
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


def fit(
    source: Annotated[str, typer.Argument(help="Trace file, or trace:NAME.")],
    fields: Set = None,
    columns: Columns = None,
    transform: Transforms = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="Write the synthetic trace.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a synthetic trace with memory to a trace, and print both side by side.

    The synthetic trace holds no request of the trace, so it can be given away where the trace cannot. Some 30
    candidates are generated, each as long as the trace; --transform "head(requests=100000)" takes less time.

    Examples:

        ssdgym trace fit trace.csv.gz --out twin.yaml
    """
    import yaml

    from ssdgym.files import write_bytes
    from ssdgym.workloads.synthetic.twin import fit_twin
    from ssdgym.workloads.traces.statistics import summarize

    if out is not None and out.exists():
        raise SsdgymError(f"{out}: exists already; give another name")
    config = recorded(source, fields, columns, transform)
    summary = summarize(config.records())
    if not summary.requests:
        raise SsdgymError(f"{source}: no request is left after the transforms; leave some out.")
    name = Path(source.removeprefix("trace:")).name.partition(".")[0] or "twin"
    with progress_bar("candidates", quiet=as_json) as advance:
        twin = fit_twin(summary, config.records().volumes, name, seed, advance)
    made = twin.config.model_dump(mode="json", exclude_unset=True)
    if out is not None:
        written = yaml.safe_dump({"kind": "synthetic", **made}, sort_keys=False, width=110)
        write_bytes(out, written.encode())
    if as_json:
        figures = {name: {"trace": real, "twin": ours} for name, real, ours in twin.figures()}
        print_json({"source": source, "synthetic": made, "figures": figures})
        return
    print_rows({"figure": name, "trace": real, "twin": ours} for name, real, ours in twin.figures())
    writes = twin.config.writes
    print(
        f"{name}: replay_share {writes.replay_share:g}, replay_requests {writes.replay_requests}, "
        f"footprint_factor {twin.config.footprint_factor:g}"
    )
