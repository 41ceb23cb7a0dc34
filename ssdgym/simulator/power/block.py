"""Power loss of the block family: pages anywhere in blocks, blocks of bundles, merges that are cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.block.recovery import adopt_bundles, erase_leaves
from ssdgym.engine.block.state import DATA, NFTL, TARGET, UPDATE
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import ERASE_PAIR, RETIRED, WORN
from ssdgym.engine.entries import call_on
from ssdgym.errors import SsdgymError
from ssdgym.simulator.power.commands import Command
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


# Interrupted merges: undone where the old blocks hold all, else carried to an end.


class NoRoom(Exception):
    """A merge that power loss has cut finds no free block, or no page, to be ended with."""


@dataclass
class Blocks:
    """What the blocks of a device hold, while recovery moves and erases.

    Attributes:
        lpn, version: int64 (blocks, pages), of each page; lpn -1 where it is erased, version -1 where it
            fails its check.
        owner, slot: int64 (blocks,), the bundle of each block by its header, or -1, and its slot there.
        work: int64 (planes, 2), moves and erases so far.
        worn: uint8 (blocks,), as in `Found`; those without a page are not written any more.
        wears_out: counts an erase of a block, or of sub-blocks (a mask) of it; returns whether that wears it.
    """

    lpn: np.ndarray
    version: np.ndarray
    owner: np.ndarray
    slot: np.ndarray
    work: np.ndarray
    worn: np.ndarray
    wears_out: Callable[..., bool]

    def plane_of(self, block: int) -> int:
        """Return the plane of a block."""
        return block * len(self.work) // len(self.lpn)

    def of_bundle(self, bundle: int) -> dict[int, int]:
        """Return the blocks of a bundle by slot."""
        blocks = np.flatnonzero(self.owner == bundle)
        return {int(self.slot[block]): int(block) for block in blocks}

    def newest(self, blocks: list[int]) -> dict[int, list[tuple[int, int]]]:
        """Return by logical page where its newest version is in some blocks: pairs of block and page."""
        found: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        for block in blocks:
            for page in np.flatnonzero((self.lpn[block] >= 0) & (self.version[block] > 0)):
                lpn, version = int(self.lpn[block, page]), int(self.version[block, page])
                best, places = found.get(lpn, (0, []))
                if version > best:
                    found[lpn] = version, [(block, int(page))]
                elif version == best:
                    places.append((block, int(page)))
        return {lpn: places for lpn, (_, places) in found.items()}

    def needed(self, block: int, others: list[int]) -> list[int]:
        """Return the pages of a block that hold the only copy of what is newest in it and some others."""
        newest = self.newest([block, *others])
        return [places[0][1] for places in newest.values() if all(held == block for held, _ in places)]

    def move(self, source: tuple[int, int], target: tuple[int, int]) -> None:
        """Copy a page to an erased one."""
        self.lpn[target], self.version[target] = self.lpn[source], self.version[source]
        self.work[self.plane_of(target[0]), 0] += 1

    def erase(self, block: int) -> None:
        """Erase a block, which is of no bundle then."""
        self.lpn[block], self.version[block] = -1, -1
        self.owner[block] = -1
        self.work[self.plane_of(block), 1] += 1
        self.wear(block)

    def wear(self, block: int, *mask: int) -> None:
        """Count an erase of a block, or of sub-blocks of it."""
        if self.wears_out(block, *mask):
            self.worn[block] |= WORN

    def close_worn(self) -> None:
        """Let the erased pages of worn blocks be written no more: each is as one that fails its check."""
        for block in np.flatnonzero((self.worn != 0) & (self.owner >= 0)):
            erased = self.lpn[block] < 0
            self.lpn[block, erased], self.version[block, erased] = self.lpn[block, ~erased][0], -1

    def free(self, plane: int) -> list[int]:
        """Return the free blocks of a plane."""
        per_plane = len(self.lpn) // len(self.work)
        first = per_plane * plane
        of_plane = slice(first, first + per_plane)
        return (first + np.flatnonzero((self.owner[of_plane] < 0) & (self.worn[of_plane] == 0))).tolist()

    def take(self, plane: int, bundle: int, slot: int) -> int:
        """Give a bundle the first free block of a plane."""
        if not (free := self.free(plane)):
            raise NoRoom
        self.owner[free[0]], self.slot[free[0]] = bundle, slot
        return free[0]


def is_regular(blocks: Blocks, held: dict[int, int]) -> bool:
    """Return whether a bundle of `nftl` is as between merges: its update block has no gap."""
    if max(held, default=DATA) >= TARGET or (held and DATA not in held):
        return False
    if UPDATE not in held:
        return True
    programmed = blocks.lpn[held[UPDATE]] >= 0
    return not (programmed[1:] & ~programmed[:-1]).any()


def end_merge(blocks: Blocks, bundle: int, place_of: np.ndarray) -> None:
    """Bring a bundle of `nftl` to what it may be between merges; `place_of` are the places of pages."""
    held = blocks.of_bundle(bundle)
    for slot in sorted(held, reverse=True):  # targets that have failed first, then the target
        others = [block for other, block in held.items() if other != slot]
        if slot >= TARGET and not blocks.needed(held[slot], others):
            blocks.erase(held.pop(slot))
    if TARGET in held and DATA not in held and _in_place(blocks, held[TARGET], place_of):
        held[DATA] = held.pop(TARGET)
        blocks.slot[held[DATA]] = DATA
    if DATA in held:
        _fill_data(blocks, held, place_of)
        for slot in (TARGET, UPDATE):
            others = [block for other, block in held.items() if other != slot]
            if slot in held and not is_regular(blocks, held) and not blocks.needed(held[slot], others):
                blocks.erase(held.pop(slot))
    if is_regular(blocks, held):
        return
    newest = blocks.newest(list(held.values()))
    if newest:  # else its logical pages are given up
        target = blocks.take(blocks.plane_of(next(iter(held.values()))), bundle, DATA)
    for lpn, places in newest.items():
        blocks.move(places[0], (target, int(place_of[lpn])))
    for block in held.values():
        blocks.erase(block)


def _in_place(blocks: Blocks, block: int, place_of: np.ndarray) -> bool:
    pages = np.flatnonzero(blocks.lpn[block] >= 0)
    return bool((place_of[blocks.lpn[block, pages]] == pages).all())


def _fill_data(blocks: Blocks, held: dict[int, int], place_of: np.ndarray) -> None:
    """Copy the newest pages that are not in the data block to their places there, where these are erased."""
    data = held[DATA]
    for lpn, places in blocks.newest(list(held.values())).items():
        target = data, int(place_of[lpn])
        if all(block != data for block, _ in places) and blocks.lpn[target] < 0:
            blocks.move(places[0], target)


def drop_blocks(blocks: Blocks, bundle: int, most: int, slots: int) -> None:
    """Bring a superblock, which has so many slots, down to so many blocks."""
    while len(held := blocks.of_bundle(bundle)) > most:
        moves, block = _least_needed(blocks, bundle)
        if moves >= 0:
            _drop(blocks, bundle, block)
        elif len(held) < slots:
            slot = min(set(range(slots)) - set(held))
            blocks.take(blocks.plane_of(next(iter(held.values()))), bundle, slot)
        else:
            raise NoRoom


def free_block(blocks: Blocks, plane: int) -> None:
    """Drop blocks of superblocks of a plane, those with fewest pages to move, until a block is free."""
    while not blocks.free(plane):
        of_plane = blocks.owner.reshape(len(blocks.work), -1)[plane]
        bundles = np.unique(of_plane[of_plane >= 0])
        found = [(*_least_needed(blocks, int(bundle)), int(bundle)) for bundle in bundles]
        fitting = [candidate for candidate in found if candidate[0] >= 0]
        if not fitting:
            return
        _, block, bundle = min(fitting)
        _drop(blocks, bundle, block)


def _least_needed(blocks: Blocks, bundle: int) -> tuple[int, int]:
    """Return the fewest pages to move so that a superblock can drop a block, and the block; or -1, -1."""
    held, best = list(blocks.of_bundle(bundle).values()), (-1, -1)
    for block in held:
        others = [other for other in held if other != block]
        moves = len(blocks.needed(block, others))
        fits = moves <= int((blocks.lpn[others] < 0).sum()) and bool((blocks.lpn[block] >= 0).any())
        if others and fits and (best[0] < 0 or (moves, block) < best):
            best = moves, block
    return best


def _drop(blocks: Blocks, bundle: int, block: int) -> None:
    """Move what only this block of a superblock holds to erased pages of the others, and erase it."""
    others = [other for other in blocks.of_bundle(bundle).values() if other != block]
    erased = [(other, int(page)) for other in others for page in np.flatnonzero(blocks.lpn[other] < 0)]
    for page, target in zip(blocks.needed(block, others), erased, strict=False):
        blocks.move((block, page), target)
    blocks.erase(block)
