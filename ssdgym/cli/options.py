"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.config.fields import LAST_SEED, overlapping, read_seeds
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.spec import FtlOptions, split_options

if TYPE_CHECKING:
    from ssdgym.workloads.base import WorkloadConfig

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and show no progress.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Execute the code that agents come with: of modules, or pickled.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results; made where missing.")]
Seed = Annotated[
    int, typer.Option(min=0, max=LAST_SEED, help="Seed of the workload and of all random choices.")
]
Device = Annotated[str, typer.Option("--device", "-d", help="Name of a device, or path of its YAML file.")]
Ftl = Annotated[
    list[str] | None,
    typer.Option("--ftl", metavar="KEY=VALUE", help="FTL option such as gc.free_blocks=8; repeat for more."),
]
PRECONDITIONING_HELP = (
    "Before measuring: none; fill: every page written once; uniform or workload: that and overwrites until GC"
    " is steady; reads: what the workload reads before it writes it; until_gc: random pages under the policy"
    " itself until every plane has collected; until_gc_greedy: so under greedy in one stream, then the"
    " policy's own placement starts."
    " fill(share=0.5) writes the first half of the pages."
)
Transforms = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        metavar="KIND(FIELD=VALUE)",
        help="Change a trace: head(requests=N), only(ops=write), volumes(keep=NAME), scale_time(factor=X),"
        " scale_space(factor=N), align(unit_bytes=N); repeat for more, in order.",
    ),
]
TraceFormat = Annotated[
    str | None, typer.Option("--format", help="Format of a trace file, where it is not to be recognised.")
]
Addresses = Annotated[
    Literal["compact", "fold"] | None,
    typer.Option(help="Pages of a trace: numbered densely, or modulo the device's. Default: as configured."),
]
VolumeLayout = Annotated[
    Literal["end_to_end", "overlay"] | None,
    typer.Option(
        "--volumes",
        help="Volumes of a trace: one after the other, or all from address 0 on. Default: as configured.",
    ),
]
Window = Annotated[
    tuple[float, float] | None,
    typer.Option(help="Part of a trace that is played: two shares of its requests, such as 0.7 1."),
]
SkipBad = Annotated[
    int | None, typer.Option("--skip-bad", min=0, help="Bad lines of a trace left out before giving up.")
]


def parse_ftl(options: list[str] | None, **named: Any) -> FtlOptions:
    """Read FTL options from `KEY=VALUE` texts and from options with a name of their own.

    Values are read as YAML scalars, so `0.05` is a number and `none` a word.

    Args:
        options: the texts.
        named: other options by name; `None` for one that was not given.

    Returns:
        Pairs of a dotted name and a value, in order of the names.

    Raises:
        SsdgymError: a text is not `KEY=VALUE`, or a key is given twice.
    """
    found: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    for option in options or ():
        key, equals, text = option.partition("=")
        if not equals or not key:
            raise SsdgymError(f"--ftl {option!r}: write it as KEY=VALUE, for example placement=sep_gc")
        if key in found:
            raise SsdgymError(f"--ftl {option!r}: {key} is already set to {found[key]!r}; give it once")
        if (other := overlapping(key, found)) is not None:
            raise SsdgymError(f"--ftl {option!r}: {other} is set, too; give either the whole or its fields")
        found[key] = _scalar(option, text)
    return tuple(sorted(found.items()))


def parse_ftls(ftls: list[str] | None, options: list[str] | None) -> list[dict[str, Any]]:
    """Read several FTLs, each from one text with commas between its options; `options` are of every one."""
    own = [split_options(text) for text in ftls or ("",)]
    return [dict(parse_ftl([*(options or ()), *texts])) for texts in own]


def recorded_options(
    source: str,
    transforms: list[str] | None = None,
    trace_format: str | None = None,
    skip_bad: int | None = None,
    loops: int | None = None,
    addresses: str | None = None,
    window: tuple[float, float] | None = None,
    start: str | None = None,
    volumes: str | None = None,
) -> WorkloadConfig:
    """Return a workload with what these options say of traces and synthetic traces.

    Args:
        source: a workload.
        transforms: texts such as `head(requests=10)`; they go behind those that the workload has already.
        trace_format: of a trace file.
        skip_bad: so many bad lines of a trace may be left out.
        loops: how often it is played.
        addresses: `compact` or `fold`.
        window: where the part that is played begins and ends, as shares.
        start: `first`, `random` or the number of a request.
        volumes: of a trace file; `end_to_end` or `overlay`.

    Raises:
        SsdgymError: there is no such workload, or an option does not fit it.
    """
    from ssdgym.workloads.stream import load_workload
    from ssdgym.workloads.traces.loading import TraceConfig
    from ssdgym.workloads.traces.recorded import PlayedConfig
    from ssdgym.workloads.traces.transforms import parse_transform

    model = load_workload(source)
    given = {
        "--transform": transforms,
        "--format": trace_format,
        "--skip-bad": skip_bad,
        "--loops": loops,
        "--addresses": addresses,
        "--window": window,
        "--start": start,
        "--volumes": volumes,
    }
    fits = (
        ("--transform", "--loops", "--addresses", "--window", "--start")
        if isinstance(model, PlayedConfig)
        else ()
    )
    for option, value in given.items():
        if value is not None and option not in fits and not isinstance(model, TraceConfig):
            raise SsdgymError(f"{option} {value}: {source} is not a trace; leave {option} out")
    if not isinstance(model, PlayedConfig):
        return model
    changes: dict[str, Any] = {
        "transforms": [*model.transforms, *(parse_transform(text) for text in transforms or ())],
        "loops": model.loops if loops is None else loops,
        "addresses": addresses or model.addresses,
        "window": window or model.window,
        "start": model.start if start is None else int(start) if start.isdecimal() else start,
    }
    of_files = {"format": trace_format, "skip_bad": skip_bad, "volumes": volumes}
    changes |= {name: value for name, value in of_files.items() if value is not None}
    return load_workload({**model.model_dump(), **changes})


def with_tenants(name: str, workload: WorkloadConfig, others: list[str]) -> WorkloadConfig:
    """Return several workloads on one device, each in an equal part of its logical space."""
    from ssdgym.workloads.stream import load_workload

    tenants = [{"name": name, "workload": workload}]
    tenants += [{"name": other, "workload": load_workload(other)} for other in others]
    return load_workload({"kind": "tenants", "tenants": tenants})


def parse_seeds(text: str) -> list[int]:
    """Read seeds from `5`, `1,2,9` or a range `100-109` with both ends."""
    try:
        return list(read_seeds(text))
    except ValueError as error:
        raise SsdgymError(f"--seeds {text!r}: {error}") from None


def _scalar(option: str, text: str) -> Any:
    from ssdgym.config.loading import parse_value

    value = parse_value(text, f"--ftl {option!r}")
    if isinstance(value, list | dict):
        raise SsdgymError(f"--ftl {option!r}: its value must be a number or a word")
    return value
