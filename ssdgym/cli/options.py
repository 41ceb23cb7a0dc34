"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.config.fields import LAST_SEED, overlapping, read_seeds
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.runs.spec import FtlOptions
    from ssdgym.workloads.base import WorkloadConfig

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and show no progress.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Execute the code that agents come with: of modules, or pickled.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results; made where missing.")]
Seed = Annotated[
    int, typer.Option(min=0, max=LAST_SEED, help="Seed of the workload and of all random choices.")
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        "-a",
        help="File of a trained agent, a name of the zoo, module:callable, a zip of Stable-Baselines3, or"
        " random_action; repeat for more.",
    ),
]
Environment = Annotated[
    str | None,
    typer.Option(help="Environment of agents that come without one. Default: ssdgym/EraseVictim-v0."),
]
EnvArgs = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Its argument, such as candidates=8; repeat for more."),
]
HostPages = Annotated[int | None, typer.Option(min=1, help="Host pages per run. Default: as configured.")]
Warmup = Annotated[
    int | None, typer.Option(min=0, help="Host pages before them, not measured. Default: as configured.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes. Default: 2.")]
Seeds = Annotated[str | None, typer.Option(help="Seeds: 5, or 1,2,9, or 100-109. Default: as configured.")]
Device = Annotated[str, typer.Option("--device", "-d", help="Name of a device, or path of its YAML file.")]
Ftl = Annotated[
    list[str] | None,
    typer.Option("--ftl", metavar="KEY=VALUE", help="FTL option such as gc.free_blocks=8; repeat for more."),
]
PRECONDITIONING_HELP = (
    "Before measuring: none; fill: every page written once; uniform or workload: that and overwrites until GC"
    " is steady; reads: what the workload reads before it writes it; until_gc: random pages under the policy"
    " itself until every plane has collected; until_gc_greedy: so under greedy in one stream, then the"
    " policy's own placement starts; reads_until_gc_greedy: both of these, reads first."
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
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="COLUMNS",
        help='Columns of a trace of no known format: "time:ms disk offset:B size:B op:1=read".',
    ),
]
Events = Annotated[
    str | None,
    typer.Option("--events", help="Events of blkparse that are requests: issued, queued or completed."),
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
    from ssdgym.config.loading import parse_value

    found: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    for option in options or ():
        key, equals, text = option.partition("=")
        if not equals or not key:
            raise SsdgymError(f"--ftl {option!r}: write it as KEY=VALUE, for example placement=sep_gc")
        if key in found:
            raise SsdgymError(f"--ftl {option!r}: {key} is already set to {found[key]!r}; give it once")
        if (other := overlapping(key, found)) is not None:
            raise SsdgymError(f"--ftl {option!r}: {other} is set, too; give either the whole or its fields")
        found[key] = parse_value(text, f"--ftl {option!r}")
        if isinstance(found[key], list | dict):
            raise SsdgymError(f"--ftl {option!r}: its value must be a number or a word")
    return tuple(sorted(found.items()))


def parse_ftls(ftls: list[str] | None, options: list[str] | None) -> list[dict[str, Any]]:
    """Read several FTLs, each from one text with commas between its options; `options` are of every one."""
    from ssdgym.experiments.runs.spec import split_options

    own = [split_options(text) for text in ftls or ("",)]
    return [dict(parse_ftl([*(options or ()), *texts])) for texts in own]


#: What sets the fields of traces and synthetic traces, and those that only trace files have.
_PLAYED = {
    "transforms": "--transform",
    "loops": "--loops",
    "addresses": "--addresses",
    "window": "--window",
    "start": "--start",
}
_OF_FILES = {
    "format": "--format",
    "columns": "--columns",
    "events": "--events",
    "skip_bad": "--skip-bad",
    "volumes": "--volumes",
}


def recorded_options(source: str, **fields: Any) -> WorkloadConfig:
    """Return a workload with what options say of traces and synthetic traces.

    Args:
        source: a workload.
        fields: by name; `None`: not given. Transforms are texts, which go behind those of the workload.

    Raises:
        SsdgymError: there is no such workload, or an option does not fit it.
    """
    from ssdgym.workloads.stream import load_workload
    from ssdgym.workloads.traces.loading import TraceConfig
    from ssdgym.workloads.traces.recorded import PlayedConfig
    from ssdgym.workloads.traces.transforms import parse_transform

    model = load_workload(source)
    given = {name: value for name, value in fields.items() if value is not None}
    for name, option in {**_PLAYED, **_OF_FILES}.items():
        if name in given and not isinstance(model, PlayedConfig if name in _PLAYED else TraceConfig):
            raise SsdgymError(f"{option} {given[name]}: {source} is not a trace; leave {option} out")
    if not isinstance(model, PlayedConfig):
        return model
    if "transforms" in given:
        given["transforms"] = [*model.transforms, *map(parse_transform, given["transforms"])]
    if given.get("start", "").isdecimal():
        given["start"] = int(given["start"])
    return load_workload({**model.model_dump(), **given})


def parse_varied(texts: list[str] | None) -> dict[str, tuple[Any, ...]] | None:
    """Read fields with several values, each from `FIELD=VALUE,VALUE`."""
    from ssdgym.config.loading import parse_value

    if not texts:
        return None
    pieces = (text.partition("=") for text in texts)
    return {
        field.strip(): tuple(parse_value(f"[{values}]", f"--vary {field}")) for field, _, values in pieces
    }


def parse_seeds(text: str) -> list[int]:
    """Read seeds from `5`, `1,2,9` or a range `100-109` with both ends."""
    try:
        return list(read_seeds(text))
    except ValueError as error:
        raise SsdgymError(f"--seeds {text!r}: {error}") from None
