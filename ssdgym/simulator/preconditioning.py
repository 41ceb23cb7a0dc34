"""Preconditioning: fill a device and overwrite it until garbage collection is steady, and keep it on disk.

The steady state is made under one named policy whatever policy is measured afterwards, so that
preconditioning favours none.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import engine_hash
from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, write_atomically
from ssdgym.policy import get_policy
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator.snapshot import content
from ssdgym.simulator.tables import table_fields, table_sizes
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.kinds import code_hashes
from ssdgym.workloads.stream import open_workload

if TYPE_CHECKING:
    from ssdgym.simulator.simulator import Simulator

#: Arrays that a device keeps for itself when it takes over a preconditioned state, and those that are empty.
_OWN = ("params",)
_CLEARED = ("latency", "histogram", "tail", "channel", "transaction", "slot", "event", "ready")
#: Fields of the control record that belong to the device's queues, whose sizes are its own.
_QUEUES = ("slot", "free_slot", "free_transaction", "free_transactions", "ready_head", "ready_count")
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Preconditioning:
    """Filling a device in order, and overwriting it in windows of half its logical space until it is steady.

    It is steady once the write amplification of two windows in a row differs by less than ``tolerance``,
    after at least ``least_overwrites`` and at most ``most_overwrites`` times the logical space.
    """

    policy: str = "greedy"
    tolerance: float = 0.02
    least_overwrites: float = 2.0
    most_overwrites: float = 10.0


@dataclass(frozen=True)
class PreconditioningReport:
    """What preconditioning did.

    Attributes:
        host_pages: written after the device was full.
        write_amplification: of the last window.
        steady: whether it had stopped changing.
    """

    host_pages: int
    write_amplification: float
    steady: bool


def fill(sim: Simulator) -> None:
    """Write every logical page once, in order, in no time."""
    pages = np.arange(sim.logical_pages)
    firsts = range(0, sim.logical_pages, _CHUNK)
    sim.proceed(_writes_of(pages[first : first + _CHUNK]) for first in firsts)


def write_until_collecting(sim: Simulator, seed: int) -> int:
    """Write uniformly random single pages to a new device, in no time, until every plane has collected.

    The simulator's own policy decides and places, as where a paper warms up each of its designs by itself.
    It is looked whether the planes have collected after every 256th of the logical space. Resets the metrics.

    Args:
        sim: a new simulator.
        seed: of the pages that are drawn.

    Returns:
        Host pages written.

    Raises:
        SsdgymError: the device is in use, or some of its planes are never written.
    """
    sim._require_new("warm up")
    device = sim.device
    if device.ftl.allocation == "static" and device.logical_pages < device.geometry.planes:
        raise SsdgymError(
            f"device {device.name}: its {device.logical_pages} logical pages leave some of its "
            f"{device.geometry.planes} planes without any, which never collect; give it more or set "
            "ftl.allocation to dynamic."
        )
    with sim._in_no_time(sim.policy, int(sim.state.params["seed"][0, 0])):
        sim.proceed(_uniform_until_collecting(sim, seed))
    written = int(sim.state.counters["host_pages_written"][0, 0])
    sim.reset_metrics()
    return written


def _uniform_until_collecting(sim: Simulator, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    portion = max(sim.logical_pages // 256, 1)
    while not _has_collected(sim).all():
        yield _writes_of(generator.integers(0, sim.logical_pages, portion))


def _has_collected(sim: Simulator) -> np.ndarray:
    """Whether each plane has erased anything, shape (planes,)."""
    geometry = sim.device.geometry
    count = geometry.planes * geometry.blocks_per_plane * geometry.sub_blocks_per_block
    erases = sim.state.sub_block["erases"][0, :count]
    found: np.ndarray = erases.reshape(geometry.planes, -1).any(axis=1)
    return found


def _writes_of(lpn: np.ndarray) -> np.ndarray:
    """Writes of single pages, all at time 0."""
    requests = np.zeros(len(lpn), REQUEST)
    requests["lpn"], requests["pages"], requests["op"] = lpn, 1, WRITE
    return requests


def overwrite(
    sim: Simulator, workload: WorkloadConfig, seed: int, settings: Preconditioning
) -> PreconditioningReport:
    """Overwrite until steady, with the writes of a workload that goes round if it ends."""
    window = max(sim.logical_pages // 2, 1)
    least = int(settings.least_overwrites * sim.logical_pages)
    most = int(settings.most_overwrites * sim.logical_pages)
    stream = _endless_writes(sim, workload, seed)
    sim.feed(np.zeros(0, REQUEST))
    written, before = 0, 0.0
    while True:
        sim.reset_metrics()
        sim.proceed(stream, window)
        written += window
        now = sim.metrics()["write_amplification"]
        steady = abs(now - before) < settings.tolerance * before
        if (steady and written >= least) or written >= most:
            sim.run(np.zeros(0, REQUEST))  # what is left of the last write's garbage collection
            return PreconditioningReport(written, now, steady)
        before = now


def _endless_writes(sim: Simulator, workload: WorkloadConfig, seed: int) -> Any:
    """The workload's write requests in chunks, from the start again (with another seed) when it ends."""
    barren = 0
    while True:
        stream = open_workload(
            workload,
            logical_pages=sim.logical_pages,
            page_size=sim.device.geometry.page_size_bytes,
            seed=seed,
        )
        seed += 1
        while len(chunk := stream.next(_CHUNK)):
            writes = chunk[chunk["op"] == WRITE]
            barren = 0 if len(writes) else barren + 1
            if barren > 64:
                raise SsdgymError(
                    f"workload {workload.kind} writes next to nothing and cannot precondition a device."
                )
            writes["arrival_ns"] = 0
            yield writes


