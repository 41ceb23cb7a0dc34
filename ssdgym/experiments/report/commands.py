"""The commands that repeat the runs in a file of results."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.comparison import HELD_OUT
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import LENGTH, Spec, read_spec
from ssdgym.workloads.stream import load_workload

#: Parts of a spec that one `ssdgym evaluate` has only one of.
_SETTINGS = ("ftl", *LENGTH)
#: Of a command, so that it can be read without scrolling.
_LINE_LENGTH = 90


@dataclass(frozen=True)
class Repetition:
    """Commands that run results again.

    Attributes:
        commands: each runs a part of them; together they run all that can be named on a command line.
        missing: one sentence for everything that they do not run.
    """

    commands: tuple[str, ...]
    missing: tuple[str, ...]


def specs_of(results: Iterable[Result]) -> list[Spec]:
    """Return the specs of results; fewer than results where some of them have none."""
    subject = "the column 'spec' of the result of {0.policy} on {0.workload} (seed {0.seed})"
    return [read_spec(result.spec, subject.format(result)) for result in results if result.spec]


def repetition(results: Sequence[Result], out: Path) -> Repetition:
    """Return the `ssdgym evaluate` commands that run the results again.

    A device or workload is named only where its name stands today for the very configuration that was run.
    """
    specs = specs_of(results)
    missing = []
    if len(specs) < len(results):
        count = len(results) - len(specs)
        missing.append(f"{count} of {len(results)} results do not say how they were made.")
    unnamed = sorted({name for spec in specs if (name := _unnamed(spec))})
    missing += [f"{name} cannot be given to evaluate as it was run; replay its results." for name in unnamed]
    groups: dict[str, list[Spec]] = {}
    for spec in specs:
        if not _unnamed(spec):
            groups.setdefault(json.dumps([spec[name] for name in _SETTINGS]), []).append(spec)
    folders = [out] if len(groups) == 1 else [out / str(number) for number in range(1, len(groups) + 1)]
    commands = [_command(group, folder) for group, folder in zip(groups.values(), folders, strict=True)]
    if any(not _is_product(group) for group in groups.values()):
        missing.append("The grid has gaps, which these commands fill.")
    return Repetition(tuple(commands), tuple(missing))


def seed_text(seeds: Iterable[int]) -> str:
    """Return seeds as `--seeds` takes them: `100-104,200`."""
    ranges: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def _unnamed(spec: Spec) -> str:
    """Return what of a run has no option of `ssdgym evaluate`; empty where everything has."""
    device, workload = spec["names"]["device"], _workload_name(spec)
    if spec["requests"] is not None or spec["host_pages"] is None:
        return f"A run that is not as long as a number of host pages ({workload})"
    if spec.get("days") or spec.get("day_requests"):
        return f"A run in which days pass ({workload})"
    if not _stands_for(load_device, device, spec["device"]):
        return f"The device {device}"
    return "" if _stands_for(load_workload, workload, spec["workload"]) else f"The workload {workload}"


def _stands_for(load: Any, name: str, config: dict[str, Any]) -> bool:
    """Return whether a name stands for a configuration; not if it needs what is not installed any more."""
    try:
        return bool(load(name).model_dump(mode="json") == load(config).model_dump(mode="json"))
    except SsdgymError:
        return False


def _workload_name(spec: Spec) -> str:
    return str(spec["names"]["workload"]).removesuffix(HELD_OUT)


def _command(specs: Sequence[Spec], out: Path) -> str:
    """Return one command, broken into lines between options."""
    first = specs[0]
    options = [(option, value) for option, values in _dimensions(specs).items() for value in values]
    options.append(("--seeds", seed_text(spec["seed"] for spec in specs)))
    options.append(("--host-pages", str(first["host_pages"])))
    options.append(("--warmup", str(first["warmup"])))
    options.append(("--preconditioning", first["preconditioning"]))
    for name, value in first["ftl"]:
        options.append(("--ftl", f"{name}={value if isinstance(value, str) else json.dumps(value)}"))
    options.append(("--out", str(out)))
    lines = ["ssdgym evaluate"]
    for words in map(shlex.join, options):
        if len(lines[-1]) + len(words) < _LINE_LENGTH:
            lines[-1] += f" {words}"
        else:
            lines.append(f"  {words}")
    return " \\\n".join(lines)


def _dimensions(specs: Sequence[Spec]) -> dict[str, list[str]]:
    """Return the values of every repeatable option in order of first appearance."""
    named: dict[str, dict[str, None]] = {"--device": {}, "--workload": {}, "--agent": {}, "--policy": {}}
    for spec in specs:
        named["--device"][spec["names"]["device"]] = None
        named["--workload"][_workload_name(spec)] = None
        if spec["agent"]:
            named["--agent"][spec["agent"]["path"]] = None
        else:
            named["--policy"][spec["policy"]] = None
    return {option: list(values) for option, values in named.items()}


def _is_product(specs: Sequence[Spec]) -> bool:
    """Return whether the runs are all combinations of devices, workloads, policies, agents and seeds."""
    found = _dimensions(specs)
    policies = len(found["--policy"]) + len(found["--agent"])
    seeds = len({spec["seed"] for spec in specs})
    return len(specs) == len(found["--device"]) * len(found["--workload"]) * policies * seeds
