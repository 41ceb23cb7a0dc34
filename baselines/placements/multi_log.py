"""MultiLog: a page moves one log up if it is rewritten soon, and one log down whenever it is relocated."""

import numpy as np

from ssdgym.policy import HOST_PLACEMENT_STREAM, MAX_STREAMS, draw, kernel, placement_policy

_LEVELS = 6


@placement_policy(
    "multi_log",
    source="Stoica and Ailamaki, VLDB 2013, without its choice of victims; in the form of SepBIT, FAST 2022",
    streams=_LEVELS,
    relocation_streams=_LEVELS,
    page=[("written", "i8")],
    memory=[("last", "i8"), ("pages", "i8", (_LEVELS,)), ("invalid", "i8", (_LEVELS,))],
)
def multi_log(view, plane, lpn, source, parameters):
    """Put a page into the log of its level, 0 (hottest) to 5. The level is the stream of the page's block.

    The first write of a page, or its first write after a trim, goes to level 0. Any other write moves a page
    one level up (to a hotter level) with the probability `1 - u / x`, if it is above 0. `u` is the number of
    host pages since the page was last written. `x` is half of the valid pages of its level, times the share
    of valid pages in all blocks collected from the level. Until a block of the level is collected, no page of
    the level moves up. The random number is draw `lpn` of random stream 4 and decision `clock`.

    A relocated page goes one level down. A page of the last level in use opens a new level if the last level
    has as many valid pages as a block has pages, and fewer than six levels are in use. Otherwise it stays.

    (In the paper the level from which a victim is chosen depends on its share of the spare pages. Here the
    victim rule chooses among all levels.)
    """
    memory = view.memory[0]
    page = source if source >= 0 else view.logical[lpn].ppn
    if page < 0:
        return 0
    level = min(view.block[page // view.params[0].pages_per_block].stream, memory.last)
    if source < 0:
        return level - 1 if level > 0 and _moves_up(view, lpn, level) else level
    if level < memory.last:
        return level + 1
    is_full = _valid_pages(view, level) >= view.params[0].pages_per_block
    return level + 1 if is_full and level + 1 < _LEVELS else level


@kernel
def _valid_pages(view, level):
    """Return the valid pages of a level in all planes."""
    valid = 0
    for plane in range(view.params[0].planes):
        valid += view.stream[plane * MAX_STREAMS + level].valid
    return valid


@kernel
def _moves_up(view, lpn, level):
    """Return whether the present write of a page moves it up from its level."""
    memory, clock = view.memory[0], view.control[0].clock
    if memory.pages[level] == 0:
        return False
    share = 1.0 - memory.invalid[level] / memory.pages[level]
    expected = _valid_pages(view, level) * share / 2.0
    interval = clock + 1 - view.page_memory[lpn].written
    if interval >= expected:
        return False
    bits = draw(view.params[0].seed, HOST_PLACEMENT_STREAM, clock, lpn)
    return (bits >> np.uint64(11)) * 2.0**-53 < 1.0 - interval / expected


@multi_log.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Store the clock after the write, which is at least 1."""
    view.page_memory[lpn].written = view.control[0].clock


@multi_log.on("opened")
def opened(view, plane, block, parameters):
    """Store the number of the last level in use."""
    memory = view.memory[0]
    memory.last = max(memory.last, min(view.block[block].stream, _LEVELS - 1))


@multi_log.on("collected")
def collected(view, plane, block, parameters):
    """Add the written and the invalid pages of the victim to the sums of its level."""
    memory, record = view.memory[0], view.block[block]
    level = min(record.stream, memory.last)
    memory.pages[level] += record.written
    memory.invalid[level] += record.invalid
