"""Options that several commands share, and what their text means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.config.workload import WorkloadConfig

#: Seeds are kept in files as 64-bit integers.
LAST_SEED = 2**63 - 1
#: Of one range: more is a typing error.
MOST_SEEDS = 1_000_000

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and show no progress.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results; made where missing.")]
Seed = Annotated[
    int, typer.Option(min=0, max=LAST_SEED, help="Seed of the workload and of all random choices.")
]
Device = Annotated[str, typer.Option("--device", "-d", help="Name of a device, or path of its YAML file.")]
Ftl = Annotated[
    list[str] | None,
    typer.Option("--ftl", metavar="KEY=VALUE", help="FTL option such as gc.free_blocks=8; repeat for more."),
]
Preconditioning = Annotated[
    Literal["none", "fill", "uniform", "workload"],
    typer.Option(
        help="Before measuring: nothing, every page written once, or that and overwrites until GC is steady."
    ),
]


#: Pairs of a name, dotted for nested ones, and its value, in order of the names.
FtlOptions = tuple[tuple[str, Any], ...]

#: Requests kept outstanding by a workload that has no pace of its own.
CLOSED_LOOP_DEPTH = 32


def parse_ftl(options: list[str] | None, **named: Any) -> FtlOptions:
    """FTL options from ``KEY=VALUE`` texts and from options with a name of their own.

    Values are read as YAML scalars, so ``0.05`` is a number and ``none`` a word.

    Raises:
        SsdgymError: a text is not ``KEY=VALUE``, or a key is given twice.
    """
    found: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    for option in options or ():
        key, equals, text = option.partition("=")
        if not equals or not key:
            raise SsdgymError(f"--ftl {option!r}: write it as KEY=VALUE, for example placement=sep_gc")
        if key in found:
            raise SsdgymError(f"--ftl {option!r}: {key} is already set to {found[key]!r}; give it once")
        for other in found:
            if other.startswith(f"{key}.") or key.startswith(f"{other}."):
                raise SsdgymError(
                    f"--ftl {option!r}: {other} is set, too; give either the whole or its fields"
                )
        found[key] = _scalar(option, text)
    return tuple(sorted(found.items()))


def closed_loop(options: FtlOptions, workload: WorkloadConfig) -> FtlOptions:
    """The options with a queue depth, where otherwise every request would arrive at the same instant.

    A generated workload without a pace has all arrivals at zero. Played as an open loop its latencies would
    only say how long it is.
    """
    paced = getattr(workload, "interarrival_ns", None) != 0
    given = dict(options)
    if paced or "queue_depth" in given or given.get("timing") == "none":
        return options
    return tuple(sorted({**given, "queue_depth": CLOSED_LOOP_DEPTH}.items()))


def parse_seeds(text: str) -> list[int]:
    """Seeds from ``5``, ``1,2,9`` or a range ``100-109`` with both ends.

    Raises:
        SsdgymError: the text is none of these, or names a seed twice.
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise SsdgymError(f"--seeds {text!r}: write seeds as 5, as 1,2,9 or as a range 100-109")
        low, high = int(first), int(last if dash else first)
        if not low <= high <= LAST_SEED or high - low >= MOST_SEEDS:
            raise SsdgymError(
                f"--seeds {text!r}: ranges from low to high have at most {MOST_SEEDS} seeds up to 2**63 - 1"
            )
        seeds += range(low, high + 1)
    if len(set(seeds)) < len(seeds):
        raise SsdgymError(f"--seeds {text!r}: name every seed once")
    return seeds


def _scalar(option: str, text: str) -> Any:
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SsdgymError(f"--ftl {option!r}: its value is not a number or a word") from error
    if isinstance(value, list | dict):
        raise SsdgymError(f"--ftl {option!r}: its value must be a number or a word")
    return value
