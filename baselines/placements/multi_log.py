"""MultiLog: a page moves one log up when it is rewritten soon, and one down whenever it is relocated."""

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
    """Put a page into the log of its level, 0 (hottest) to 5; its level is the stream of the block it is in.

    The first write of a page, or the first one after a trim, goes to level 0. Another write moves a page of
    level 1 or more one level up (hotter) with the probability `1 - u / x`, if that is above 0. Here `u` is
    the number of host pages since the page was last written; `x` is half of the valid pages of its level,
    times the share of valid pages in all blocks collected from that level. Before a block is collected no
    page moves up. The random number is draw `lpn` of the decision `clock`, of the stream for host pages.

    A relocated page goes down a level. From the last level in use it goes to a new level if there are fewer
    than six and the last level has at least a block of valid pages; otherwise it stays.

    (The paper also chooses which level gives a victim, by its share of the spare pages; here the victim rule
    does.)
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
    """Return whether a page written again has lived so briefly in its level that it moves up."""
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
    """Store the clock after the write of the page: 1 for the first page of the host."""
    view.page_memory[lpn].written = view.control[0].clock


@multi_log.on("opened")
def opened(view, plane, block, parameters):
    """Store the number of the last level in use."""
    memory = view.memory[0]
    memory.last = max(memory.last, min(view.block[block].stream, _LEVELS - 1))


@multi_log.on("collected")
def collected(view, plane, block, parameters):
    """Add the pages of the victim to those collected from its level."""
    memory, record = view.memory[0], view.block[block]
    level = min(record.stream, memory.last)
    memory.pages[level] += record.written
    memory.invalid[level] += record.invalid
