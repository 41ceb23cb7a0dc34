"""Preconditioning: fill a device, and overwrite it until garbage collection is steady.

No simulated time passes, cells do not wear out, and the metrics are reset afterwards. `make_steady` uses the
FTL family's default victim or merge rule and the simulator's placement, and caches the state on disk.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np

from ssdgym.config.device import DeviceConfig, read_preconditioning
from ssdgym.config.fields import seed_number
from ssdgym.config.loading import Source
from ssdgym.engine.core.records import STATIC
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, get_policy
from ssdgym.requests import WRITE
from ssdgym.simulator.cells import begin_life
from ssdgym.simulator.deciding import DecidedDevice
from ssdgym.simulator.families import erases_of
from ssdgym.simulator.steady_states import (
    PreconditioningReport,
    cache_key,
    load_preconditioned,
    save_preconditioned,
)
from ssdgym.simulator.untimed import in_no_time, in_one_stream
from ssdgym.workloads.base import NO_REQUESTS, WorkloadConfig
from ssdgym.workloads.kept import pages_read_first
from ssdgym.workloads.python import FunctionWorkload, PythonSource, page_writes
from ssdgym.workloads.stream import check_addresses, load_workload, open_on

_CHUNK = 1 << 16
#: Function that prints a line of progress, called every `SAY_EVERY_S` seconds; None: none is printed.
say: Callable[[str], None] | None = partial(print, file=sys.stderr, flush=True)
SAY_EVERY_S = 10.0
#: A device is steady once the write amplifications of two successive windows, each of writes of half the
#: logical pages, differ by less than this share. `*_OVERWRITES` times all logical pages bound the writes.
TOLERANCE = 0.02
LEAST_OVERWRITES, MOST_OVERWRITES = 2.0, 10.0
#: Number of successive requests without a write after which a workload is refused.
_MOST_WITHOUT_WRITE = 1 << 20


def precondition(sim: DecidedDevice, kind: Source, workload: Source | WorkloadConfig, seed: int) -> None:
    """Precondition a new device in one of the ways that experiments name.

    Args:
        sim: the new simulator.
        kind: a kind of preconditioning, as `ssdgym.config.device` describes.
        workload: the workload whose writes overwrite the device, if the kind is `workload`, or whose reads
            must find their pages on the device, if the kind begins with `reads`.
        seed: seed of random draws; if `kind` begins with `reads`, the seed of the measured workload.

    Raises:
        SsdgymError: the device is in use, or cannot be preconditioned in this way.
    """
    how = read_preconditioning(kind)
    match how.kind:
        case "fill":
            fill(sim, how.share)
        case "reads":
            write_what_is_read(sim, load_workload(workload), seed)
        case "until_gc" | "until_gc_greedy" | "reads_until_gc_greedy":
            after = load_workload(workload) if how.kind == "reads_until_gc_greedy" else None
            write_until_collecting(sim, seed, greedily=how.kind != "until_gc", after=after)
        case "uniform" | "workload":
            writes = workload if how.kind == "workload" else None
            make_steady(sim, writes, seed=seed, share=how.share)


def fill(sim: DecidedDevice, share: float = 1.0) -> None:
    """Write the first `share` of the logical pages once, in order, under its policy or the default one."""
    require_new(sim, "fill")
    with _beforehand(sim, sim.policy or get_policy(sim.device.ftl.usual_policy)):
        _fill(sim, share)


def make_steady(
    sim: DecidedDevice,
    workload: Source | WorkloadConfig | PythonSource | None,
    *,
    seed: int,
    share: float = 1.0,
    cache: bool = True,
) -> PreconditioningReport:
    """Do what `Simulator.precondition` describes, with the same arguments and the same result."""
    require_new(sim, "precondition")
    seed = seed_number(seed, "the seed of preconditioning")
    device = sim.device
    policy = get_policy(device.ftl.usual_policy)
    config = load_workload("uniform" if workload is None else workload)
    # A Python function may depend on data that the cache key cannot contain.
    cache = cache and not isinstance(config, FunctionWorkload)
    key = cache_key(device, config, seed, share) if cache else ""
    report = load_preconditioned(sim.arrays, 0, key) if cache else None
    if report is None:
        with _beforehand(sim, policy, seed):
            _fill(sim, share)
            report = _overwrite(sim, config, seed)
        if cache:
            save_preconditioned(sim.arrays, 0, key, report)
    begin_life(sim.arrays, 0, device)
    sim.feed(NO_REQUESTS)
    return report


def write_what_is_read(sim: DecidedDevice, workload: WorkloadConfig, seed: int) -> None:
    """Write the pages that a workload reads before it writes or trims them, so that they can be read.

    Each page is written once, in the order of the first reads, under the simulator's policy or, if it has
    none, the default policy. The workload must have an end. The measured run must use the same seed.
    """
    require_new(sim, "precondition")
    with _beforehand(sim, sim.policy or get_policy(sim.device.ftl.usual_policy)):
        sim.proceed(_of_what_is_read(sim, workload, seed))


def write_until_collecting(
    sim: DecidedDevice, seed: int, *, greedily: bool = False, after: WorkloadConfig | None = None
) -> None:
    """Write uniformly random single pages to a new device until every plane has erased a block.

    By default, the simulator's own policy decides, as in papers that warm up each design with itself. If
    `greedily`, greedy collects whole blocks and all pages go to one stream, so that all policies start with
    the same device. The pages that `after` reads before it writes them are written first. Erases are checked
    whenever a 256th of the logical pages has been written.
    """
    require_new(sim, "warm up")
    device = sim.device
    if sim.arrays.params["allocation"][0, 0] == STATIC and device.logical_pages < device.geometry.planes:
        raise SsdgymError(
            f"device {device.name}: its {device.logical_pages} logical pages leave some of its "
            f"{device.geometry.planes} planes without any, which never collect; give it more or set "
            "ftl.allocation to dynamic."
        )
    policy, streams = (get_policy("greedy"), in_one_stream(sim)) if greedily else (sim.policy, nullcontext())
    with _beforehand(sim, policy), streams:
        if after is not None:
            sim.proceed(_of_what_is_read(sim, after, seed))
        sim.proceed(_uniform_until_collecting(sim, seed))


def require_new(sim: DecidedDevice, verb: str) -> None:
    """Raise if a device has data or commands under way; `verb` names the refused action in the error."""
    control = sim.arrays.control[0, 0]
    if control["clock"] or control["now"] or control["admitted_pages"]:
        raise SsdgymError(f"device {sim.device.name} is in use; {verb} a new Simulator instead.")


@contextmanager
def _beforehand(sim: DecidedDevice, policy: Policy | None, seed: int | None = None) -> Iterator[None]:
    """Run the `with` block in no simulated time and without wear; then begin the life and reset metrics."""
    params = sim.arrays.params[0, 0]
    endures, params["endures"] = params["endures"].copy(), 0
    try:
        with in_no_time(sim, policy, seed):
            yield
    finally:
        params["endures"] = endures
    begin_life(sim.arrays, 0, sim.device)
    sim.reset_metrics()


def _fill(sim: DecidedDevice, share: float) -> None:
    pages = np.arange(round(share * sim.device.logical_pages))
    chunks = (page_writes(pages[first : first + _CHUNK]) for first in range(0, len(pages), _CHUNK))
    sim.proceed(_followed(sim, chunks, "every page is written once", len(pages)))


def _followed(
    sim: DecidedDevice, chunks: Iterator[np.ndarray], what: str, *ends: int
) -> Iterator[np.ndarray]:
    """Yield the writes; report progress and remaining time. `ends`: expected pages, or least and most."""
    began = noted = time.monotonic()
    pages = 0
    for chunk in chunks:
        now = time.monotonic()
        if say is not None and pages and now - noted >= SAY_EVERY_S:
            noted = now
            known = " to ".join(f"{end / 1e6:,.1f}" for end in ends)
            left = " to ".join(f"{max(end - pages, 0) * (now - began) / pages:,.0f}" for end in ends)
            say(
                f"preconditioning {sim.device.name}: {what}; {pages / 1e6:,.1f} of {known} million pages, "
                f"{left} s left"
            )
        pages += int(chunk["pages"].sum())
        yield chunk


def _of_what_is_read(sim: DecidedDevice, workload: WorkloadConfig, seed: int) -> Iterator[np.ndarray]:
    """Return writes of the pages that a workload reads before it writes or trims them, each page once."""
    if workload.is_endless:
        raise SsdgymError(
            f"workload {workload.kind} never ends, so all that it reads cannot be known; for the "
            "preconditioning reads give it an end, with requests or loops."
        )
    device = sim.device
    check_addresses(workload, device)
    pages = pages_read_first(workload, device.logical_pages, device.host_unit_bytes, seed)
    return map(page_writes, pages)


def _uniform_until_collecting(sim: DecidedDevice, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    portion = max(sim.device.logical_pages // 256, 1)
    planes = sim.device.geometry.planes
    while not erases_of(sim.arrays, 0, sim.device).reshape(planes, -1).any(axis=1).all():
        yield page_writes(generator.integers(0, sim.device.logical_pages, portion))


def _overwrite(sim: DecidedDevice, workload: WorkloadConfig, seed: int) -> PreconditioningReport:
    """Overwrite in windows of half the logical pages until steady; a workload that ends begins again."""
    pages = sim.device.logical_pages
    window = max(pages // 2, 1)
    least, most = int(LEAST_OVERWRITES * pages), int(MOST_OVERWRITES * pages)
    what = "it is overwritten until its write amplification is steady"
    stream = _followed(sim, _endless_writes(sim.device, workload, seed), what, least, most)
    sim.feed(NO_REQUESTS)
    written, before, began = 0, 0.0, time.monotonic()
    while True:
        sim.reset_metrics()
        sim.proceed(stream, window)
        written += window
        now = sim.metrics()["write_amplification"]
        steady = abs(now - before) < TOLERANCE * before
        if (steady and written >= least) or written >= most:
            sim.feed(NO_REQUESTS)
            sim.proceed(iter(()))  # finish the garbage collection of the last write
            if say is not None and time.monotonic() - began >= SAY_EVERY_S:
                how = "is steady" if steady else "is not steady yet"
                said = f"write amplification {now:.3f} {how}; {written:,} pages written"
                say(f"preconditioning {sim.device.name}: {said}")
            return PreconditioningReport(written, now, steady)
        before = now


def _endless_writes(device: DeviceConfig, workload: WorkloadConfig, seed: int) -> Iterator[np.ndarray]:
    """Yield the workload's writes in chunks; when it ends, begin it again with another seed."""
    without_write = 0
    while True:
        stream = open_on(workload, device, seed)
        seed += 1
        while len(chunk := stream.next(_CHUNK)):
            writes = chunk[chunk["op"] == WRITE]
            without_write = 0 if len(writes) else without_write + len(chunk)
            if without_write > _MOST_WITHOUT_WRITE:
                raise SsdgymError(
                    f"workload {workload.kind} writes next to nothing and cannot precondition a device."
                )
            writes["arrival_ns"] = 0
            yield writes
