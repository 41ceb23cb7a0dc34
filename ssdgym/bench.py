"""`python -m ssdgym.bench`: how fast the engine, environments, traces and their start are on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import floor, log10
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import numpy as np
import pandas as pd
import typer
from rich.text import Text

from ssdgym.cli import main
from ssdgym.cli.console import compile_note, print_json, print_table, progress_note
from ssdgym.cli.options import AsJson
from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.loading import Source
from ssdgym.errors import SsdgymError
from ssdgym.files import write_between
from ssdgym.simulator import Recording, Simulator
from ssdgym.workloads import open_workload, page_writes
from ssdgym.workloads.generators.patterns import UniformConfig
from ssdgym.workloads.traces.loading import TraceConfig
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.registry import format_of

#: Around the table in a page.
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
HEADINGS = ("measurement", "median", "low", "high")
#: Does some work, and returns how many operations that were.
Work = Callable[[], int]
Announce = Callable[[str], None]

ENVIRONMENT = "ssdgym/EraseVictim-v0"
REQUESTS, SINGLE_STEPS, VECTOR_STEPS, TRACE_LINES = 1_000_000, 5_000, 1_000, 1_000_000
STARTS = ("cold compile", "warm start")
_SPREAD = {"median": "median", "low": "min", "high": "max"}
_BY = ["name", "unit"]
_DEVICES = 64
#: Devices of papers, the policies that are measured on them, and how many requests a repeat has.
_POLICIES = (
    ("speedupgc-64l-small", "baseline", 100_000),
    ("speedupgc-64l-small", "speedupgc", 100_000),
    ("subftl-tlc-small", "default", 100_000),
    ("pen-vnand-small", "default", 5_000),
)
_SPACE_BYTES, _PAGE_BYTES = 4 << 30, 4096
#: Imports, makes the environment and takes one step, as a user's script would at its start.
_FIRST_STEP = (
    f"import gymnasium, ssdgym.envs\nenv = gymnasium.make({ENVIRONMENT!r}, disable_env_checker=True)\n"
    "observation, _ = env.reset(seed=0)\nenv.step(int(observation['action_mask'].argmax()))\n"
)


def measure(repeats: int, *, start: bool, announce: Announce) -> pd.DataFrame:
    """Measure everything; `start` adds a cold compile and warm starts, in processes of their own.

    Returns:
        A row for each measurement: name, unit, median, low and high.
    """
    rows: list[tuple[str, str, float]] = []
    with tempfile.TemporaryDirectory(prefix="ssdgym-bench-") as folder:
        for name, (unit, prepare) in rates(Path(folder)).items():
            announce(name)
            work = prepare()
            work()
            for _ in range(repeats):
                started = time.perf_counter()
                rows.append((name, unit, work() / (time.perf_counter() - started)))
            del work  # or the next device would lie in other memory
        # With compiled sources, as after an installation.
        variables = {**os.environ, "SSDGYM_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for name, times in zip(STARTS, (1, repeats), strict=True) if start else ():
            announce(name)
            for _ in range(times):
                started = time.perf_counter()
                _printed([sys.executable, "-c", _FIRST_STEP], "a fresh process took no step", env=variables)
                rows.append((f"{name}, to the first step", "s", time.perf_counter() - started))
    found = pd.DataFrame(rows, columns=[*_BY, "value"])
    return found.groupby(_BY, sort=False)["value"].agg(**_SPREAD).reset_index()


def measure_against(clone: Path, turns: int, *, start: bool, announce: Announce) -> pd.DataFrame:
    """Measure another clone and the sources that run in turns, each run a process of the clone's own Python.

    Returns:
        A row for each measurement that both have: name, unit, medians of both, median, low and high of their
        ratio in the same turn, and whether the sources that run were slower in every turn.

    Raises:
        SsdgymError: the clone has no Python, or cannot be measured.
    """
    own = ("here", Path(__file__).parents[1], sys.executable)  # -m finds the sources of the folder first
    sides = (("other", clone, str((clone / ".venv" / "bin" / "python").absolute())), own)
    options = ["-m", "ssdgym.bench", "--repeats", "1", "--start" if start else "--no-start", "--json"]
    rows = []
    for turn in range(turns):
        for side, folder, python in sides:
            announce(f"{side}, turn {turn + 1} of {turns}")
            printed = _printed([python, *options], f"--against {clone}: {python} cannot measure", cwd=folder)
            rows += [{**row, "turn": turn, "side": side} for row in json.loads(printed)]
    both = pd.DataFrame(rows).pivot(index=[*_BY, "turn"], columns="side", values="median").dropna()
    both = both.reindex(pd.unique(pd.Series([row["name"] for row in rows])), level="name")
    found = both.assign(ratio=both["here"] / both["other"]).groupby(_BY, sort=False)
    table = found[["other", "here"]].median().join(found["ratio"].agg(**_SPREAD)).reset_index()
    table["slower"] = np.where(table["unit"] == "s", table["low"] > 1, table["high"] < 1)
    return table


def _printed(command: Sequence[str], failure: str, **options: Any) -> str:
    """Return what a command prints; raise an error that begins with `failure` if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        raise SsdgymError(f"{failure} ({error.strerror}); make a virtual environment there.") from error
    if done.returncode:
        raise SsdgymError(f"{failure} ({(done.stderr.strip().splitlines() or ['no message'])[-1]}).")
    return done.stdout


