"""Power loss of the sub-page family: its write buffer, its regions, and groups that belong on one page."""

from __future__ import annotations

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import RETIRED
from ssdgym.engine.entries import call_on
from ssdgym.engine.subpage.recovery import adopt_pages
from ssdgym.engine.subpage.state import FGM, GROUP_WRITE, LIST_WRITE, SUBFTL
from ssdgym.simulator.power.commands import Command, erased_pairs
from ssdgym.simulator.power.scan import Found, logical_pages_left, reopen, to_erase_again, worn_blocks

#: What stays beside wear: the hours of pages, the calendar that they count by.
KEPT = ("stored_h",)
#: And, in the header of a block, whether it is one of a region.
KEPT_FIELDS = {"buffer": ("calendar_h",), "region_block": ("in_region",)}


def replaced_by(state: State, i: int, command: Command) -> dict[tuple[int, int], int]:
    """Return by sector and version of what a command programs for the host the versions they replace."""
    slots, found = int(state.subpage["slots"][i, 0]), {}
    for number in command.writes:
        (page,) = command.pages
        first, kind = page * slots, state.transaction["kind"][i, number]
        last = int(state.page_use[i, page]) - 1
        places = range(slots) if kind in (GROUP_WRITE, LIST_WRITE) else (last,)
        for k, place in enumerate(places):
            lpn, version = (int(value) for value in state.physical[i, first + place].item())
            replaces = int(state.carried["replaces"][i, number * slots + k])
            if lpn >= 0 and version != replaces:
                found[lpn, version] = replaces
    return found


def scan(state: State, i: int, device: DeviceConfig, cut: list[Command]) -> Found:
    """Return what flash holds once these commands have been cut off."""
    subpage, params = state.subpage[i, 0], state.params[i, 0]
    slots, pages = int(subpage["slots"]), device.geometry.physical_pages
    count, per_block = pages * slots, int(subpage["block_pages"]) * slots
    in_region = state.region_block["in_region"][i, : count // per_block] != 0
    lpn, version = (state.physical[name][i, :count].astype(np.int64) for name in ("lpn", "version"))
    use, half_programmed = state.page_use[i, :pages].astype(np.int64), 0
    by_subpage, worn = subpage["kind"] == SUBFTL, worn_blocks(state, i, count // per_block)
    for command in cut:
        for page in command.pages:
            one = by_subpage and in_region[page * slots // per_block]
            first = page * slots + (use[page] - 1 if one else 0)
            if command.begun:
                version[first : page * slots + use[page]] = -1
                half_programmed += 1
            else:
                use[page] = first - page * slots
                reopen(worn, page * slots // per_block)
    place = np.tile(np.arange(slots), pages)
    programmed = place < np.repeat(use, slots)
    counts = programmed & (lpn >= 0) & (lpn < logical_pages_left(state, i)) & (version > 0)
    region_slot = np.repeat(in_region, per_block)
    if by_subpage:  # of a page of a region only the subpage programmed last can be read
        counts &= ~region_slot | (place == np.repeat(use, slots) - 1)
    good = np.flatnonzero(counts)
    of_blocks = use.reshape(-1, per_block // slots) > 0
    reads = of_blocks.sum(axis=1) + (~of_blocks.all(axis=1) & (worn & RETIRED == 0))
    units = int(subpage["unit_slots"])
    room = (~programmed).reshape(-1, per_block).sum(axis=1) // units
    return Found(
        lpn=lpn,
        version=version,
        programmed=programmed,
        good=good,
        block=good // per_block,
        preferred=_preferred(state, i, lpn, version, good, region_slot[good]),
        room=np.where(in_region | (worn != 0), 0, room),
        reads=reads.reshape(int(params["planes"]), -1).sum(axis=1),
        half_programmed=half_programmed,
        half_erased=to_erase_again(erased_pairs(state, i, cut), worn),
        worn=worn,
        work=np.zeros((int(params["planes"]), 2), np.int64),
    )


def _preferred(
    state: State, i: int, lpn: np.ndarray, version: np.ndarray, good: np.ndarray, in_region: np.ndarray
) -> np.ndarray:
    """Return which of equal copies come first: in the main area, on the page with most that is newest."""
    subpage = state.subpage[i, 0]
    if subpage["kind"] == FGM:
        return np.zeros(len(good), np.int64)
    newest = np.zeros(int(state.params["logical_pages"][i, 0]), np.int64)
    np.maximum.at(newest, lpn[good], version[good])
    page = good // int(subpage["slots"])
    counted = np.bincount(page, weights=version[good] == newest[lpn[good]]).astype(np.int64)
    return np.where(in_region, 0, 1 + counted[page])


def unflushed(state: State, i: int, device: DeviceConfig, cut: set[int]) -> np.ndarray:
    """Return of each sector whether it is in the write buffer or on its way from there to flash."""
    waits = state.in_flight[i, : device.logical_pages] > 0
    waits[list(cut)] = True
    return np.asarray(waits)


def adopt(state: State, i: int, found: Found, rules: np.ndarray) -> None:
    """Let a device, empty but for its map, take over what has been found."""
    subpage, count = state.subpage[i, 0], len(found.lpn)
    slots, unit = int(subpage["slots"]), int(subpage["unit_slots"])
    in_region = state.region_block["in_region"][i, : len(found.room)].copy()
    _format_regions(state, i)
    state.physical["lpn"][i, :count], state.physical["version"][i, :count] = found.lpn, found.version
    mapped = np.flatnonzero(state.logical["ppn"][i] >= 0)
    valid = np.bincount(state.logical["ppn"][i, mapped], minlength=count).reshape(-1, slots).sum(axis=1)
    pages = count // slots
    state.page_valid[i, :pages] = valid
    state.page_use[i, :pages] = found.programmed.reshape(-1, slots).sum(axis=1)
    blocks, main = len(found.room), in_region == 0
    written = found.programmed.reshape(blocks, -1).sum(axis=1) // unit
    valid_units = (valid if unit == 1 else valid > 0).reshape(blocks, -1).sum(axis=1)
    state.sub_block["written"][i, :blocks] = np.where(main, written, 0)
    state.sub_block["invalid"][i, :blocks] = np.where(main, written - valid_units, 0)
    split = _split_groups(state, i, mapped, main)
    params = state.params[i, 0]
    fails, params["programs_fail"] = bool(params["programs_fail"]), False
    call_on(adopt_pages, state, i, found.half_erased, in_region, found.worn, split, found.work, rules=rules)
    params["programs_fail"] = fails


def _format_regions(state: State, i: int) -> None:
    """Let the blocks of regions be those of a new device, as its pools are; the next step corrects both."""
    params, subpage = state.params[i, 0], state.subpage[i, 0]
    blocks, of_region = int(params["blocks"]), int(subpage["region_blocks"])
    within = np.arange(int(params["planes"]) * blocks) % blocks
    state.region_block["in_region"][i, : len(within)] = within >= blocks - of_region


def _split_groups(state: State, i: int, mapped: np.ndarray, main: np.ndarray) -> np.ndarray:
    """Return the groups, int64 (k,), whose sectors in the main area are on several pages though none may."""
    subpage = state.subpage[i, 0]
    if subpage["kind"] == FGM:
        return np.zeros(0, np.int64)
    slots = int(subpage["slots"])
    page = state.logical["ppn"][i, mapped] // slots
    in_main = main[page // int(subpage["block_pages"])]
    pairs = np.unique(np.stack([mapped[in_main] // slots, page[in_main]]), axis=1)
    groups, pages = np.unique(pairs[0], return_counts=True)
    return groups[pages > 1]
