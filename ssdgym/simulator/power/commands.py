"""Flash commands that a power cut interrupts, and what of their writes had been acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.flash import NO_PHASE
from ssdgym.engine.time.events import (
    ERASE_SET,
    MOVE_PAGE,
    NO_EVENT,
    PROGRAM,
    TRANSFER,
    WRITE_PAGE,
)


@dataclass(frozen=True)
class Command:
    """A write, move or erase that a die has started and not ended.

    Attributes:
        erases: whether it is an erase.
        begun: whether cells are being programmed or erased; before, flash is as it was.
        pages: of flash, that it programs.
        erased: of an erase, `touched` of the record DIE.
        writes: numbers of the transactions whose pages it programs; none of GC, and none that are done for
            the host.
    """

    erases: bool
    begun: bool
    pages: tuple[int, ...]
    erased: int
    writes: tuple[int, ...]


def commands_under_way(state: State, i: int) -> Iterator[Command]:
    """Yield the commands that device `i` has started and not ended, but for reads, by die."""
    params, now = state.params[i, 0], int(state.control["now"][i, 0])
    dies = int(params["dies"])
    for number in np.flatnonzero(np.isin(state.die["command"][i, :dies], (WRITE_PAGE, MOVE_PAGE, ERASE_SET))):
        die = state.die[i, number]
        erases = bool(die["command"] == ERASE_SET)
        yield Command(
            erases=erases,
            begun=_has_begun(state, i, int(number), now),
            pages=() if erases else tuple(_pages(state, i, int(number))),
            erased=int(die["touched"]) if erases else 0,
            writes=tuple(_transactions(state, i, die)),
        )


def _has_begun(state: State, i: int, number: int, now: int) -> bool:
    """Return whether the command of a die programs or erases cells already."""
    params, die = state.params[i, 0], state.die[i, number]
    if die["command"] == ERASE_SET or die["stage"] == PROGRAM:
        return True
    if die["stage"] != TRANSFER:
        return False
    if die["transfer_ns"] == NO_PHASE:  # copyback: the program follows the read at once
        return now >= int(die["started_ns"]) + int(params["read_ns"])
    bits = int(params["leaf_bits"])
    key = int(state.event[i, (1 << bits) + int(params["channels"]) + number])
    return key != NO_EVENT and now >= (key >> bits) - int(die["after_ns"])


def _pages(state: State, i: int, number: int) -> Iterator[int]:
    """Yield the pages that the present command of a die programs."""
    die, params = state.die[i, number], state.params[i, 0]
    if die["touched"]:
        yield int(die["touched"]) - 1
    if die["pages"] > 1:
        joined = state.plane["joined"][i, number : int(params["planes"]) : int(params["dies"])]
        yield from (joined[joined > 0] - 1).tolist()


def _transactions(state: State, i: int, die: np.void) -> Iterator[int]:
    if die["command"] != WRITE_PAGE or die["stage"] == PROGRAM:
        return
    number = int(die["transaction"])
    for _ in range(int(die["pages"])):
        yield number
        number = int(state.transaction["next"][i, number])


def acknowledged_versions(state: State, i: int, under_way: Mapping[tuple[int, int], int]) -> np.ndarray:
    """Return the newest version of each logical page whose write has ended, 0 for none or trimmed.

    Args:
        state: the batch.
        i: number of the device in it.
        under_way: of writes that have not ended, logical page and version: the version that it replaces.

    Returns:
        int64 (logical pages,).
    """
    count = int(state.params["logical_pages"][i, 0])
    logical = state.logical[i, :count]
    versions = np.where(logical["ppn"] >= 0, logical["version"], 0).astype(np.int64)
    for lpn in {lpn for lpn, _ in under_way}:
        while (lpn, int(versions[lpn])) in under_way:
            versions[lpn] = under_way[lpn, int(versions[lpn])]
    return versions


def erased_pairs(state: State, i: int, cut: list[Command]) -> np.ndarray:
    """Return what the commands erase, ERASE_PAIR (m,): the set of a round, or a block by itself."""
    pairs = [np.zeros(0, ERASE_PAIR)]
    for command in cut:
        leader = command.erased - 1
        if leader >= 0:
            first = leader * MAX_PAIRS
            pairs.append(state.round_pairs[i, first : first + state.plane["round_count"][i, leader]])
        elif command.erases:
            whole = (1 << int(state.params["sub_blocks"][i, 0])) - 1
            pairs.append(np.array([(whole, -1 - command.erased)], ERASE_PAIR))
    return np.concatenate(pairs)