def cache_key(sim: Simulator, workload: WorkloadConfig | None, seed: int, settings: Preconditioning) -> str:
    """Name of the preconditioned device on disk: all that it depends on, the engine's sources included."""
    device = sim.device.model_dump(
        mode="json", exclude={"name", "description", "assumed", "timing", "energy"}
    )
    asked = ["placement", "allocation", "gc", "mapping"]
    if getattr(sim.device.ftl, "placement", None) not in ("single", "sep_gc"):
        asked.append("hotness")
    device["ftl"] = {key: device["ftl"][key] for key in asked}
    tables = sim.device.erase_unit != "block"
    parts = {
        "device": device,
        # Best sets weigh pages against times, and hot pages are placed by the table.
        "tables": [table_fields(sim.device), table_sizes(sim.device)] if tables else [],
        "workload": None if workload is None else workload.model_dump(mode="json"),
        "seed": seed,
        "settings": vars(settings),
        "sources": _sources_hash(settings.policy),
        "traces": [] if workload is None else workload.trace_hashes(),
        "code": [] if workload is None else code_hashes(workload),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _sources_hash(policy: str) -> str:
    """Hash the code that makes the steady state: engine, workloads, this module and its policy."""
    package = Path(__file__).parents[1]
    sources = [Path(__file__), *package.glob("workloads/**/*.py"), *package.glob("config/*.py")]
    digest = hashlib.sha256(engine_hash().encode())
    for source in sorted(sources):
        digest.update(source.read_bytes())
    digest.update(get_policy(policy).source_digest().encode())
    return digest.hexdigest()


def _path(key: str) -> Path:
    return cache_folder() / "preconditioned" / f"{key}.npz"


def load_preconditioned(state: State, i: int, key: str) -> PreconditioningReport | None:
    """Take over a preconditioned device from disk.

    Args:
        state: the batch.
        i: the device of it.
        key: name of the state on disk.

    Returns:
        What made it; None if there is none, or if its checksum does not fit (it is then removed).
    """
    path = _path(key)
    try:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile):
        _remove(path)
        return None
    checksum = arrays.pop("checksum", np.array("")).item()
    if checksum != _checksum(arrays):
        _remove(path)
        return None
    report = arrays.pop("report")
    if any(array.shape[0] > getattr(state, name).shape[1] for name, array in arrays.items()):
        _remove(path)
        return None
    control = state.control[i, 0]
    own = {name: control[name].copy() for name in _QUEUES}
    for name, array in arrays.items():
        getattr(state, name)[i, : array.shape[0]] = array
    for name, value in own.items():
        control[name] = value
    return PreconditioningReport(int(report[0]), float(report[1]), bool(report[2]))


def save_preconditioned(state: State, i: int, key: str, report: PreconditioningReport) -> None:
    """Keep a preconditioned device on disk; where that cannot be done, warn."""
    arrays = {
        name: array[i] for name, array in state._asdict().items() if name not in _OWN and name not in _CLEARED
    }
    arrays["report"] = np.array([report.host_pages, report.write_amplification, report.steady], np.float64)
    arrays["checksum"] = np.array(_checksum(arrays))
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: np.savez(file, **arrays))
    except (OSError, SsdgymError) as error:
        warnings.warn(
            f"the preconditioned device is not kept and will be made anew: {error}",
            RuntimeWarning,
            stacklevel=3,
        )


def _remove(path: Path) -> None:
    """Remove a useless file, if that is allowed."""
    with suppress(OSError):
        path.unlink()


def _checksum(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(content(arrays[name]))
    return digest.hexdigest()
