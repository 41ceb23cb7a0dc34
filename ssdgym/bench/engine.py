"""Measure how fast the engine, the environments and their start are, beside a yardstick of the machine.

The yardstick is the kernel of `ssdgym.bench.measurement`. A rate divided by the yardstick's can be
compared between machines.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from ssdgym.bench.measurement import LOGICAL_PAGES, Measurement, Spread, touching_memory
from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.requests import READ, WRITE, Requests
from ssdgym.simulator import Recording, Simulator
from ssdgym.workloads import open_workload, page_writes
from ssdgym.workloads.generators.patterns import UniformConfig
from ssdgym.workloads.traces.loading import stored
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.record import RECORD, Volumes
from ssdgym.workloads.traces.replay import play, survey
from ssdgym.workloads.traces.writing import writable_format

#: What does some work, and returns how many operations that were.
Work = Callable[[], int]

ENVIRONMENT = "ssdgym/EraseVictim-v0"
VECTOR_DEVICES = 64
_REQUESTS = 1_000_000
#: How often a large device is overwritten before it is measured.
_OVERWRITES = 2
_SINGLE_STEPS = 5_000
_VECTOR_STEPS = 1_000

_PARSING = "MSR trace parsed (yardstick: Python's csv module reads its rows)"
_PLAYING = "parsed trace played on the pages of a device"

#: Imports, makes the environment and takes one step, as a user's script would at its start.
_FIRST_STEP = (
    "import gymnasium, ssdgym, ssdgym.envs\n"
    f"env = gymnasium.make({ENVIRONMENT!r}, disable_env_checker=True)\n"
    "observation, _ = env.reset(seed=0)\n"
    "env.step(int(observation['action_mask'].argmax()))\n"
)


def measure_all(
    repeats: int = 5, *, start: bool = True, announce: Callable[[str], None] | None = None
) -> list[Measurement]:
    """Measure everything, the compile time last and, with the warm start, in processes of their own."""
    announce_next = announce or (lambda name: None)
    found = []
    for name, unit, expected, prepare in _RATES:
        announce_next(name)
        found.append(_measure_rate(name, unit, expected, prepare(), _yardstick(), repeats))
    with tempfile.TemporaryDirectory(prefix="ssdgym-bench-") as folder:
        trace = make_trace(Path(folder))
        announce_next(_PARSING)
        found.append(_measure_rate(_PARSING, "lines/s", None, parsing(trace), reading_csv(trace), repeats))
        announce_next(_PLAYING)
        found.append(_measure_rate(_PLAYING, "requests/s", None, playing(trace), _yardstick(), repeats))
    return found + (_starts(repeats, announce_next) if start else [])


def _measure_rate(
    name: str, unit: str, expected: float | None, measured: Work, yardstick: Work, repeats: int
) -> Measurement:
    """Measure a rate and the yardstick's in turns, so that both meet the machine in one state."""
    measured()
    yardstick()
    pairs = [(_rate(measured), _rate(yardstick)) for _ in range(repeats)]
    rates, touches = (Spread.of(values) for values in zip(*pairs, strict=True))
    return Measurement(name, *rates, unit, expected, touches.median)


def _rate(measured: Work) -> float:
    """Return operations per second; `measured` returns how many it did."""
    started = time.perf_counter()
    operations = measured()
    return operations / (time.perf_counter() - started)


def _device(timing: str, over_provisioning: float = 0.07, **geometry: int) -> DeviceConfig:
    """Return a device of blocks of 64 pages; 7 % over-provisioning is that of published comparisons."""
    return load_device(
        {
            "name": "bench",
            "geometry": {"pages_per_block": 64, "page_size_bytes": 4096, **geometry},
            "capacity": {"over_provisioning": over_provisioning},
            "timing": {
                "read_ns": 50_000,
                "program_ns": 600_000,
                "erase_ns": 3_000_000,
                "transfer_ns_per_byte": 2.5,
            },
            "ftl": {"timing": timing, "queue_depth": 32, "placement": "single", "gc": {"free_blocks": 2}},
        }
    )


