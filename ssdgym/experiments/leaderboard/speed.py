"""How long the simulation of a host page takes under each policy of a suite, beside the suite's baseline.

A decision has no time of its own: rules also learn in hooks, between two steps, and by what they make the
device relocate. So all of the simulator is timed, on the first task of the suite. After the same
preconditioning and warm-up both devices carry out the same requests in turns, and the time is that of the
CPU, which other programs on the machine do not add to. What counts is the median ratio of a policy to the
baseline; microseconds are those of this machine.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ssdgym.engine.compiler.cache import engine_hash
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.board import Row, Speed, SuiteBoard
from ssdgym.experiments.runs.spec import RunSpec, ftl_changes
from ssdgym.files import write_bytes
from ssdgym.policy import get_policy
from ssdgym.requests import Requests
from ssdgym.simulator import Simulator
from ssdgym.workloads.stream import load_workload, open_on

#: Requests in a turn, and how many turns are measured.
TURN_REQUESTS, TURNS = 200_000, 4
SPEEDS_NAME = "speeds.json"


class Speeds:
    """Times that are measured once and kept in a file, which is made where it is missing."""

    def __init__(self, path: Path, announce: Callable[[str], None] | None = None) -> None:
        self._path = path
        self._announce = announce or (lambda text: None)
        self._known = _read(path)

    def measure(self, board: SuiteBoard, runs: Sequence[RunSpec], baseline: str) -> SuiteBoard:
        """Return a leaderboard with the speed of every row but bounds and played agents.

        Of the policies of a row the first is timed, on the first task and seed of `runs`.
        """
        first = runs[0]
        here = {
            run.policy: run
            for run in runs
            if (run.device_name, run.ftl, run.workload_name, run.seed)
            == (first.device_name, first.ftl, first.workload_name, first.seed)
        }
        firsts = [row.policies[0] for row in board.rows if row.kind != "bound"]
        timed = [policy for policy in firsts if here[policy].agent is None]
        found = {policy: self._of(here[policy], here[baseline]) for policy in timed}
        unit = found[board.fixed].relative
        return board.model_copy(update={"rows": tuple(_with_speed(row, found, unit) for row in board.rows)})

    def _of(self, run: RunSpec, baseline: RunSpec) -> Speed:
        marks = [get_policy(one.policy).source_digest()[:16] for one in (run, baseline)]
        key = " ".join(
            [
                *(run.policy, baseline.policy, run.workload_name, run.device_name),
                *(repr(run.ftl), str(run.seed), str(run.warmup)),
                *marks,
                engine_hash(),
            ]
        )
        if key not in self._known:
            self._announce(f"timing {run.policy}")
            self._known[key] = measure_speed(run, baseline)
            kept = {name: speed.model_dump() for name, speed in self._known.items()}
            write_bytes(self._path, json.dumps(kept, indent=1).encode())
        return self._known[key]


def _read(path: Path) -> dict[str, Speed]:
    if not path.is_file():
        return {}
    try:
        return {key: Speed(**speed) for key, speed in json.loads(path.read_text(encoding="utf-8")).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise SsdgymError(f"{path}: holds no times of policies; remove it.") from error


def _with_speed(row: Row, found: dict[str, Speed], unit: float) -> Row:
    speed = found.get(row.policies[0])
    if speed is None:
        return row
    return row.model_copy(update={"speed": Speed(cpu_us=speed.cpu_us, relative=speed.relative / unit)})


def measure_speed(
    run: RunSpec, baseline: RunSpec, *, requests: int = TURN_REQUESTS, turns: int = TURNS
) -> Speed:
    """Time a policy in turns with a baseline on the same task."""
    ours, theirs = _Device(run), _Device(baseline)
    ratios, own = [], []
    for turn in range(1 + turns):
        # Which one goes first alternates, so that what follows from the order cancels out.
        pair = (ours, theirs) if turn % 2 else (theirs, ours)
        seconds = {device: device.carry_out(requests) for device in pair}
        if turn:
            own.append(seconds[ours])
            ratios.append(seconds[ours] / seconds[theirs])
    return Speed(cpu_us=1e6 * statistics.median(own), relative=statistics.median(ratios))


class _Device:
    """A device in the steady state of its policy, with the requests that come next."""

    def __init__(self, run: RunSpec) -> None:
        self._simulator = Simulator(run.device, ftl=ftl_changes(run.ftl), policy=run.policy, seed=run.seed)
        self._simulator.precondition(run.workload)
        self._stream = open_on(load_workload(run.workload), self._simulator.device, run.seed)
        self._simulator.proceed(self._chunks(), max(run.warmup, 1))

    def _chunks(self) -> Iterator[Requests]:
        while len(chunk := self._stream.next(TURN_REQUESTS)):
            yield chunk

    def carry_out(self, requests: int) -> float:
        """Return the CPU time of the next requests, in seconds per host page that they write."""
        taken = self._stream.take(requests)
        if len(taken) < requests:
            raise SsdgymError("the workload ends before policies can be timed on it; use --no-speed.")
        before = self._pages()
        started = time.process_time()
        self._simulator.proceed(iter([taken]))
        seconds = time.process_time() - started
        return seconds / max(self._pages() - before, 1)

    def _pages(self) -> Any:
        return int(self._simulator.arrays.counters["host_pages_written"][0, 0])
