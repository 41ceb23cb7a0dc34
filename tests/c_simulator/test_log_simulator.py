"""An independent simulator in C: rules cost there what they cost in ssdgym."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.requests import WRITE
from ssdgym.simulator import Simulator
from ssdgym.workloads.stream import load_workload, open_on
from tests.engine.devices import writes

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler called cc")

HOST_PAGES, WARMUP, SEED = 30_000, 20_000, 7
RULES = {
    "greedy": "greedy",
    "cost_benefit": "cost_benefit",
    "cost_benefit(since_close=1)": "cost_benefit_sealed",
}
_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class Outcome:
    """What the simulator prints: all but the last are counts of pages or segments."""

    user_pages: int
    relocated_pages: int
    cleanings: int
    write_amplification: float


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulator, compiled with every warning as an error."""
    path = tmp_path_factory.mktemp("log") / "log_simulator"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
    source = Path(__file__).parent / "log_simulator.c"
    subprocess.run([str(COMPILER), *strict, "-o", str(path), str(source)], check=True)
    return path


def in_c(
    program: Path,
    device: DeviceConfig,
    rule: str,
    written: np.ndarray,
    warmup: int,
    free: tuple[int, int] = (2, 2),
    placement: str = "",
) -> Outcome:
    """What the simulator counts on a full device.

    Args:
        program: the simulator.
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
        [str(program), *arguments], input="\n".join(map(str, written)), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    *counts, amplification = ran.stdout.split()
    return Outcome(*map(int, counts), float(amplification))


def in_ssdgym(simulator: Simulator, written: np.ndarray, warmup: int) -> dict[str, Any]:
    """The metrics of ssdgym for the same: all logical pages in order, then the written ones."""
    pages = simulator.logical_pages
    requests = writes(np.concatenate([np.arange(pages), written]))
    return simulator.run(iter([requests]), host_pages=len(written) - warmup, warmup=pages + warmup)


def pages_written(workload: str, device: DeviceConfig, count: int) -> np.ndarray:
    """The first logical pages, int64 (count,), that a workload of writes writes."""
    stream = open_on(load_workload(workload), device, SEED)
    found: list[np.ndarray] = []
    while sum(map(len, found)) < count:
        requests = stream.next(_AT_A_TIME)
        assert (requests["op"] == WRITE).all()
        first, pages = requests["lpn"], requests["pages"]
        behind_first = np.arange(pages.sum()) - np.repeat(np.cumsum(pages) - pages, pages)
        found.append(np.repeat(first, pages) + behind_first)
    return np.concatenate(found)[:count]


def in_both(
    program: Path, policy: str, workload: str, free: tuple[int, int] = (2, 2), **ftl: Any
) -> tuple[Outcome, dict[str, Any]]:
    """What both count on the device `demo`."""
    simulator = Simulator("demo", ftl={"timing": "none", **ftl}, policy=policy)
    written = pages_written(workload, simulator.device, WARMUP + HOST_PAGES)
    found = in_c(program, simulator.device, RULES[policy], written, WARMUP, free)
    return found, in_ssdgym(simulator, written, WARMUP)


@pytest.mark.parametrize("policy", RULES)
@pytest.mark.parametrize("workload", ["zipf99", "hot90"])
def test_heuristic__the_counts_of_ssdgym(policy: str, workload: str, program: Path) -> None:
    found, expected = in_both(program, policy, workload)
    assert found.user_pages == HOST_PAGES
    assert found.relocated_pages == expected["relocated_pages"]
    assert found.cleanings == expected["erases"]
    assert found.write_amplification == pytest.approx(expected["write_amplification"], abs=1e-6)


@pytest.mark.parametrize("policy", RULES)
def test_heuristic__user_and_relocated_pages_in_one_segment__the_counts_of_ssdgym(
    policy: str, program: Path
) -> None:
    found, expected = in_both(program, policy, "hot90", placement="single")
    assert found.relocated_pages == expected["relocated_pages"]


@pytest.mark.parametrize(
    ("gc", "free"),
    [
        ({"free_blocks": 4}, (4, 4)),
        # ssdgym keeps a block for the host and one for relocated pages, whatever the threshold
        ({"free_blocks": 1}, (2, 2)),
    ],
    ids=["the threshold", "the floor"],
)
def test_heuristic__when_cleaning_begins_and_ends__the_counts_of_ssdgym(
    gc: dict[str, int], free: tuple[int, int], program: Path
) -> None:
    found, expected = in_both(program, "cost_benefit", "zipf99", free, gc=gc)
    assert found.relocated_pages == expected["relocated_pages"]


def test_greedy__which_of_equals__decides_more_than_two_per_cent(program: Path) -> None:
    device = Simulator("demo", ftl={"timing": "none"}).device
    written = pages_written("hot90", device, WARMUP + HOST_PAGES)
    first, lowest = (in_c(program, device, rule, written, WARMUP) for rule in ("greedy", "greedy_lowest"))
    assert lowest.write_amplification > 1.05 * first.write_amplification


@pytest.mark.parametrize("workload", ["zipf99", "hot90"])
def test_sepbit__the_counts_of_ssdgym(workload: str, program: Path) -> None:
    policy = "cost_benefit(since_close=1)+sepbit"
    simulator = Simulator("demo-placement", ftl={"timing": "none"}, policy=policy)
    device = simulator.device
    warmup = 3 * device.logical_pages
    written = pages_written(workload, device, 2 * warmup)
    free = max(
        device.ftl.gc.free_blocks, 2 if simulator.policy.beside["placement"].relocation_streams == 1 else 3
    )
    found = in_c(program, device, "cost_benefit_sealed", written, warmup, (free, free), "sepbit")
    expected = in_ssdgym(simulator, written, warmup)
    assert found.relocated_pages == expected["relocated_pages"]
    assert found.cleanings == expected["erases"]
