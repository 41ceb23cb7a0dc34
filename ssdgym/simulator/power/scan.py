"""The scan of a device after a power cut: the map, from what its pages hold beside their data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import ERASE_PAIR


@dataclass
class Found:
    """What a scan finds on flash.

    Attributes:
        lpn, version: of each page, int64 (pages,): what it was programmed with; version -1 for nothing good.
        written: int64 (sub-blocks,), pages programmed since the erase.
        half_programmed: pages that fail their check.
        half_erased: ERASE_PAIR (m,), what has to be erased again.
    """

    lpn: np.ndarray
    version: np.ndarray
    written: np.ndarray
    half_programmed: int
    half_erased: np.ndarray


def no_pairs() -> np.ndarray:
    """Return no pairs of an erase set."""
    return np.zeros(0, ERASE_PAIR)


def newest_copies(
    pages: np.ndarray, lpn: np.ndarray, version: np.ndarray, block: np.ndarray, room: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each logical page that is found the page that holds it.

    The newest version counts. Copies of one version hold the same data: of two blocks, garbage collection was
    emptying one into the other. So that it has not worked for nothing, the copy counts that is in the block
    with more unwritten pages; of equals, in the one with more pages that are nowhere else; else the lowest.

    Args:
        pages: int64 (n,), numbers of the programmed pages that are good.
        lpn: int64 (n,), their logical pages.
        version: int64 (n,), their versions.
        block: int64 (n,), their blocks.
        room: int64 (blocks,), unwritten pages of each block.

    Returns:
        The logical pages, rising, and their pages.
    """
    if not len(pages):
        return pages, pages
    newest = np.zeros(int(lpn.max()) + 1, np.int64)
    np.maximum.at(newest, lpn, version)
    kept = version == newest[lpn]
    pages, lpn, block = pages[kept], lpn[kept], block[kept]
    copies = np.bincount(lpn)
    alone = np.bincount(block[copies[lpn] == 1], minlength=len(room))
    order = np.lexsort((pages, -alone[block], -room[block], lpn))
    first = np.ones(len(order), bool)
    first[1:] = np.diff(lpn[order]) > 0
    chosen = order[first]
    return lpn[chosen], pages[chosen]


def scan_times(
    state: State, i: int, device: DeviceConfig, reads: np.ndarray, half_erased: np.ndarray
) -> np.ndarray:
    """Return how long each die reads the pages of its planes and repeats erases, ns, int64 (dies,).

    Dies work at the same time. What they transfer, the spare areas of pages, is left out.

    Args:
        state: the batch.
        i: number of the device in it.
        device: its configuration.
        reads: int64 (planes,), pages read of each plane.
        half_erased: ERASE_PAIR (m,), what is erased again.
    """
    params = state.params[i, 0]
    dies = int(params["dies"])
    die_of_plane = np.arange(len(reads)) % dies
    busy = np.bincount(die_of_plane, weights=reads, minlength=dies).astype(np.int64) * device.timing.read_ns
    erases = np.bincount(half_erased["block"] // int(params["blocks"]) % dies, minlength=dies)
    return busy + erases * device.timing.erase_ns