def _four_dies(over_provisioning: float) -> DeviceConfig:
    return _device("event", over_provisioning, channels=2, chips_per_channel=2, blocks_per_plane=250)


def _runs(device: DeviceConfig, read_fraction: float, moves: bool = False) -> Work:
    """Play the same uniform requests again and again on a device that was filled and overwritten before.

    On a device of more pages than there are requests all addresses are moved on each time: otherwise the
    pages that no request names would never be written.
    """
    simulator = Simulator(device, policy="greedy", recording=Recording(latencies=1 << 10))
    pages = device.logical_pages
    requests = _uniform(pages, read_fraction)
    simulator.run(page_writes(np.arange(pages)))

    def play() -> int:
        if moves:
            requests["lpn"] = (requests["lpn"] + pages // 3) % pages
        simulator.feed(requests)
        simulator.advance()
        return len(requests)

    for _ in range(_OVERWRITES * pages // len(requests) if moves else 1):
        play()
    return play


def _uniform(logical_pages: int, read_fraction: float) -> Requests:
    config = UniformConfig(requests=_REQUESTS, read_fraction=read_fraction)
    return open_workload(config, logical_pages=logical_pages, page_size=4096, seed=0).take(_REQUESTS)


def _yardstick() -> Work:
    return touching_memory(_uniform(LOGICAL_PAGES, read_fraction=0.0))


def _single_environment() -> Work:
    environment = gymnasium.make(ENVIRONMENT, disable_env_checker=True)
    observation, _ = environment.reset(seed=0)

    def play() -> int:
        nonlocal observation
        for _ in range(_SINGLE_STEPS):
            action = int(observation["action_mask"].argmax())
            observation, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                observation, _ = environment.reset()
        return _SINGLE_STEPS

    return play


def _vector_steps(environment: str = ENVIRONMENT, **arguments: Any) -> Work:
    environments = gymnasium.make_vec(
        environment, num_envs=VECTOR_DEVICES, vectorization_mode="vector_entry_point", **arguments
    )
    environments.reset(seed=0)
    # Candidate 0, the pick of the first proposer, may always be chosen, as may stream 0.
    actions = np.zeros(VECTOR_DEVICES, np.int64)

    def play() -> int:
        for _ in range(_VECTOR_STEPS):
            environments.step(actions)
        return _VECTOR_STEPS * VECTOR_DEVICES

    return play


def _tiny_steps(**arguments: Any) -> Work:
    return _vector_steps(
        device=_device("none", 0.28, blocks_per_plane=64, pages_per_block=16),
        workload="uniform",
        candidates=8,
        proposers=("greedy", "cost_benefit", "fifo"),
        **arguments,
    )


def _default_steps(**arguments: Any) -> Work:
    return _vector_steps(ftl={"timing": "none"}, **arguments)


#: Requests of the trace that is parsed and played, and the address space and the page size that they are of.
TRACE_LINES, _SPACE_BYTES, _PAGE_SIZE = 1_000_000, 4 << 30, 4096


def make_trace(folder: Path, lines: int | None = None) -> Path:
    """Write an MSR trace of single pages, half of them written, uniformly over 4 GiB."""
    lines = lines or TRACE_LINES
    rng = np.random.default_rng(0)
    records = np.zeros(lines, RECORD)
    records["time_ns"] = np.arange(lines) * 1000
    records["offset_bytes"] = rng.integers(0, _SPACE_BYTES // _PAGE_SIZE, lines) * _PAGE_SIZE
    records["size_bytes"] = _PAGE_SIZE
    records["op"] = np.where(rng.random(lines) < 0.5, READ, WRITE)
    path = folder / "trace.csv"
    with path.open("wb") as file:
        writable_format("msr").write(file, [records], Volumes(("hm_0",), (_SPACE_BYTES,)))
    return path


def parsing(trace: Path) -> Work:
    """Return what parses the file from its first byte to its last, without the cache."""
    return lambda: sum(map(len, writable_format("msr").read(trace, BadLines(trace, 0), VolumeNumbers(trace))))


def reading_csv(trace: Path) -> Work:
    """Return what goes over the same file with Python's csv module, and does nothing with the rows."""

    def read() -> int:
        with trace.open(newline="") as file:
            return sum(1 for _ in csv.reader(file))

    return read


def playing(trace: Path) -> Work:
    """Return what turns the parsed records into requests on the pages of a device."""
    known = stored(trace, file_hash(trace), writable_format("msr"), 0, trace.parent)
    found = survey(known.open(), _PAGE_SIZE)

    def requests() -> int:
        stream = play(
            known.open(),
            compact=found.compact,
            loops=1,
            logical_pages=found.pages,
            page_size=_PAGE_SIZE,
            report=dict,
        )
        count = 0
        while len(chunk := stream.next(1 << 16)):
            count += len(chunk)
        return count

    return requests


def _starts(repeats: int, announce_next: Callable[[str], None]) -> list[Measurement]:
    """Measure the time to the first step of an environment, with an empty and with a full cache."""
    with tempfile.TemporaryDirectory(prefix="ssdgym-bench-") as cache:
        announce_next("the cold compile, a minute or two")
        cold = _seconds_to_first_step(cache)
        announce_next("the warm start")
        warm = [_seconds_to_first_step(cache) for _ in range(repeats)]
    return [
        Measurement(_COLD, cold, cold, cold, "s", 90.0),
        Measurement(_WARM, *Spread.of(warm), "s", 2.0),
    ]


def _seconds_to_first_step(cache: str) -> float:
    started = time.perf_counter()
    finished = subprocess.run(
        [sys.executable, "-c", _FIRST_STEP],
        env={**os.environ, "SSDGYM_CACHE_DIR": cache},
        capture_output=True,
        text=True,
    )
    if finished.returncode:
        last = (finished.stderr.strip().splitlines() or ["no message"])[-1]
        raise SsdgymError(f"bench: a fresh process could not take a step in {ENVIRONMENT} ({last})")
    return time.perf_counter() - started


_TINY = f"{VECTOR_DEVICES} devices of 64 blocks x 16 pages, 8 candidates"
_DEFAULT = f"{VECTOR_DEVICES} default devices, 16 candidates"

#: Name, unit, what is expected, and what prepares the measurement.
_RATES: tuple[tuple[str, str, float | None, Callable[[], Work]], ...] = (
    (
        "untimed host writes, 1,000 blocks x 64 pages, 7 % spare",
        "host pages/s",
        10e6,
        lambda: _runs(_device("none", blocks_per_plane=1000), read_fraction=0.0),
    ),
    (
        "untimed host writes, 23,020 blocks x 128 pages, 7 % spare",
        "host pages/s",
        None,
        lambda: _runs(_device("none", blocks_per_plane=23_020, pages_per_block=128), 0.0, moves=True),
    ),
    (
        "event-driven requests, 4 dies, half reads, 28 % spare",
        "requests/s",
        4e6,
        lambda: _runs(_four_dies(0.28), read_fraction=0.5),
    ),
    (
        "event-driven requests, 4 dies, half reads, 7 % spare",
        "requests/s",
        None,
        lambda: _runs(_four_dies(0.07), read_fraction=0.5),
    ),
    ("single environment", "decisions/s", None, _single_environment),
    (_TINY, "decisions/s", 0.5e6, _tiny_steps),
    (f"{_TINY}, one thread", "decisions/s", None, lambda: _tiny_steps(threads=1)),
    (_DEFAULT, "decisions/s", None, _default_steps),
    (f"{_DEFAULT}, one thread", "decisions/s", None, lambda: _default_steps(threads=1)),
    (
        f"{VECTOR_DEVICES} devices, streams of Placement-v0",
        "decisions/s",
        None,
        lambda: _vector_steps("ssdgym/Placement-v0"),
    ),
)
_COLD, _WARM = "cold compile, to the first step", "warm start, to the first step"

#: The names of all measurements, in order.
NAMES = (*(name for name, *_ in _RATES), _PARSING, _PLAYING, _COLD, _WARM)
