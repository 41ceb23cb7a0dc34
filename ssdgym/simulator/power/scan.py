"""The scan of a device after a power cut: the map, from what its pages hold beside their data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import OPEN, WORN


@dataclass
class Found:
    """What a scan finds on flash.

    Attributes:
        lpn, version: int64 (pages,), what each page was programmed with, or each slot of one; version -1 for
            one that fails its check.
        programmed: bool (pages,), since the erase.
        good: int64 (n,), numbers of those that count.
        block: int64 (n,), the block of each of these.
        preferred: int64 (n,), which of them count first among copies of one version.
        room: int64 (blocks,), unwritten pages of each block.
        reads: int64 (planes,), pages that the scan reads.
        half_programmed: pages that fail their check.
        half_erased: ERASE_PAIR (m,), what has to be erased again.
        worn: uint8 (blocks,), the status of worn blocks, which a table on flash holds, 0 of others.
        work: int64 (planes, 2), pages moved and blocks erased by the recovery.
    """

    lpn: np.ndarray
    version: np.ndarray
    programmed: np.ndarray
    good: np.ndarray
    block: np.ndarray
    preferred: np.ndarray
    room: np.ndarray
    reads: np.ndarray
    half_programmed: int
    half_erased: np.ndarray
    worn: np.ndarray
    work: np.ndarray

    def newest_copies(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the logical pages that are found, rising, and the page that holds each.

        The newest version counts. Copies of one version hold the same data: those that are preferred come
        first, else garbage collection was emptying one block into another. So that it has not worked for
        nothing, the copy counts that is in the block with more unwritten pages; of equals, in the one with
        more pages that are nowhere else; else the lowest.
        """
        pages, lpn, version = self.good, self.lpn[self.good], self.version[self.good]
        newest = np.zeros(int(lpn.max(initial=-1)) + 1, np.int64)
        np.maximum.at(newest, lpn, version)
        kept = version == newest[lpn]
        pages, lpn, block, preferred = pages[kept], lpn[kept], self.block[kept], self.preferred[kept]
        copies = np.bincount(lpn)
        alone = np.bincount(block[copies[lpn] == 1], minlength=len(self.room))
        order = np.lexsort((pages, -alone[block], -self.room[block], -preferred, lpn))
        chosen = order[np.diff(lpn[order], prepend=-1) > 0]
        return lpn[chosen], pages[chosen]


def worn_blocks(state: State, i: int, count: int) -> np.ndarray:
    """Return the status of the worn blocks of a device, 0 of its others, uint8 (count,)."""
    status = state.block["status"][i, :count]
    return np.where(status & WORN, status, 0).astype(np.uint8)


def reopen(worn: np.ndarray, block: int) -> None:
    """Note that a worn block is written again, as a program in it has not begun; `worn` as in `Found`."""
    worn[block] |= OPEN if worn[block] else 0


def to_erase_again(pairs: np.ndarray, worn: np.ndarray) -> np.ndarray:
    """Return what is erased again of what was being erased, ERASE_PAIR: what is not worn."""
    return np.asarray(pairs[worn[pairs["block"]] == 0])


def logical_pages_left(state: State, i: int) -> int:
    """Return how many logical pages a device has not given up, which a table on flash holds."""
    params = state.params[i, 0]
    return int(state.life["capacity"][i, 0] if params["shrinks"] else params["logical_pages"])


def recovery_ns(state: State, i: int, device: DeviceConfig, found: Found) -> int:
    """Return the time of the die that is busy longest: it reads, erases and moves one after the other.

    Dies work at the same time. What the scan transfers, the spare areas of pages, is left out.

    Args:
        state: the batch.
        i: number of the device in it.
        device: its configuration.
        found: by the scan, with what has been done since.
    """
    timing, params, work = device.timing, state.params[i, 0], found.work
    dies = int(params["dies"])
    move_ns = timing.read_ns + timing.program_ns + 2 * device.transfer_ns
    of_planes = found.reads * timing.read_ns + work[:, 0] * move_ns + work[:, 1] * timing.erase_ns
    np.add.at(of_planes, found.half_erased["block"] // int(params["blocks"]), timing.erase_ns)
    busy = np.zeros(dies, np.int64)
    np.add.at(busy, np.arange(len(work)) % dies, of_planes)
    return int(busy.max())
