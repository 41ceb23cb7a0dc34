"""Runs whose power is cut, and what the host may count on afterwards: by its own count of versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ssdgym.engine.core.status import STOPPED
from ssdgym.engine.entries import count_lost
from ssdgym.requests import FLUSH, TRIM, WRITE
from ssdgym.simulator import PowerReport, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.reference.power import Content, recovered_map


@dataclass
class HostView:
    """What the host has asked for, by logical page.

    A write or a trim of a page makes a new version of it.

    Attributes:
        needed: the newest version that was acknowledged, 0 for none and for a page trimmed since.
        asked: the newest version that was asked for.
    """

    needed: np.ndarray
    asked: np.ndarray


def host_view(sim: Simulator, requests: np.ndarray, base: np.ndarray) -> HostView:
    """Count what the present input has asked for so far, above the versions from before.

    A request is acknowledged in time when it has a latency; without time page by page.
    """
    control, kept = sim.state.control[0, 0], sim.state.latency["op"][0]
    timed, first = sim.device.ftl.timing == "event", int(control["serial"])
    cursor, offset = int(control["cursor"]), int(control["offset"])
    first -= cursor + (timed and int(control["slot"]) >= 0)  # serial number of the first request
    needed, asked = base.copy(), base.copy()
    for k, request in enumerate(requests[: cursor + 1]):
        done = not timed or bool(kept[first + k])
        lpn, pages = int(request["lpn"]), int(request["pages"]) if k < cursor else offset
        for page in range(lpn, lpn + pages if request["op"] != FLUSH else lpn):
            if request["op"] == WRITE:
                asked[page] += 1
                needed[page] = asked[page] if done else needed[page]
            elif request["op"] == TRIM:
                asked[page] += 1
                needed[page] = 0
    return HostView(needed, asked)


def mapped_versions(sim: Simulator) -> np.ndarray:
    """Return the version of each mapped logical page, 0 for the others."""
    logical = sim.state.logical[0]
    return np.where(logical["ppn"] >= 0, logical["version"], 0).astype(np.int64)


def lost_to_host(sim: Simulator, view: HostView) -> np.ndarray:
    """Return the logical pages whose acknowledged write is gone."""
    versions = mapped_versions(sim)
    assert (versions <= view.asked).all(), "a version that nobody wrote"
    return np.flatnonzero(versions < view.needed)


def contents(sim: Simulator) -> list[list[Content]]:
    """Return what the pages of a device of the page family hold, block by block."""
    params, state = sim.state.params[0, 0], sim.state
    per_block, per_sub_block = int(params["pages_per_block"]), int(params["pages_per_sub_block"])
    written = state.sub_block["written"][0].repeat(per_sub_block)
    physical = state.physical[0]
    pages = [
        (int(physical[k]["lpn"]), int(physical[k]["version"])) if k % per_sub_block < written[k] else None
        for k in range(len(written))
    ]
    return [pages[first : first + per_block] for first in range(0, len(pages), per_block)]


def checked_cut(sim: Simulator, *, capacitors: bool = False, audited: bool = True) -> PowerReport:
    """Cut the power, and hold the device to its invariants and to the naive recovery, which takes long."""
    report = sim.cut_power(capacitors=capacitors)
    if not audited:
        return report
    assert first_fault(sim.arrays, 0) == NO_FAULT
    assert count_lost(sim.arrays, 0) == 0
    if report.moved_pages == report.erases == 0:  # flash is as the scan has found it
        found = recovered_map(contents(sim))
        mapped = np.flatnonzero(sim.state.logical["ppn"][0] >= 0)
        assert sorted(found) == mapped.tolist()
        assert {lpn: tuple(sim.state.logical[0, lpn].tolist()) for lpn in found} == found
    return report


def stops(sim: Simulator, requests: np.ndarray, *, last: bool = True) -> Iterator[int]:
    """Play requests, and stop at each program and erase; yields how many there have been."""
    sim.feed(requests)
    count = 0
    while True:
        sim.set_stop(1)
        if sim.advance(last=last) != STOPPED:
            sim.set_stop()
            return
        count += 1
        yield count
