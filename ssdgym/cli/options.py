"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
Address = Annotated[
    str | None,
    typer.Option(help="Run as Ray tasks: local, or the address of a cluster (auto: the running one)."),
]
Seeds = Annotated[str | None, typer.Option(help="Seeds: 5, or 1,2,9, or 100-109. Default: as configured.")]
Device = Annotated[str, typer.Option("--device", "-d", help="Name of a device, or path of its YAML file.")]
Ftl = Annotated[
    list[str] | None,
    typer.Option("--ftl", metavar="KEY=VALUE", help="FTL option such as gc.free_blocks=8; repeat for more."),
]
PRECONDITIONING_HELP = (
    "Before measuring: none, fill (every page once; fill(share=0.5): half of them), uniform or workload"
    " (until GC is steady), reads, until_gc, until_gc_greedy, reads_until_gc_greedy; see Preconditioning."
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
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="COLUMNS",
        help='Columns of a trace of no known format: "time:ms disk offset:B size:B op:1=read".',
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Field of the workload, such as read_fraction=0.3; of a trace such as loops=5, window=[0,0.7],"
        " start=random, addresses=fold, volumes=overlay, format=msr, skip_bad=3; repeat for more.",
    ),
]


def parse_pairs(option: str, texts: Iterable[str] | None) -> dict[str, Any]:
    """Return values by name, from the `NAME=VALUE` texts of an option; values are YAML.

    Raises:
        SsdgymError: a text is not `NAME=VALUE`, or sets what another one has set.
    """
    from ssdgym.config.loading import parse_value

    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise SsdgymError(f"{option} {text!r}: write it as NAME=VALUE")
        if (other := overlapping(name, found)) is not None:
            raise SsdgymError(f"{option} {text!r}: {other} is set already; give one of the two")
        found[name] = parse_value(value, f"{option} {text!r}")
    return found


def parse_ftl(texts: Iterable[str] | None, **named: Any) -> FtlOptions:
    """Return FTL options in order of their dotted names, with those that have options of their own.

    Raises:
        SsdgymError: a text is not `KEY=VALUE`, a key is given twice, or its value is no number or word.
    """
    found = parse_pairs("--ftl", texts)
    for name, value in named.items():
        if value is not None and name in found:
            raise SsdgymError(f"--ftl {name}: is set by an option of its own, too; give one of the two")
        found |= {} if value is None else {name: value}
    for name, value in found.items():
        if isinstance(value, list | dict):
            raise SsdgymError(f"--ftl {name}: its value must be a number or a word")
    return tuple(sorted(found.items()))


def parse_ftls(ftls: list[str] | None, options: list[str] | None) -> list[dict[str, Any]]:
    """Read several FTLs, each from one text with commas between its options; `options` are of every one."""
    from ssdgym.experiments.runs.spec import split_options

    own = [split_options(text) for text in ftls or ("",)]
    return [dict(parse_ftl([*(options or ()), *texts])) for texts in own]


def chosen_workload(
    source: str, fields: list[str] | None, columns: str | None, transforms: list[str] | None = None
) -> WorkloadConfig:
    """Return a workload with what options change: its fields, and transforms behind its own.

    Raises:
        SsdgymError: there is no such workload, or it has no such field.
    """
    from ssdgym.config.fields import with_changes
    from ssdgym.workloads.stream import load_workload
    from ssdgym.workloads.traces.transforms import parse_transform

    model = load_workload(source)
    changes = parse_pairs("--set", fields) | ({} if columns is None else {"columns": columns})
    for option, name in (("--columns", "columns"), ("--transform", "transforms")):
        if (columns if name == "columns" else transforms) and name not in type(model).model_fields:
            raise SsdgymError(f"{option}: {source} is not a trace; leave {option} out")
    if transforms:
        own = getattr(model, "transforms", ())
        changes["transforms"] = [*own, *map(parse_transform, transforms)]
    return load_workload(with_changes(model.model_dump(), changes)) if changes else model


def parse_varied(texts: list[str] | None) -> dict[str, tuple[Any, ...]] | None:
    """Read fields with several values, each from `FIELD=VALUE,VALUE`."""
    pairs = (text.partition("=") for text in texts or ())
    lists = parse_pairs("--vary", (f"{field}{equals}[{values}]" for field, equals, values in pairs))
    return {field: tuple(values) for field, values in lists.items()} or None


def parse_seeds(text: str) -> list[int]:
    """Read seeds from `5`, `1,2,9` or a range `100-109` with both ends."""
    try:
        return list(read_seeds(text))
    except ValueError as error:
        raise SsdgymError(f"--seeds {text!r}: {error}") from None
