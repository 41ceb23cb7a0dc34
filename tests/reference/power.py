"""Recovery from a power cut as one would write it down: look at every page, keep the newest of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple


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
    newest = {copy.lpn: max(other.version for other in copies if other.lpn == copy.lpn) for copy in copies}
    left = [copy for copy in copies if copy.version == newest[copy.lpn]]
    of_page, of_lpn = Counter(copy.page for copy in left), Counter(copy.lpn for copy in left)
    only_there: dict[int, int] = defaultdict(int)
    for copy in left:
        only_there[copy.block] += of_lpn[copy.lpn] == 1

    def rank(copy: Copy) -> tuple[int, ...]:
        preferred = 0 if not grouped or copy.in_region else 1 + of_page[copy.page]
        return -preferred, -room[copy.block], -only_there[copy.block], copy.place

    found = {}
    for lpn, version in newest.items():
        found[lpn] = (min((copy for copy in left if copy.lpn == lpn), key=rank).place, version)
    return found
