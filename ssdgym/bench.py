"""`python -m ssdgym.bench`: measure the speed of engine, environments, trace reading and start-up."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import numpy as np
import pandas as pd
import typer

from ssdgym.cli import main
from ssdgym.cli.console import note, show
from ssdgym.cli.options import command
from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.loading import Source
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from ssdgym.workloads import open_workload, page_writes
from ssdgym.workloads.generators.patterns import UniformConfig
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.transforms import HeadConfig
from ssdgym.workloads.traces.writing import convert, writable_format

#: A function that does some work and returns the number of operations done.
Work = Callable[[], int]

ENVIRONMENT, _PLACEMENT = "ssdgym/EraseVictim-v0", "ssdgym/Placement-v0"
REQUESTS, SINGLE_STEPS, VECTOR_STEPS, TRACE_LINES = 1_000_000, 5_000, 1_000, 1_000_000
_SPREAD, _BY, _DEVICES = {"median": "median", "low": "min", "high": "max"}, ["name", "unit"], 64
#: Measurements on devices of papers: device, policy, and number of requests per repeat.
_POLICIES = (
    ("speedupgc-64l-small", "baseline", 100_000),
    ("speedupgc-64l-small", "speedupgc", 100_000),
    ("subftl-tlc-small", "default", 100_000),
    ("pen-vnand-small", "default", 5_000),
)
#: A script that imports ssdgym, makes an environment and takes one step.
_FIRST_STEP = (
    f"import gymnasium, ssdgym.envs\nenv = gymnasium.make({ENVIRONMENT!r}, disable_env_checker=True)\n"
    "observation, _ = env.reset(seed=0)\nenv.step(int(observation['action_mask'].argmax()))\n"
)


def measure(repeats: int, *, start: bool) -> pd.DataFrame:
    """Return a row for each measurement: name, unit, and median, lowest and highest value of the repeats.

    If `start` is true, also measure the seconds that a new process needs to its first step: once with an
    empty cache ("cold compile"), and `repeats` times with compiled code in the cache ("warm start").
    """
    rows: list[tuple[str, str, float]] = []
    with tempfile.TemporaryDirectory(prefix="ssdgym-bench-") as folder:
        for name, (unit, prepare) in rates(Path(folder)).items():
            note(f"measuring {name}")
            work = prepare()
            work()
            for _ in range(repeats):
                started = time.perf_counter()
                rows.append((name, unit, work() / (time.perf_counter() - started)))
            del work  # so that the next device can use the same memory
        # Bytecode of the sources is written and reused, as after an installation.
        variables = {**os.environ, "SSDGYM_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for name, times in {"cold compile": 1, "warm start": repeats}.items() if start else ():
            note(f"measuring {name}")
            for _ in range(times):
                started = time.perf_counter()
                _printed([sys.executable, "-c", _FIRST_STEP], "a fresh process took no step", env=variables)
                rows.append((f"{name}, to the first step", "s", time.perf_counter() - started))
    found = pd.DataFrame(rows, columns=[*_BY, "value"])
    return found.groupby(_BY, sort=False)["value"].agg(**_SPREAD).reset_index()


def measure_against(clone: Path, turns: int, *, start: bool) -> pd.DataFrame:
    """Measure `clone` (with the Python in its `.venv`) and these sources in turn, each in a new process.

    Return a row for each measurement that both clones print: its name and unit; the medians of `clone`
    ("other") and of these sources ("here"); median, lowest and highest of the ratios here / other, one ratio
    for each of the `turns`; and whether these sources were slower in every turn.
    """
    own = Path(__file__).parents[1], sys.executable  # python -m imports from its working folder first
    sides = {"other": (clone, str((clone / ".venv" / "bin" / "python").absolute())), "here": own}
    options = ["-m", "ssdgym.bench", "--repeats", "1", "--start" if start else "--no-start", "--json"]
    rows = []
    for turn, (side, (folder, python)) in itertools.product(range(turns), sides.items()):
        note(f"measuring {side}, turn {turn + 1} of {turns}")
        printed = _printed([python, *options], f"--against {clone}: {python} cannot measure", cwd=folder)
        rows += [{**row, "turn": turn, "side": side} for row in json.loads(printed)]
    both = pd.DataFrame(rows).pivot(index=[*_BY, "turn"], columns="side", values="median").dropna()
    found = both.assign(ratio=both["here"] / both["other"]).groupby(_BY)
    table = found[["other", "here"]].median().join(found["ratio"].agg(**_SPREAD)).reset_index()
    table["slower"] = np.where(table["unit"] == "s", table["low"] > 1, table["high"] < 1)
    return table


def _printed(command: Sequence[str], failure: str, **options: Any) -> str:
    """Return the output of a command; if it fails, raise an error that begins with `failure`."""
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True, **options).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).splitlines()[-1]
        raise SsdgymError(f"{failure} ({said}); look at the virtual environment there.") from error


def rates(folder: Path) -> dict[str, tuple[str, Callable[[], Work]]]:
    """Return a mapping from the name of each rate to its unit and a function that prepares the timed work."""
    tiny, default = f"{_DEVICES} devices of 64 blocks x 16 pages, 8 candidates", f"{_DEVICES} default devices"
    large = _device("none", 23_020, pages_per_block=128)
    dies = partial(_device, "event", 250, channels=2, chips_per_channel=2)
    small: dict[str, Any] = {"device": _device("none", 64, 0.28, pages_per_block=16), "workload": "uniform"}
    small |= {"candidates": 8, "proposers": ("greedy", "cost_benefit", "fifo")}
    tiny_steps = partial(_vector_steps, **small)
    steps = partial(_vector_steps, ftl={"timing": "none"})
    untimed, timed = "untimed host writes", "event-driven requests, 4 dies, half reads"
    pages, requests, decisions = "host pages/s", "requests/s", "decisions/s"
    found: dict[str, tuple[str, Callable[[], Work]]] = {
        f"{untimed}, 1,000 blocks x 64 pages, 7 % spare": (pages, partial(_runs, _device("none", 1000))),
        f"{untimed}, 23,020 blocks x 128 pages, 7 % spare": (pages, partial(_runs, large, laps=2)),
        f"{timed}, 28 % spare": (requests, partial(_runs, dies(over_provisioning=0.28), 0.5)),
        f"{timed}, 7 % spare": (requests, partial(_runs, dies(), 0.5)),
        "single environment": (decisions, _single_steps),
        tiny: (decisions, tiny_steps),
        f"{tiny}, one thread": (decisions, partial(tiny_steps, threads=1)),
        f"{default}, 16 candidates": (decisions, steps),
        f"{default}, 16 candidates, one thread": (decisions, partial(steps, threads=1)),
        f"{_DEVICES} devices, streams of Placement-v0": (decisions, partial(_vector_steps, _PLACEMENT)),
        "MSR trace parsed": ("lines/s", partial(_parsing, folder)),
    }
    for (name, policy, count), timing in itertools.product(_POLICIES, ("none", "event")):
        device = {"base": name, "ftl.timing": timing}
        work = partial(_runs, device, 0.2, laps=1, policy=policy, count=count)
        found[f"{name}, policy {policy}, timing {timing}"] = requests, work
    return found


def _device(timing: str, blocks: int, over_provisioning: float = 0.07, **geometry: int) -> DeviceConfig:
    """Return a device; by default with blocks of 64 pages, and 7 % over-provisioning as in many papers."""
    sizes = {"blocks_per_plane": blocks, "pages_per_block": 64, "page_size_bytes": 4096}
    times = {"program_ns": 600_000, "erase_ns": 3_000_000, "read_ns": 50_000, "transfer_ns_per_byte": 2.5}
    ftl = {"timing": timing, "queue_depth": 32, "placement": "single", "gc": {"free_blocks": 2}}
    capacity = {"over_provisioning": over_provisioning}
    parts = {"geometry": sizes | geometry, "capacity": capacity, "timing": times, "ftl": ftl}
    return load_device({"name": "bench", **parts})


def _runs(
    source: Source, read_fraction: float = 0, laps: int = 0, policy: str = "greedy", count: int | None = None
) -> Work:
    """Fill a device, and return work that runs the same `count` uniform requests on the device.

    If `laps` is above 0, first run about `laps` requests per logical page, and shift all addresses before
    each repeat. Without the shift, a device with more pages than requests has pages that no repeat writes.
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
    environment = gymnasium.wrappers.Autoreset(gymnasium.make(ENVIRONMENT, disable_env_checker=True))
    observation, _ = environment.reset(seed=0)

    def work() -> int:
        nonlocal observation
        for _ in range(SINGLE_STEPS):
            observation, *_ = environment.step(int(observation["action_mask"].argmax()))
        return SINGLE_STEPS

    return work


