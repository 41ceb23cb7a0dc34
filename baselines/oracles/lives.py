"""Common code of placements that are given the future. Data dies when it is overwritten or trimmed."""

from typing import Any

import numpy as np

from ssdgym.policy import kernel

#: Time of death of data that never dies: a clock that no device reaches.
NEVER = 2**40


def sums_over_blocks(view: Any, values: np.ndarray) -> np.ndarray:
    """Return for each block the sum of `values`, (logical pages,), over its valid pages, int64 (blocks,)."""
    mapped = view.logical.ppn >= 0
    blocks = view.logical.ppn[mapped] // int(view.params[0].pages_per_block)
    sums = np.zeros(len(view.block_memory), np.int64)
    np.add.at(sums, blocks, values[mapped])
    return sums


@kernel
def stream_of_life(view, life, first, ratio, streams):
    """Return the stream, 0 to `streams - 1`, of data that dies after `life` more host pages are written.

    Stream `i` ends, and the next one begins, at a life of `first * ratio**i * logical_pages`.
    """
    bound = first * view.params[0].logical_pages
    stream = 0
    while stream < streams - 1 and bound <= life:
        bound *= ratio
        stream += 1
    return stream


def keep_sums(rule: Any, value: str, total: str) -> tuple[Any, Any]:
    """Make a rule keep, in field `total` of each block, the sum of field `value` of the block's valid pages.

    It registers hooks of `relocated` and `trimmed`, and returns two kernels for the rule's hook of `written`.
    (view, lpn, old_page) subtracts the page's value from the block of `old_page`, if that is not -1. (view,
    lpn, old_page, page) also adds the value to the block of `page`.
    """

    @kernel
    def take_out(view, lpn, old_page):
        if old_page >= 0:
            block = view.block_memory[old_page // view.params[0].pages_per_block]
            block[total] -= view.page_memory[lpn][value]

    @kernel
    def move(view, lpn, old_page, page):
        take_out(view, lpn, old_page)
        view.block_memory[page // view.params[0].pages_per_block][total] += view.page_memory[lpn][value]

    @rule.on("relocated")
    def relocated(view, plane, lpn, old_page, page, parameters):
        move(view, lpn, old_page, page)

    @rule.on("trimmed")
    def trimmed(view, plane, lpn, old_page, page, parameters):
        take_out(view, lpn, old_page)

    return take_out, move
