"""Input of a device: check requests, begin a chunk of them, and read workloads in chunks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from ssdgym.config.device import DeviceConfig
from ssdgym.config.fields import is_whole
from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import entry
from ssdgym.errors import SsdgymError, shown
from ssdgym.requests import FLUSH, REQUEST, WRITE
from ssdgym.workloads.base import RequestStream
from ssdgym.workloads.stream import load_workload, open_on

#: Requests handed to the engine at a time.
_CHUNK = 1 << 16
#: Bound of arrival times: a time has 55 of 63 bits; the others are for the number of a channel or die.
LAST_ARRIVAL_NS = 2**55
#: The horizon of a device that does not stop after a number of host pages.
NO_HORIZON = 2**62


@entry
def _check(requests: Any, logical_pages: Any, timed: Any) -> Any:
    """Return the number of writes and 0; or the index of the first illegal request and a reason, from 1."""
    before, writes = np.int64(0), 0
    for k in range(requests.shape[0]):
        one = requests[k]
        lpn, pages = np.int64(one.lpn), np.int64(one.pages)
        if one.op > FLUSH:
            return k, 1
        if one.op != FLUSH and pages < 1:
            return k, 2
        if one.op != FLUSH and (lpn < 0 or lpn + pages > logical_pages):
            return k, 3
        if timed and not 0 <= one.arrival_ns < LAST_ARRIVAL_NS:
            return k, 4
        if timed and one.arrival_ns < before:
            return k, 5
        before = one.arrival_ns
        writes += one.op == WRITE
    return writes, 0


_REFUSED = (
    "its op must be 0 (read), 1 (write), 2 (trim) or 3 (flush)",
    "it must be of at least one page",
    "it reaches outside the {} logical pages",
    "its arrival is not a time from 0 ns to 417 days; play it in a closed loop (queue_depth), in fewer "
    "loops, or with its times scaled down",
    "it arrives before the one in front of it",
)


def check_requests(requests: np.ndarray, device: DeviceConfig) -> int:
    """Raise an error that names the first of the requests (m,) that the device cannot carry out.

    Return the number of writes if it can carry out all of them.
    """
    if not isinstance(requests, np.ndarray) or requests.dtype != REQUEST or requests.ndim != 1:
        raise SsdgymError("requests must be a one-dimensional array of ssdgym.requests.REQUEST.")
    timed = device.ftl.timing != "none" and not device.ftl.queue_depth
    number, reason = _check(np.ascontiguousarray(requests), device.logical_pages, timed)
    if reason:
        raise SsdgymError(
            f"request {number} {requests[number].tolist()} cannot be carried out: "
            f"{_REFUSED[reason - 1].format(device.logical_pages)}."
        )
    return int(number)


def start_input(state: State, i: int, before: np.ndarray | None = None) -> None:
    """Begin a new chunk of input, and drop the pages that are not admitted of the request in admission.

    If admitted pages of the request are under way, it ends when they end. Otherwise it ends at once, without
    a latency. `before` is the old input; if it is None, all pages of the request count as admitted.
    """
    control = state.control[i, 0]
    not_admitted = 0
    if before is not None and control["slot"] >= 0:
        not_admitted = int(before[control["cursor"]]["pages"] - control["offset"])
    control["cursor"] = 0
    control["offset"] = 0
    if control["slot"] >= 0:
        slot = state.slot[i, control["slot"]]
        if slot["remaining"] > not_admitted:
            slot["remaining"] -= not_admitted
            control["slot"] = -1
            return
        slot["remaining"] = 0
        control["outstanding"] -= 1
        control["outstanding_writes"] -= slot["op"] == WRITE
        slot["next"] = control["free_slot"]
        control["free_slot"] = control["slot"]
        control["slot"] = -1


def chunks_of(
    workload: Any, device: DeviceConfig, host_pages: int | None, seed: int, *, start_ns: int
) -> Iterator[np.ndarray]:
    """Convert any input of `Simulator.run` to an iterator of request arrays; raise if it would never end.

    Arrival times of a workload, but not those in arrays, are moved by `start_ns`.
    """
    if isinstance(workload, np.ndarray):
        return iter([workload])
    if not isinstance(workload, (str, Path, dict, BaseModel)) and not callable(workload):
        return iter(workload)
    config = load_workload(workload)
    if host_pages is None and config.is_endless:
        raise SsdgymError(
            f"workload {config.kind} never ends; give host_pages (or requests in the workload)."
        )
    if host_pages is not None and config.writes_nothing():
        raise SsdgymError(f"workload {config.kind} writes nothing, so host_pages would never be reached.")
    return _until_empty(open_on(config, device, seed), start_ns)


def _until_empty(stream: RequestStream, start_ns: int) -> Iterator[np.ndarray]:
    """Yield the stream in chunks; add `start_ns` to arrival times."""
    while len(chunk := stream.next(_CHUNK)):
        if start_ns:
            chunk = chunk.copy()
            chunk["arrival_ns"] += start_ns
        yield chunk


def portions_of(chunks: Iterator[np.ndarray], pages: int) -> Iterator[np.ndarray]:
    """Yield requests in portions, which end when the pages written reach the next multiple of `pages`."""
    before = 0
    held: list[np.ndarray] = []
    for chunk in chunks:
        written = before + np.cumsum(np.where(chunk["op"] == WRITE, chunk["pages"], 0), dtype=np.int64)
        ends = np.flatnonzero(np.diff(written // pages, prepend=before // pages)) + 1
        *whole, rest = np.split(chunk, ends)
        for part in whole:
            yield np.concatenate([*held, part])
            held = []
        held.append(rest)
        before = int(written[-1]) if len(chunk) else before
    if held:
        yield np.concatenate(held)


def check_horizon(pages: int | None, name: str = "host_pages") -> None:
    """Raise if a number of host pages is neither None nor a whole number in range; `name` is its argument."""
    if pages is not None and (not is_whole(pages) or not 1 <= pages < NO_HORIZON):
        raise SsdgymError(f"{name} must be a whole number from 1 to 2**62 - 1, not {shown(pages)}.")
