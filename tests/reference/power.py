"""Recovery from a power cut as one would write it down: look at every page, keep the newest of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .lifetime import ERASE
from .randomness import draw


class Copy(NamedTuple):
    """A page that has been programmed for good, or a subpage of one.

    Attributes:
        lpn: its logical page.
        version: of the data.
        place: its number.
        page: the page of flash that it is in.
        block: the block.
        in_region: whether that is one of a region of small writes.
    """

    lpn: int
    version: int
    place: int
    page: int
    block: int
    in_region: bool = False


def recovered_map(
    copies: Sequence[Copy], room: Mapping[int, int], *, grouped: bool = False
) -> dict[int, tuple[int, int]]:
    """Return for each logical page that is found the number of its page, and the version.

    Args:
        copies: all there are.
        room: unwritten pages of each block.
        grouped: whether what is written together belongs together: the sub-page family, but for `fgm`.
    """
    newest: dict[int, int] = {}
    for copy in copies:
        newest[copy.lpn] = max(copy.version, newest.get(copy.lpn, copy.version))
    left = [copy for copy in copies if copy.version == newest[copy.lpn]]
    of_page, of_lpn = Counter(copy.page for copy in left), Counter(copy.lpn for copy in left)
    only_there: dict[int, int] = defaultdict(int)
    for copy in left:
        only_there[copy.block] += of_lpn[copy.lpn] == 1

    def rank(copy: Copy) -> tuple[int, ...]:
        preferred = 0 if not grouped or copy.in_region else 1 + of_page[copy.page]
        return -preferred, -room[copy.block], -only_there[copy.block], copy.place

    best: dict[int, Copy] = {}
    for copy in left:
        best[copy.lpn] = min(copy, best.get(copy.lpn, copy), key=rank)
    return {lpn: (copy.place, copy.version) for lpn, copy in best.items()}


class WornTable(NamedTuple):
    """What flash says of worn cells.

    Attributes:
        worn: blocks that are worn, the retired ones among them.
        retired: blocks.
        erases: of each sub-block in its life.
        in_region: blocks of the regions of small writes.
    """

    worn: frozenset[int]
    retired: frozenset[int]
    erases: tuple[int, ...]
    in_region: frozenset[int] = frozenset()


def recovered_table(
    before: WornTable,
    erased_again: Sequence[int],
    strained: Sequence[int],
    written: Mapping[int, int],
    limits: Sequence[int],
    *,
    seed: int,
    mean: float,
    erase_failure: tuple[float, float],
    blocks_per_plane: int,
) -> WornTable:
    """Return the table after the recovery: an erase that is done again is one more, and may be the last.

    An erased block of the main area that is worn is retired. One of a region is, too, if an erased block of
    its plane is left to take its place, that with fewest erases; else it stays, and the life is over (L14).

    Args:
        before: the table when power was cut.
        erased_again: sub-blocks.
        strained: those beside, where that wears.
        written: pages of each block that are found.
        limits: erases that each sub-block endures.
        seed, mean, erase_failure: of the device, its endurance, the chances fresh and at the mean.
        blocks_per_plane: of all, in the region or not.
    """
    erases, worn, retired = list(before.erases), set(before.worn), set(before.retired)
    per_block = len(erases) // len(written)
    fresh, old = erase_failure
    for sub in erased_again:
        assert sub // per_block not in before.worn, "a worn block is not erased again"
        erases[sub] += 1
        drawn = (draw(seed, ERASE, sub, erases[sub]) >> 11) / 2**53
        if drawn < fresh + (old - fresh) * (erases[sub] / mean) or erases[sub] >= limits[sub]:
            worn.add(sub // per_block)
    for sub in strained:
        erases[sub] += 1
        if erases[sub] >= limits[sub]:
            worn.add(sub // per_block)
    erased, in_region = {block for block in written if written[block] == 0}, set(before.in_region)
    retired |= (worn & erased) - in_region
    for block in sorted(worn & erased & in_region):
        first = block - block % blocks_per_plane
        pool = set(range(first, first + blocks_per_plane)) & erased - worn - in_region
        if pool:
            in_region.remove(block)
            in_region.add(min(pool, key=lambda other: (erases[other], other)))
            retired.add(block)
    return WornTable(frozenset(worn), frozenset(retired), tuple(erases), frozenset(in_region))
