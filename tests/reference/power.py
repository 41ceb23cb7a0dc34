"""Recovery from a power cut as one would write it down: look at every page, keep the newest of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

#: What a page was programmed with: its logical page and the version, below 1 for nothing good; None = erased.
Content = tuple[int, int] | None


def recovered_map(blocks: Sequence[Sequence[Content]]) -> dict[int, tuple[int, int]]:
    """Return for each logical page that is found the number of its page, and the version.

    Args:
        blocks: of each block the contents of its pages, in order; all of the same length.
    """
    copies: dict[int, list[tuple[int, int]]] = defaultdict(list)  # version and page
    for block, contents in enumerate(blocks):
        for place, content in enumerate(contents):
            if content is not None and content[1] > 0:
                copies[content[0]].append((content[1], block * len(contents) + place))
    newest = {
        lpn: [page for version, page in found if version == max(found)[0]] for lpn, found in copies.items()
    }
    only_there: dict[int, int] = defaultdict(int)
    for pages in newest.values():
        if len(pages) == 1:
            only_there[pages[0] // len(blocks[0])] += 1

    def rank(page: int) -> tuple[int, int, int]:
        block = page // len(blocks[0])
        return -sum(content is None for content in blocks[block]), -only_there[block], page

    return {lpn: (min(pages, key=rank), max(copies[lpn])[0]) for lpn, pages in newest.items()}
