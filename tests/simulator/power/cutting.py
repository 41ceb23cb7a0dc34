"""Runs whose power is cut, and what the host may count on afterwards: by its own count of versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from ssdgym.engine.block.state import NFTL, UPDATE
from ssdgym.engine.core.records import RETIRED, WORN
from ssdgym.engine.core.status import STOPPED
from ssdgym.engine.entries import count_lost
from ssdgym.engine.subpage.state import FGM, SUBFTL
from ssdgym.requests import FLUSH, SYNC, TRIM, WRITE
from ssdgym.simulator import PowerReport, Simulator
from tests.engine import drawing, subpages
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.oracle import request_array
from tests.reference.power import Copy, WornTable, recovered_map, recovered_table


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

    A request is acknowledged in time when it has a latency; without time page by page. In the sub-page family
    that holds for writes that the host waits for, and a flush that is over is for all before it.
    """
    control, kept = sim.state.control[0, 0], sim.state.latency["op"][0]
    timed, buffered = sim.device.ftl.timing == "event", sim.device.ftl.mapping == "subpage"
    cursor, offset = int(control["cursor"]), int(control["offset"])
    first = int(control["serial"]) - cursor - (timed and int(control["slot"]) >= 0)
    needed, written, asked = base.copy(), base.copy(), base.copy()
    for k, request in enumerate(requests[: cursor + 1]):
        if request["op"] == FLUSH:
            needed = written.copy() if buffered and k < cursor else needed
            continue
        if timed:
            done = bool(kept[first + k])
        else:  # the write of the last request may be under way
            done = not buffered or k < cursor - 1 or not sim.state.buffer["writing"][0, 0]
        lpn, pages = int(request["lpn"]), int(request["pages"]) if k < cursor else offset
        for page in range(lpn, lpn + pages):
            if request["op"] == WRITE:
                asked[page] += 1
                written[page] = asked[page]
                if done and (not buffered or request["flags"] & SYNC):
                    needed[page] = asked[page]
            elif request["op"] == TRIM:
                asked[page] += 1
                written[page] = needed[page] = 0
    needed[_left(sim) :] = 0  # requests are for pages that are left whatever happens
    return HostView(needed, asked)


def mapped_versions(sim: Simulator) -> np.ndarray:
    """Return the version of each mapped logical page, 0 for the others."""
    logical = sim.state.logical[0]
    return np.where(logical["ppn"] >= 0, logical["version"], 0).astype(np.int64)


def lost_to_host(sim: Simulator, view: HostView) -> np.ndarray:
    """Return the logical pages whose acknowledged write is gone, but for those that recovery has given up."""
    versions, left = mapped_versions(sim), _left(sim)
    assert (versions <= view.asked).all(), "a version that nobody wrote"
    return np.flatnonzero(versions[:left] < view.needed[:left])


def copies_of(sim: Simulator) -> tuple[list[Copy], dict[int, int], bool]:
    """Return what a device holds for the naive recovery."""
    ways = {"page": _page_copies, "subpage": _subpage_copies, "block": _block_copies}
    return ways[sim.device.ftl.mapping](sim)


def _left(sim: Simulator) -> int:
    """The logical pages that a device has not given up."""
    return sim.logical_pages if sim.device.cells is None else int(sim.state.life["capacity"][0, 0])


def _worn_blocks(sim: Simulator) -> list[int]:
    return np.flatnonzero(sim.state.block["status"][0] & WORN).tolist()


def _page_copies(sim: Simulator) -> tuple[list[Copy], dict[int, int], bool]:
    params, state, left = sim.state.params[0, 0], sim.state, _left(sim)
    per_block, per_sub_block = int(params["pages_per_block"]), int(params["pages_per_sub_block"])
    copies, room = [], {}
    for sub, written in enumerate(state.sub_block["written"][0].tolist()):
        block = sub * per_sub_block // per_block
        room[block] = room.get(block, 0) + per_sub_block - written
        for page in range(sub * per_sub_block, sub * per_sub_block + written):
            lpn, version = state.physical[0, page].tolist()
            if version > 0 and lpn < left:
                copies.append(Copy(lpn, version, page, page, block))
    return copies, room | dict.fromkeys(_worn_blocks(sim), 0), False


