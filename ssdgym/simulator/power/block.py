"""Power loss of the block family: pages anywhere in blocks, blocks of bundles, merges that are cut off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.block.recovery import adopt_bundles, erase_leaves
from ssdgym.engine.block.state import DATA, NFTL, UPDATE
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import ERASE_PAIR, RETIRED
from ssdgym.engine.entries import call_on
from ssdgym.errors import SsdgymError
from ssdgym.simulator.power.commands import Command
from ssdgym.simulator.power.merges import Blocks, NoRoom, drop_blocks, end_merge, free_block
from ssdgym.simulator.power.page import replaced_by
from ssdgym.simulator.power.scan import Found, logical_pages_left, worn_blocks

__all__ = ["KEPT", "KEPT_FIELDS", "adopt", "replaced_by", "scan", "unflushed"]

#: What stays beside wear: disturbances; and the headers of blocks, which say whose they are.
KEPT = ("disturbed",)
KEPT_FIELDS: dict[str, tuple[str, ...]] = {}


@dataclass
class FoundBlocks(Found):
    """What a scan finds, with the headers of blocks.

    Attributes:
        owner, slot: int64 (blocks,), the bundle of each block, or -1, and its slot there.
    """

    owner: np.ndarray
    slot: np.ndarray


def scan(state: State, i: int, device: DeviceConfig, cut: list[Command]) -> FoundBlocks:
    """Return what flash holds once these commands have been cut off, and merges have been ended."""
    params, merging, count = state.params[i, 0], state.merging[i, 0], device.geometry.physical_pages
    size, planes = int(params["pages_per_block"]), int(params["planes"])
    lpn, version = (state.physical[name][i, :count].astype(np.int64) for name in ("lpn", "version"))
    half_programmed, half_erased = 0, np.zeros(0, ERASE_PAIR)
    worn = worn_blocks(state, i, len(lpn) // size)
    for command in cut:
        if command.erases and not worn[-1 - command.erased]:
            half_erased = np.append(half_erased, _half_erased(state, i, -1 - command.erased))
        for page in command.pages:
            if command.begun:
                version[page] = -1
                half_programmed += 1
            else:
                lpn[page] = -1
    version[(lpn < 0) | (lpn >= logical_pages_left(state, i))] = -1
    blocks = _blocks_of(state, i, lpn.reshape(-1, size), version.reshape(-1, size), worn)
    of_blocks = (blocks.lpn >= 0).sum(axis=1)
    reads = (of_blocks + ((of_blocks < size) & (worn & RETIRED == 0))).reshape(planes, -1).sum(axis=1)
    for pair in half_erased:
        blocks.wear(int(pair["block"]), int(pair["mask"]))
    blocks.close_worn()
    _end_merges(blocks, state, i, device)
    lpn, version = blocks.lpn.reshape(-1), blocks.version.reshape(-1)
    good = np.flatnonzero((lpn >= 0) & (version > 0))
    slot = blocks.slot[good // size]
    _count_moves(state, i, int(blocks.work[:, 0].sum()))
    return FoundBlocks(
        lpn=lpn,
        version=version,
        programmed=lpn >= 0,
        good=good,
        block=good // size,
        preferred=2 * (slot == DATA) + (slot == UPDATE) if merging["kind"] == NFTL else 0 * slot,
        room=size - (blocks.lpn >= 0).sum(axis=1),
        reads=reads,
        half_programmed=half_programmed,
        half_erased=half_erased,
        worn=blocks.worn,
        work=blocks.work,
        owner=blocks.owner,
        slot=blocks.slot,
    )


def _half_erased(state: State, i: int, block: int) -> np.ndarray:
    """Return the part of a block that the job of its plane was erasing, as a mask of sub-blocks."""
    job, levels = state.job[i, block // int(state.params["blocks"][i, 0])], int(state.merging["levels"][i, 0])
    level, node = int(job["amount"]), int(job["node"]) if job["amount"] else 1
    leaves = 1 << (levels - level)
    first = (node - (1 << level)) * leaves
    return np.array([(((1 << leaves) - 1) << first, block)], ERASE_PAIR)


def _blocks_of(state: State, i: int, lpn: np.ndarray, version: np.ndarray, worn: np.ndarray) -> Blocks:
    """Return the blocks with what they hold and their headers; one without a page has none."""
    slots = int(state.merging["slots"][i, 0])
    members = state.member[i, : int(state.merging["bundles"][i, 0]) * slots]
    owner, slot = np.full(len(lpn), -1, np.int64), np.zeros(len(lpn), np.int64)
    places = np.flatnonzero(members >= 0)
    places = places[(lpn[members[places]] >= 0).any(axis=1)]
    owner[members[places]], slot[members[places]] = places // slots, places % slots
    work = np.zeros((int(state.params["planes"][i, 0]), 2), np.int64)
    sub_blocks = int(state.params["sub_blocks"][i, 0])

    def wears_out(block: int, mask: int = 2**sub_blocks - 1) -> bool:
        first, count = (mask & -mask).bit_length() - 1, mask.bit_count()
        state.disturbed[i, block * sub_blocks + first :][:count] = 0
        return bool(call_on(erase_leaves, state, i, block, first, count))

    return Blocks(lpn, version, owner, slot, work, worn, wears_out)


def _end_merges(blocks: Blocks, state: State, i: int, device: DeviceConfig) -> None:
    """End the merges of all bundles, and see to it that every plane has a free block."""
    merging, places = state.merging[i, 0], _places(state, i)
    by_place = merging["kind"] == NFTL
    for bundle in np.unique(blocks.owner[blocks.owner >= 0]):
        try:
            if by_place:
                end_merge(blocks, int(bundle), places)
            else:
                drop_blocks(blocks, int(bundle), int(merging["physical_blocks"]), int(merging["slots"]))
        except NoRoom:
            if device.cells is None:
                raise SsdgymError(
                    f"device {device.name}: no room is left to end a merge that power loss has cut."
                ) from None
            state.life["over"][i, 0] = 1
    for plane in range(len(blocks.work)) if not by_place else ():
        free_block(blocks, plane)


def _places(state: State, i: int) -> np.ndarray:
    """Return the place of each logical page in its bundle, int64 (logical pages,)."""
    merging, params = state.merging[i, 0], state.params[i, 0]
    lpn = np.arange(int(params["logical_pages"]))
    return (lpn // int(params["planes"]) if merging["by_pages"] else lpn) % int(merging["span"])


def _count_moves(state: State, i: int, moves: int) -> None:
    state.counters["relocated_pages"][i, 0] += moves
    state.counters["flash_reads"][i, 0] += moves


def unflushed(state: State, i: int, device: DeviceConfig, cut: set[int]) -> np.ndarray:
    """Return of each logical page whether it is in a write buffer: the family has none."""
    return np.zeros(device.logical_pages, bool)


def adopt(state: State, i: int, found: FoundBlocks, rules: np.ndarray) -> None:
    """Let a device, empty but for its map, take over what has been found."""
    arrays = found.owner, found.slot, found.lpn, found.version, found.worn
    call_on(adopt_bundles, state, i, *arrays, rules=rules)