def rates(folder: Path) -> dict[str, tuple[str, Callable[[], Work]]]:
    """Return the unit of each rate and what prepares its work, by name; traces lie in the folder."""
    tiny, default = f"{_DEVICES} devices of 64 blocks x 16 pages, 8 candidates", f"{_DEVICES} default devices"
    small = _device("none", 1000)
    large = _device("none", 23_020, pages_per_block=128)
    dies = partial(_device, "event", 250, channels=2, chips_per_channel=2)
    tiny_steps = partial(
        _vector_steps,
        device=_device("none", 64, 0.28, pages_per_block=16),
        workload="uniform",
        candidates=8,
        proposers=("greedy", "cost_benefit", "fifo"),
    )
    steps = partial(_vector_steps, ftl={"timing": "none"})
    placing = partial(_vector_steps, "ssdgym/Placement-v0")
    untimed, timed = "untimed host writes", "event-driven requests, 4 dies, half reads"
    pages, requests, decisions = "host pages/s", "requests/s", "decisions/s"
    found: dict[str, tuple[str, Callable[[], Work]]] = {
        f"{untimed}, 1,000 blocks x 64 pages, 7 % spare": (pages, partial(_runs, small)),
        f"{untimed}, 23,020 blocks x 128 pages, 7 % spare": (pages, partial(_runs, large, laps=2)),
        f"{timed}, 28 % spare": (requests, partial(_runs, dies(over_provisioning=0.28), 0.5)),
        f"{timed}, 7 % spare": (requests, partial(_runs, dies(), 0.5)),
        "single environment": (decisions, _single_steps),
        tiny: (decisions, tiny_steps),
        f"{tiny}, one thread": (decisions, partial(tiny_steps, threads=1)),
        f"{default}, 16 candidates": (decisions, steps),
        f"{default}, 16 candidates, one thread": (decisions, partial(steps, threads=1)),
        f"{_DEVICES} devices, streams of Placement-v0": (decisions, placing),
        "MSR trace parsed": ("lines/s", lambda: traces(folder)[0]),
        "parsed trace played on the pages of a device": (requests, lambda: traces(folder)[1]),
    }
    for name, policy, count in _POLICIES:
        for timing in ("none", "event"):
            device = {"base": name, "ftl.timing": timing}
            work = partial(_runs, device, 0.2, laps=1, policy=policy, count=count)
            found[f"{name}, policy {policy}, timing {timing}"] = requests, work
    return found


def _device(timing: str, blocks: int, over_provisioning: float = 0.07, **geometry: int) -> DeviceConfig:
    """Return a device of blocks of 64 pages; 7 % over-provisioning is that of published comparisons."""
    sizes = {"blocks_per_plane": blocks, "pages_per_block": 64, "page_size_bytes": _PAGE_BYTES}
    times = {"program_ns": 600_000, "erase_ns": 3_000_000, "read_ns": 50_000, "transfer_ns_per_byte": 2.5}
    return load_device(
        {
            "name": "bench",
            "geometry": sizes | geometry,
            "capacity": {"over_provisioning": over_provisioning},
            "timing": times,
            "ftl": {"timing": timing, "queue_depth": 32, "placement": "single", "gc": {"free_blocks": 2}},
        }
    )


