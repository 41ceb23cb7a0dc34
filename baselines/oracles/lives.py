"""What placements with the future of a run have in common: they put pages together that die together.

The run gives them, window by window, the time when the data of the next host pages dies, which the
memory of each page keeps. Without a run that is foreseen, as while a device is preconditioned, all data lives
on.
"""

from typing import Any

import numpy as np

from ssdgym.policy import kernel

#: Host pages of which it is known at a time when they die.
WINDOW = 4096
#: A number of host pages that no device gets to: when data dies that lives on.
NEVER = 2**40
#: What such a placement keeps of each page, and once.
PAGE_FIELDS = [("dies_at", "i8")]
MEMORY_FIELDS: list[Any] = [("deaths", "i8", (WINDOW,)), ("window_start", "i8")]


def note_future(view: Any, future: Any) -> bool:
    """Write to the memory of a placement when the data of the next window dies; at first, that of all pages.

    Returns:
        Whether a run begins, so that the placement has to compute its sums over pages again.
    """
    clock, memory = int(view.control[0].clock), view.memory[0]
    begins = future is None or future.start == clock
    memory.window_start = clock
    memory.deaths[:] = NEVER
    if begins:
        view.page_memory.dies_at = NEVER if future is None else future.first
    if future is not None:
        known = future.deaths[clock - future.start :][:WINDOW]
        memory.deaths[: len(known)] = known
    return begins


def sums_over_blocks(view: Any, values: np.ndarray) -> np.ndarray:
    """Return the sum over the valid pages of each block of values of logical pages, int64 (blocks,)."""
    mapped = view.logical.ppn >= 0
    blocks = view.logical.ppn[mapped] // int(view.params[0].pages_per_block)
    sums = np.zeros(len(view.block_memory), np.int64)
    np.add.at(sums, blocks, values[mapped])
    return sums


@kernel
def death_of(view, lpn, source):
    """Return the clock at which the data of a page dies; `source` is -1 for one of the host."""
    if source >= 0:
        return view.page_memory[lpn].dies_at
    return view.memory[0].deaths[view.control[0].clock - view.memory[0].window_start]


@kernel
def note_death(view, lpn):
    """Keep when the data dies of the page of the host that has just been written."""
    memory = view.memory[0]
    view.page_memory[lpn].dies_at = memory.deaths[view.control[0].clock - 1 - memory.window_start]


@kernel
def stream_of_life(view, life, first, ratio, streams):
    """Return the stream of data that lives on for `life` host pages: 0 for the shortest lives.

    The bounds between `streams` streams are `first`, `first * ratio`, `first * ratio**2`, ... of the logical
    pages.
    """
    bound = first * view.params[0].logical_pages
    stream = 0
    while stream < streams - 1 and bound <= life:
        bound *= ratio
        stream += 1
    return stream


def keep_sums(rule: Any, value: str, total: str) -> tuple[Any, Any]:
    """Let a rule keep in field `total` of each block the sum of field `value` of its valid pages.

    Relocation and trim are hooked. Returned are kernels for the hook of a write: (view, lpn, old_page) takes
    a page out of its block, (view, lpn, old_page, page) moves it to another one; -1 is no page.
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
