"""Compile the log simulator, with or without an agent, and let it play what ssdgym plays."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.c_header import c_header, td_lifetime_header
from ssdgym.agents.card import read_parts
from ssdgym.agents.zoo import zoo_agents
from ssdgym.config.device import DeviceConfig
from ssdgym.config.loading import Source
from ssdgym.requests import WRITE
from ssdgym.workloads.stream import load_workload, open_on
from tests.engine.devices import writes

FOLDER = Path(__file__).parent
COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler called cc")
_STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2")
_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class Outcome:
    """What the simulator prints: all but the last are counts of pages or segments."""

    user_pages: int
    relocated_pages: int
    cleanings: int
    write_amplification: float


def compile_simulator(
    folder: Path, victims: Agent | None = None, placing: Agent | None = None, learning: bool = False
) -> Path:
    """Compile with every warning as an error; return the program.

    Args:
        folder: for the program and the headers of the agents.
        victims: what the rule `agent` is to be.
        placing: what the placement `agent` is to be.
        learning: have the placement `td_lifetime`.
    """
    program = folder / "log_simulator"
    with_agents = [f"-I{folder}"]
    if victims is not None:
        (folder / "victim.h").write_text(c_header(victims, "victim"))
        with_agents.append("-DWITH_AGENT")
    if placing is not None:
        (folder / "placing.h").write_text(c_header(placing, "placing"))
        with_agents.append("-DWITH_PLACEMENT")
    if learning:
        (folder / "td_lifetime.h").write_text(td_lifetime_header())
        with_agents.append("-DWITH_TD_LIFETIME")
    source = str(FOLDER / "log_simulator.c")
    subprocess.run([str(COMPILER), *_STRICT, *with_agents, "-o", str(program), source, "-lm"], check=True)
    return program


def play(
    program: Path,
    device: DeviceConfig,
    rule: str,
    written: np.ndarray,
    warmup: int,
    free: tuple[int, int],
    placement: str = "",
) -> Outcome:
    """Play a sequence of written pages on a full device.

    Args:
        program: of `compile_simulator`.
        device: whose geometry, capacity and placement the simulator has; of one plane.
        rule: its name in the simulator.
        written: (n,) numbers of logical pages.
        warmup: how many of them are not counted.
        free: fewer free segments than this start cleaning, and so many end it.
        placement: its name in the simulator; the device's without one.
    """
    geometry = device.geometry
    assert geometry.planes == 1
    sizes = (geometry.blocks_per_plane, geometry.pages_per_block, device.logical_pages)
    arguments = [str(value) for value in (*sizes, *free, placement or device.ftl.placement, rule, warmup)]
    ran = subprocess.run(
        [str(program), *arguments],
        input="\n".join(map(str, written)),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    *counts, amplification = ran.stdout.split()
    return Outcome(*map(int, counts), float(amplification))


def pages_written(workload: Source, device: DeviceConfig, seed: int, count: int) -> np.ndarray:
    """Return the first logical pages (count,) that a workload of single-page or longer writes writes.

    Args:
        workload: that writes only.
        device: that it is played on.
        seed: of its draws.
        count: how many pages.
    """
    stream = open_on(load_workload(workload), device, seed)
    found: list[np.ndarray] = []
    while sum(map(len, found)) < count:
        requests = stream.next(_AT_A_TIME)
        assert (requests["op"] == WRITE).all()
        first, pages = requests["lpn"], requests["pages"]
        behind_first = np.arange(pages.sum()) - np.repeat(np.cumsum(pages) - pages, pages)
        found.append(np.repeat(first, pages) + behind_first)
    return np.concatenate(found)[:count]


def as_requests(written: np.ndarray, logical_pages: int) -> np.ndarray:
    """Return what the simulator plays as requests: all logical pages in order, then the written ones.

    Args:
        written: (n,) numbers of logical pages.
        logical_pages: how many there are.

    Returns:
        Shape (logical_pages + n,), dtype REQUEST.
    """
    return writes(np.concatenate([np.arange(logical_pages), written]))


def zoo_of(environment: str) -> list[str]:
    """Return the names of the agents of the zoo for an environment.

    Args:
        environment: the beginning of its id.
    """
    agents = zoo_agents().items()
    return [name for name, path in agents if read_parts(path)[0].environment.startswith(environment)]
