"""Power loss of the page family: what flash holds, what the write buffer loses, how lists are made again."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import HOT_TO_VICTIMS, HOTNESS_GROUPS, RETIRED
from ssdgym.engine.entries import call_on
from ssdgym.engine.page.recovery import adopt_pages
from ssdgym.simulator.power.commands import Command, erased_pairs
from ssdgym.simulator.power.scan import Found, logical_pages_left, reopen, to_erase_again, worn_blocks
from ssdgym.simulator.untimed import placed_afterwards

#: What an observer has noted, who has power: arrays, and fields of others.
KEPT = ("noted_version",)
KEPT_FIELDS = {"buffer": ("absorbed", "reads")}


def replaced_by(state: State, i: int, command: Command) -> dict[tuple[int, int], int]:
    """Return by logical page and version of the pages that a command programs the versions they replace."""
    pages = state.transaction[i, list(command.writes)]
    return {(int(page["lpn"]), int(page["version"])): int(page["replaces"]) for page in pages}


def scan(state: State, i: int, device: DeviceConfig, cut: list[Command]) -> Found:
    """Return what flash holds once these commands have been cut off."""
    params, count = state.params[i, 0], device.usable.physical_pages
    per_sub_block, per_block = int(params["pages_per_sub_block"]), int(params["pages_per_block"])
    lpn, version = (state.physical[name][i, :count].astype(np.int64) for name in ("lpn", "version"))
    pages = np.arange(count)
    written = state.sub_block["written"][i, : count // per_sub_block]
    programmed = pages % per_sub_block < np.repeat(written, per_sub_block)
    half_programmed, worn = 0, worn_blocks(state, i, count // per_block)
    for command in cut:
        for page in command.pages:
            if command.begun:
                version[page] = -1
                half_programmed += 1
            else:
                programmed[page] = False
                reopen(worn, page // per_block)
    good = pages[programmed & (version > 0) & (lpn < logical_pages_left(state, i))]
    in_sub_blocks = programmed.reshape(-1, per_sub_block).sum(axis=1)
    retired = np.repeat(worn & RETIRED != 0, per_block // per_sub_block)
    reads = in_sub_blocks + (in_sub_blocks < per_sub_block) * ~retired
    return Found(
        lpn=lpn,
        version=version,
        programmed=programmed,
        good=good,
        block=good // per_block,
        preferred=np.zeros(len(good), np.int64),
        room=np.where(worn, 0, per_block - programmed.reshape(-1, per_block).sum(axis=1)),
        reads=reads.reshape(int(params["planes"]), -1).sum(axis=1),
        half_programmed=half_programmed,
        half_erased=to_erase_again(erased_pairs(state, i, cut), worn),
        worn=worn,
        work=np.zeros((int(params["planes"]), 2), np.int64),
    )


def unflushed(state: State, i: int, device: DeviceConfig, cut: set[int]) -> np.ndarray:
    """Return of each logical page whether it is in the write buffer or on its way from there to flash.

    `cut` are those whose programs have been cut off.
    """
    count = device.logical_pages
    waits = np.zeros(count, bool)
    if state.params["buffer_pages"][i, 0]:
        waits[list(cut)] = True
        waits |= (state.entry_of[i, :count] >= 0) | (state.in_flight[i, :count] > 0)
    return waits


def adopt(state: State, i: int, found: Found, rules: np.ndarray) -> None:
    """Let a device, empty but for its map, take over what has been found."""
    params = state.params[i, 0]
    in_sub_blocks = found.programmed.reshape(-1, int(params["pages_per_sub_block"]))
    subs, count = len(in_sub_blocks), len(found.lpn)
    state.physical["lpn"][i, :count], state.physical["version"][i, :count] = found.lpn, found.version
    mapped = state.logical["ppn"][i][state.logical["ppn"][i] >= 0]
    written = in_sub_blocks.sum(axis=1)
    state.sub_block["written"][i, :subs] = written
    state.sub_block["invalid"][i, :subs] = written - np.bincount(
        mapped // in_sub_blocks.shape[1], minlength=subs
    )
    placement = int(params["placement"])
    reopens = placement not in (HOT_TO_VICTIMS, HOTNESS_GROUPS)
    with placed_afterwards(state, i) if placement == HOTNESS_GROUPS else nullcontext():
        call_on(adopt_pages, state, i, found.half_erased, found.worn, found.work, reopens, rules=rules)
