"""Rounds of garbage collection: how one starts, moves pages and erases. `pairs` lists (block, mask)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import erase_sets
from .blocks import Place, Stream
from .erase_sets import Pair, whole
from .placement import place_relocated_page, where_there_is_room

if TYPE_CHECKING:
    from .device import Device


class IllegalEraseSet(ValueError):
    """The chosen erase set is refused; the device is as it was."""


def start(device: Device, plane: int, pairs: list[Pair]) -> None:
    """Make the pairs the victims of a round led by the plane; no change where they may not be."""
    if (reason := erase_sets.objection(device, plane, pairs)) is not None:
        raise IllegalEraseSet(reason)
    begin(device, plane, device.life.instead_of(plane, pairs))
    device.count_round()


def start_levelling(device: Device, plane: int, block: int) -> None:
    """Make the block the victim of a round of the plane although nothing may be won."""
    device.levelling[plane] = "runs"
    if device.level:
        device.level.emptied(block)
    begin(device, plane, [(block, whole(device.config))])
    device.counters["levelling_rounds"] += 1


def begin(device: Device, plane: int, pairs: list[Pair]) -> None:
    """Take the victims out of index and pool."""
    for block, mask in pairs:
        device.leave_index(block)
        pool = device.pools[device.plane_of_block(block)]
        if block in pool:
            pool.remove(block)
        if device.rule:
            device.rule.collected(block)
        valid = erase_sets.valid_in_set(device, block, mask)
        most = device.counters["max_victim_valid_pages"]
        device.counters["victim_valid_pages"] += valid
        device.counters["max_victim_valid_pages"] = max(most, valid)
    device.rounds[plane] = list(pairs)


# Moves


def next_page(device: Device, plane: int, pairs: list[Pair]) -> int | None:
    """The first page of the plane's pairs and their neighbours that is still valid."""
    for block, mask in pairs:
        if device.plane_of_block(block) != plane:
            continue
        moved = mask | erase_sets.neighbours(device.config, mask)
        for sub in device.sub_blocks_of_set(block, moved):
            for ppn in device.pages_of_sub_block(sub):
                if device.is_valid(ppn):
                    return ppn
    return None


def move_next(device: Device, pairs: list[Pair]) -> int:
    """The round's next move, with what joins it; returns its pages, 0 if no valid page is left."""
    found = {plane: next_page(device, plane, pairs) for plane in device.planes_of(pairs)}
    pages = {plane: ppn for plane, ppn in sorted(found.items()) if ppn is not None}
    if not pages:
        return 0
    first = min(pages, key=lambda plane: (device.number_in_block(pages[plane]), plane))
    row = device.row(first, place(device, first, pages[first]))
    move(device, first, pages[first])
    joined = 0
    for plane, ppn in pages.items():
        if plane != first and row is not None and can_join(device, plane, ppn, pages[first], row):
            move(device, plane, ppn)
            joined += 1
            device.counters["joined_moves"] += 1
    return 1 + joined


def can_join(device: Device, plane: int, ppn: int, first_ppn: int, row: int) -> bool:
    """Whether the page is read from and programmed to pages of the numbers of the first one's."""
    same_number = device.number_in_block(ppn) == device.number_in_block(first_ppn)
    return same_number and device.row(plane, place(device, plane, ppn)) == row


def place(device: Device, plane: int, ppn: int) -> Place:
    """Where the page would be moved to."""
    if device.levelling[plane] == "runs":
        return own_place(device, plane, ppn)
    return where_there_is_room(device, plane, own_place(device, plane, ppn))


def own_place(device: Device, plane: int, ppn: int) -> Place:
    """Where the placement puts the page, whether there is room or not; one that levels wear behind all."""
    if device.levelling[plane] == "runs":
        return Stream(device.config.streams)
    return place_relocated_page(device, plane, device.physical[ppn][0], ppn)


def move(device: Device, plane: int, ppn: int) -> None:
    lpn, version = device.physical[ppn]
    device.read_flash(lpn)
    own, target = own_place(device, plane, ppn), place(device, plane, ppn)
    if isinstance(own, Stream) and own != target:
        device.counters["overflow_pages"] += 1
        device.overflow[own.number] += 1
    device.logical[lpn].ppn = device.program(plane, target, lpn, version, relocated=True)
    device.programmed(plane, target)
    device.counters["relocated_pages"] += 1
    device.counters["levelling_moves"] += device.levelling[plane] == "runs"
    if device.rule:
        device.rule.relocated(lpn, ppn, device.logical[lpn].ppn)


# Erases


def erase(device: Device, leader: int) -> None:
    """End the round, and the foreground GC of its planes that have reached their goals."""
    pairs, was_on = device.rounds.pop(leader), list(device.foreground)
    for block, mask in pairs:
        erase_pair(device, block, mask)
    device.life.settle()
    for plane in device.planes_of(pairs):
        if device.foreground[plane]:
            device.foreground[plane] = device.goes_on(plane)
    device.life.empty_rest(pairs)
    for plane in device.rounds if device.config.timing == "none" else ():
        device.foreground[plane] |= was_on[plane]
    if device.level:
        is_due = device.levelling[leader] != "runs" and not device.goes_on(leader)
        device.levelling[leader] = "due" if is_due else ""


def erase_pair(device: Device, block: int, mask: int) -> None:
    if device.level:
        device.level.erased(block)
    if device.rule:
        device.rule.erased(block)
    for sub in device.sub_blocks_of_set(block, mask):
        device.written[sub] = 0
        device.erases[sub] += 1
        device.counters["erased_sub_blocks"] += 1
    device.counters["erases"] += 1
    device.relocated_last[block] = 0
    if device.life.wears:
        device.life.note_erased(block, device.sub_blocks_of_set(block, mask))
    if block in device.life.worn:
        if device.written_in_block(block):
            return
        device.life.retire(block)
    elif device.free_in_block(block):
        device.pools[device.plane_of_block(block)].append(block)
    if device.written_in_block(block):
        device.enter_index(block)
    device.reclassify(block)