def _subpage_copies(sim: Simulator) -> tuple[list[Copy], dict[int, int], bool]:
    state, subpage, left = sim.state, sim.state.subpage[0, 0], _left(sim)
    slots, pages, kind = int(subpage["slots"]), int(subpage["block_pages"]), int(subpage["kind"])
    copies, room = [], {}
    for page, use in enumerate(state.page_use[0].tolist()):
        block = page // pages
        in_region = bool(state.region_block["in_region"][0, block])
        unwritten = 0 if in_region or use else slots // int(subpage["unit_slots"])
        room[block] = room.get(block, 0) + unwritten
        first = use - 1 if in_region and kind == SUBFTL else 0
        for place in range(page * slots + max(first, 0), page * slots + use):
            lpn, version = state.physical[0, place].tolist()
            if 0 <= lpn < left and version > 0:
                copies.append(Copy(lpn, version, place, page, block, in_region))
    return copies, room | dict.fromkeys(_worn_blocks(sim), 0), kind != FGM


def _block_copies(sim: Simulator) -> tuple[list[Copy], dict[int, int], bool]:
    """Of equal copies of NFTL the one in the data block counts, as elsewhere that of the main area."""
    state, merging, pages = sim.state, sim.state.merging[0, 0], sim.device.geometry.pages_per_block
    lpn, version = (state.physical[name][0].reshape(-1, pages) for name in ("lpn", "version"))
    is_nftl = bool(merging["kind"] == NFTL)
    updates = set(state.member[0][UPDATE :: merging["slots"]].tolist()) if is_nftl else set()
    copies = []
    for block, page in np.argwhere((lpn >= 0) & (lpn < _left(sim)) & (version > 0)).tolist():
        place = block * pages + page
        content = int(lpn[block, page]), int(version[block, page])
        copies.append(Copy(*content, place, place, block, block in updates))
    room = dict(enumerate((lpn < 0).sum(axis=1).tolist()))
    return copies, room | dict.fromkeys(_worn_blocks(sim), 0), is_nftl


def checked_cut(sim: Simulator, *, capacitors: bool = False, audited: bool = True) -> PowerReport:
    """Cut the power, and hold the device to its invariants and to the naive recovery, which takes long."""
    before, first = worn_table(sim), sim.state.endurance["first"][0].astype(np.int64)
    report = sim.cut_power(capacitors=capacitors)
    if not audited:
        return report
    assert first_fault(sim.arrays, 0) == NO_FAULT
    assert count_lost(sim.arrays, 0) == 0
    if report.moved_pages == report.erases == 0:  # flash is as the scan has found it
        copies, room, grouped = copies_of(sim)
        found = recovered_map(copies, room, grouped=grouped)
        mapped = np.flatnonzero(sim.state.logical["ppn"][0] >= 0)
        assert sorted(found) == mapped.tolist()
        assert {lpn: tuple(sim.state.logical[0, lpn].tolist()) for lpn in found} == found
    if sim.device.cells is not None and report.moved_pages == 0 and report.erases == report.half_erased:
        _check_worn(sim, before, first - sim.state.endurance["first"][0])
    return report


def worn_table(sim: Simulator) -> WornTable:
    """Return what a device holds of worn cells; nothing where none wear out."""
    if sim.device.cells is None:
        return WornTable(frozenset(), frozenset(), ())
    state, count, regions = sim.state, len(sim.state.endurance[0]), np.zeros(0, np.uint8)
    if sim.device.ftl.mapping == "subpage":
        regions = state.region_block["in_region"][0]
    status = state.block["status"][0]
    erases = state.sub_block["erases"][0, :count].astype(np.int64) - state.endurance["first"][0]
    return WornTable(
        frozenset(np.flatnonzero(status & WORN).tolist()),
        frozenset(np.flatnonzero(status & RETIRED).tolist()),
        tuple(erases.tolist()),
        frozenset(np.flatnonzero(regions).tolist()),
    )