def _vector_steps(environment: str = ENVIRONMENT, **arguments: Any) -> Work:
    environments = gymnasium.make_vec(environment, _DEVICES, "vector_entry_point", **arguments)
    environments.reset(seed=0)
    # Candidate 0, which the first rule of `proposers` chose, and stream 0 are never masked.
    actions = np.zeros(_DEVICES, np.int64)

    def work() -> int:
        for _ in range(VECTOR_STEPS):
            environments.step(actions)
        return VECTOR_STEPS * _DEVICES

    return work


def _parsing(folder: Path) -> Work:
    """Write a trace in the MSR format, and return work that parses the file without the cache."""
    trace, known = folder / "trace.csv", writable_format("msr")
    head = HeadConfig(kind="head", requests=TRACE_LINES)
    config: Any = load_workload("synthetic:hm_0").model_copy(update={"transforms": (head,)})
    convert(config.records(0), trace, known, round_times=True)
    return lambda: sum(map(len, known.read(trace, BadLines(trace, 0), VolumeNumbers(trace))))


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
@command
def bench(
    repeats: Annotated[int, typer.Option(min=1, help="Repeats per measurement; the median counts.")] = 5,
    start: Annotated[bool, typer.Option(help="Measure the cold compile and the warm start as well.")] = True,
    against: Annotated[Path | None, typer.Option(help="Other clone (with a .venv) to compare.")] = None,
) -> None:
    """Measure host writes/s, requests/s, decisions/s, lines/s of traces, cold compile and warm start.

    The command prints a Markdown table. With --against, the table says what was slower in every repeat.

    Examples:
        python -m ssdgym.bench
        python -m ssdgym.bench --against ../before --no-start
    """
    found = measure_against(against, repeats, start=start) if against else measure(repeats, start=start)
    show(found.to_dict("records"), [markdown(found)])


def markdown(found: pd.DataFrame) -> str:
    """Return a table of measurements as Markdown, with three significant digits."""
    cells = found.map(lambda cell: f"{float(f'{cell:.3g}'):,.10g}" if isinstance(cell, float) else str(cell))
    rule = ["---", "---", *("---:" for _ in found.columns[2:])]
    return "".join(f"| {' | '.join(row)} |\n" for row in [found.columns, rule, *cells.to_numpy()])


if __name__ == "__main__":
    sys.exit(main(app=app, name="python -m ssdgym.bench"))