def _runs(
    source: Source, read_fraction: float = 0, laps: int = 0, policy: str = "greedy", count: int | None = None
) -> Work:
    """Play the same `count` uniform requests again and again on a device that was filled before.

    With `laps` all pages are overwritten so often before, and addresses move on with each repeat: a device of
    more pages than requests would otherwise keep pages that are never written.
    """
    device = load_device(source)
    simulator = Simulator(device, policy=policy, recording=Recording(latencies=1 << 10))
    pages = device.logical_pages
    config = UniformConfig(requests=count or REQUESTS, read_fraction=read_fraction)
    stream = open_workload(config, logical_pages=pages, page_size=device.host_unit_bytes, seed=0)
    requests = stream.take(count or REQUESTS)
    simulator.run(page_writes(np.arange(pages)))

    def work() -> int:
        if laps:
            requests["lpn"] = (requests["lpn"] + pages // 3) % pages
        simulator.feed(requests)
        simulator.advance()
        return len(requests)

    for _ in range(max(laps * pages // len(requests), 1)):
        work()
    return work


def _single_steps() -> Work:
    environment = gymnasium.make(ENVIRONMENT, disable_env_checker=True)
    observation, _ = environment.reset(seed=0)

    def work() -> int:
        nonlocal observation
        for _ in range(SINGLE_STEPS):
            action = int(observation["action_mask"].argmax())
            observation, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                observation, _ = environment.reset()
        return SINGLE_STEPS

    return work


def _vector_steps(environment: str = ENVIRONMENT, **arguments: Any) -> Work:
    environments = gymnasium.make_vec(
        environment, num_envs=_DEVICES, vectorization_mode="vector_entry_point", **arguments
    )
    environments.reset(seed=0)
    # Candidate 0, the pick of the first proposer, may always be chosen, as may stream 0.
    actions = np.zeros(_DEVICES, np.int64)

    def work() -> int:
        for _ in range(VECTOR_STEPS):
            environments.step(actions)
        return VECTOR_STEPS * _DEVICES

    return work


def traces(folder: Path) -> tuple[Work, Work]:
    """Return what parses a trace without the cache, and what plays its records on the pages of a device.

    It is an MSR trace of single pages, half of them written, uniformly over 4 GiB.
    """
    rng, trace = np.random.default_rng(0), folder / "trace.csv"
    columns = {
        "time": np.arange(TRACE_LINES) * 10,
        "host": "hm",
        "disk": 0,
        "op": np.where(rng.random(TRACE_LINES) < 0.5, "Read", "Write"),
        "offset": rng.integers(0, _SPACE_BYTES // _PAGE_BYTES, TRACE_LINES) * _PAGE_BYTES,
        "size": _PAGE_BYTES,
        "response": 0,
    }
    pd.DataFrame(columns).to_csv(trace, header=False, index=False)
    known, config = format_of(trace, "msr"), TraceConfig(path=trace)
    return (
        lambda: sum(map(len, known.read(trace, BadLines(trace, 0), VolumeNumbers(trace)))),
        lambda: len(config.open(config.touched_pages(_PAGE_BYTES), _PAGE_BYTES, 0).take(TRACE_LINES)),
    )


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
def bench(
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each measurement; the median counts.")] = 5,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Measure the cold compile and the warm start, too.")
    ] = True,
    update: Annotated[
        Path | None, typer.Option(help="Markdown page with the marks of a bench that gets the table.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="CLONE", help="Measure another clone in turns, by the Python of its .venv."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure host writes/s, requests/s, decisions/s, lines/s of traces, cold compile and warm start.

    With --against, what was slower in every turn is red.

    Examples:

        python -m ssdgym.bench

        python -m ssdgym.bench --update docs/performance.md

        python -m ssdgym.bench --against ../before --no-start
    """
    if against and update:
        raise SsdgymError("--against and --update are two tables; give one of them.")
    compile_note(quiet=as_json)
    how = partial(measure_against, against) if against else measure
    found = how(repeats, start=start, announce=lambda name: progress_note(f"measuring {name}", quiet=as_json))
    if as_json:
        print_json(found.to_dict("records"))
    elif against:
        columns = ["other", "here", "here / other", "low", "high", ""]
        print_table(["measurement"], columns, [_turns_row(item) for item in found.itertuples()])
    else:
        print_table([HEADINGS[0]], HEADINGS[1:], _rows(found))
    if update:
        write_table(update, found)
        progress_note(str(update), quiet=as_json)


def _rows(found: pd.DataFrame) -> list[list[str]]:
    """Return the rows of the table of measurements."""
    return [
        [row.name, f"{_rounded(row.median)} {row.unit}", _rounded(row.low), _rounded(row.high)]
        for row in found.itertuples()
    ]


def _turns_row(item: Any) -> list[str | Text]:
    ratios = [f"{ratio:.3f}" for ratio in (item.median, item.low, item.high)]
    slower = Text("slower" if item.slower else "", "red")
    return [f"{item.name}, {item.unit}", _rounded(item.other), _rounded(item.here), *ratios, slower]


def write_table(page: Path, found: pd.DataFrame) -> Path:
    """Replace what a Markdown page has between `BEGIN` and `END` by the table of measurements."""
    rows = [HEADINGS, ("---", *("---:" for _ in HEADINGS[1:])), *_rows(found)]
    return write_between(page, BEGIN, END, "".join(f"| {' | '.join(row)} |\n" for row in rows))


def _rounded(number: float) -> str:
    """Return a number with three significant digits, and without an exponent."""
    decimals = 2 - floor(log10(number)) if number else 0
    return f"{round(number, decimals):,.{max(decimals, 0)}f}"


if __name__ == "__main__":
    sys.exit(main(app=app, name="python -m ssdgym.bench"))