def _check_worn(sim: Simulator, before: WornTable, strained: np.ndarray) -> None:
    """Compare worn blocks with the naive ones; `strained` counts the erases beside each sub-block."""
    state, cells, after = sim.state, sim.device.cells, worn_table(sim)
    assert cells is not None
    if sim.device.ftl.mapping == "subpage":  # blocks of regions count no pages
        programmed = state.page_use[0]
    else:
        programmed = state.sub_block["written"][0, : len(after.erases)]
    written = programmed.reshape(len(state.block[0]), -1).sum(axis=1, dtype=np.int64)
    assert after == recovered_table(
        before,
        np.flatnonzero(np.array(after.erases) - before.erases - strained).tolist(),
        np.flatnonzero(strained).tolist(),
        dict(enumerate(written.tolist())),
        (state.endurance["last"] - state.endurance["first"])[0].tolist(),
        seed=int(state.params["seed"][0, 0]),
        mean=cells.endurance.mean,
        erase_failure=(cells.erase_failure.fresh, cells.erase_failure.worn),
        blocks_per_plane=sim.device.geometry.blocks_per_plane,
    )


class Cut(NamedTuple):
    """A power cut: what the host may count on, the newest versions before it, and the report."""

    view: HostView
    newest: np.ndarray
    report: PowerReport
    capacitors: bool


def drawn_requests(sim: Simulator, data: st.DataObject) -> Callable[[], np.ndarray]:
    """Return what draws requests of the kinds that the family has, which arrive from now on."""
    pages, slots = sim.logical_pages, sim.device.units_per_page

    def draw() -> np.ndarray:
        if sim.device.ftl.mapping == "subpage":
            return request_array(data.draw(subpages.request_lists(pages, slots, sim.now_ns, 60)))
        requests = request_array(data.draw(drawing.request_lists(pages, 60)))
        requests["arrival_ns"] += sim.now_ns
        return requests

    return draw


def four_cuts(
    sim: Simulator, data: st.DataObject, draw: Callable[[], np.ndarray], most: int = 200
) -> Iterator[Cut]:
    """Cut the power four times, at any instant of requests that are drawn each time, and go on after them."""
    capacitors = data.draw(st.booleans())
    for _ in range(4):
        requests, base = draw(), mapped_versions(sim)
        sim.feed(requests)
        sim.set_stop(data.draw(st.integers(1, most)))
        sim.advance()
        sim.set_stop()
        view, newest = host_view(sim, requests, base), sim.state.logical["version"][0].copy()
        yield Cut(view, newest, checked_cut(sim, capacitors=capacitors), capacitors)
    sim.feed(draw())
    sim.advance()
    assert first_fault(sim.arrays, 0) == NO_FAULT


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


def cut_everywhere(
    sim: Simulator, requests: np.ndarray, *, capacitors: bool = False, every: int = 4
) -> tuple[int, int, int]:
    """Cut at every program and erase of a run; return the cuts, pages lost to the host, and reported.

    Of every so many cuts one is audited, too.
    """
    cuts, lost, reported = 0, 0, 0
    base = mapped_versions(sim)
    for count in stops(sim, requests):
        saved = sim.snapshot()
        view = host_view(sim, requests, base)
        report = checked_cut(sim, capacitors=capacitors, audited=count % every == 0)
        gone = lost_to_host(sim, view)
        assert len(gone) <= report.lost_pages
        cuts, lost, reported = cuts + 1, lost + len(gone), reported + report.lost_pages
        sim.restore(saved)
    return cuts, lost, reported
