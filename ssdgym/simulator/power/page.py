"""Power loss of the page family: what flash holds, what the write buffer loses, how lists are made again."""

from __future__ import annotations

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import HOT_TO_VICTIMS, HOTNESS_GROUPS, IN_STREAMS, MAX_PAIRS
from ssdgym.engine.entries import call_on
from ssdgym.engine.page.family import adopt_placement
from ssdgym.engine.page.recovery import adopt_pages
from ssdgym.simulator.power.commands import Command
from ssdgym.simulator.power.scan import Found, no_pairs


def replaced_by(state: State, i: int, command: Command) -> dict[tuple[int, int], int]:
    """Return by logical page and version of the pages that a command programs the versions they replace."""
    pages = state.transaction[i, list(command.writes)]
    return {(int(page["lpn"]), int(page["version"])): int(page["replaces"]) for page in pages}


def scan(state: State, i: int, device: DeviceConfig, cut: list[Command]) -> Found:
    """Return what flash holds once these commands have been cut off."""
    params = state.params[i, 0]
    count = device.usable.physical_pages
    per_sub_block = int(params["pages_per_sub_block"])
    physical = state.physical[i, :count]
    lpn, version = (physical[name].astype(np.int64) for name in ("lpn", "version"))
    written = state.sub_block["written"][i, : count // per_sub_block].astype(np.int64)
    half_programmed, erased = 0, [no_pairs()]
    for command in cut:
        if command.erases:
            (leader,) = command.touched
            first = leader * MAX_PAIRS
            erased.append(state.round_pairs[i, first : first + state.plane["round_count"][i, leader]])
            continue
        for mark in command.touched.values():
            if command.begun:
                version[mark - 1] = -1
                half_programmed += 1
            else:
                written[(mark - 1) // per_sub_block] -= 1
    return Found(lpn, version, written, half_programmed, np.concatenate(erased))


def good_pages(state: State, i: int, found: Found) -> np.ndarray:
    """Return the numbers of the pages that have been programmed and hold a version, int64 (n,)."""
    per_sub_block = int(state.params["pages_per_sub_block"][i, 0])
    pages = np.arange(len(found.lpn))
    programmed = pages % per_sub_block < found.written[pages // per_sub_block]
    return pages[programmed & (found.version > 0)]


def room_of_blocks(state: State, i: int, found: Found) -> np.ndarray:
    """Return the unwritten pages of each block, int64 (blocks,)."""
    params = state.params[i, 0]
    return int(params["pages_per_block"]) - found.written.reshape(-1, int(params["sub_blocks"])).sum(axis=1)


def pages_read(state: State, i: int, found: Found) -> np.ndarray:
    """Return the pages that a scan reads of each plane: those programmed, and the first behind them."""
    params = state.params[i, 0]
    gaps = found.written < params["pages_per_sub_block"]
    return (found.written + gaps).reshape(int(params["planes"]), -1).sum(axis=1)


def unflushed(state: State, i: int, device: DeviceConfig) -> np.ndarray:
    """Return of each logical page whether its last write is acknowledged, and on its way to flash."""
    count = device.logical_pages
    if not state.params["buffer_pages"][i, 0]:
        return np.zeros(count, bool)
    return (state.entry_of[i, :count] >= 0) | (state.in_flight[i, :count] > 0)


def adopt(state: State, i: int, found: Found, rules: np.ndarray) -> np.ndarray:
    """Let a device, empty but for its map, take over what has been found.

    Returns:
        Pages moved and blocks erased to win room, int64 (planes, 2).
    """
    params = state.params[i, 0]
    per_sub_block = int(params["pages_per_sub_block"])
    subs, count = len(found.written), len(found.lpn)
    state.physical["lpn"][i, :count], state.physical["version"][i, :count] = found.lpn, found.version
    mapped = state.logical["ppn"][i][state.logical["ppn"][i] >= 0]
    valid = np.bincount(mapped // per_sub_block, minlength=subs)
    state.sub_block["written"][i, :subs] = found.written
    state.sub_block["invalid"][i, :subs] = found.written - valid
    work = np.zeros((int(params["planes"]), 2), np.int64)
    placement, reopens = int(params["placement"]), params["placement"] not in (HOT_TO_VICTIMS, HOTNESS_GROUPS)
    if placement != HOTNESS_GROUPS:
        call_on(adopt_pages, state, i, found.half_erased, work, bool(reopens), rules=rules)
        return work
    own = {name: params[name] for name in ("placement", "gc_stream", "groups")}
    params["placement"], params["gc_stream"], params["groups"] = IN_STREAMS, 0, 0
    call_on(adopt_pages, state, i, found.half_erased, work, bool(reopens), rules=rules)
    for name, value in own.items():
        params[name] = value
    adopt_placement(state, i)
    return work
