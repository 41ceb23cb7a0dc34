"""A tracker of the history of each page and of the pages in each stream, for features of agents.

The records of a page say how often and when the host has written it, and how its neighbours were written.
They are updated when events happen, so they contain nothing from the future.
"""

from math import log2

from ssdgym.engine.core.kernel import helper as kernel
from ssdgym.policy.decorators import tracker

#: Logical pages of an aligned group, whose writes are counted together.
GROUP = 16
#: Time constant of the moving means of a stream, in pages written to it.
_LATELY = 64.0
#: Slow counts of updates halve after this many times the logical pages have been written.
SLOW = 8.0

page_history = tracker(
    "page_history",
    source="The intervals and counts that PHFTL, ML-DT and DOGI (FAST 2026) choose their features among",
    page=[
        ("written", "i8"),  # clock of the last host write, from 1; 0 = never
        ("grouped", "i8"),  # of the first page of a group: clock of the last write to the group
        ("interval", "f4"),  # host pages between the last two host writes; 0 = there were none
        ("earlier", "f4"),  # the interval before that
        ("updates", "f4"),  # number of host writes, of which older ones count less
        ("slow_updates", "f4"),  # as `updates`, but older writes lose weight more slowly
        ("net_updates", "i4"),  # host writes minus relocations, never below 0
        ("group_updates", "f4"),  # of the first page of a group: `updates` of the whole group
        ("moves", "i4"),  # relocations since the last host write
    ],
    stream=[
        ("age", "f4"),  # moving mean of the `log_age` of pages written to the stream
        ("relocated", "f4"),  # moving mean of the share of these pages that were relocated
    ],
    memory=[
        ("interval", "f4"),  # moving mean of the write intervals of pages, as `log_pages`
        ("surprise", "f4"),  # moving mean of the difference between intervals of a page, as `log_pages`
    ],
)


@kernel
def faded(view, count, since, halving):
    """Return a count that fades: half of it is left after `halving` times the logical pages are written."""
    return count / (1.0 + (view.control[0].clock - since) / (halving * view.params[0].logical_pages))


@kernel
def log_pages(view, pages):
    """Return log4 of a number of host pages, at least 1, in tenths of the logical pages."""
    return log2(10.0 * max(pages, 1.0) / view.params[0].logical_pages) / 2.0


@kernel
def _note_interval(view, own):
    """Add the last write interval of a page to the statistics of all intervals."""
    memory, share = view.memory[0], SLOW / view.params[0].logical_pages
    interval = log_pages(view, own.interval)
    memory.interval += (interval - memory.interval) * share
    if own.earlier > 0.0:
        difference = abs(interval - log_pages(view, own.earlier))
        memory.surprise += (difference - memory.surprise) * share


@kernel
def log_age(view, written):
    """Return `log_pages` of 1 plus the number of host pages written since a page was written.

    For a page that was never written, this is the age of the device.
    """
    return log_pages(view, view.control[0].clock - written + 1.0)


@kernel
def _note_in_stream(view, plane, page, age, relocated):
    params = view.params[0]
    stream = view.block[page // params.pages_per_block].stream
    own = view.stream_memory[plane * params.streams + stream]
    own.age += (age - own.age) / _LATELY
    own.relocated += (relocated - own.relocated) / _LATELY


@page_history.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Record a host write."""
    clock = view.control[0].clock
    own, group = view.page_memory[lpn], view.page_memory[lpn - lpn % GROUP]
    _note_in_stream(view, plane, page, log_age(view, own.written), 0.0)
    group.group_updates = faded(view, group.group_updates, group.grouped, 1.0) + 1.0
    group.grouped = clock
    if own.written > 0:
        own.earlier = own.interval
        own.interval = clock - own.written
        _note_interval(view, own)
    own.slow_updates = faded(view, own.slow_updates, own.written, SLOW) + 1.0
    own.updates = faded(view, own.updates, own.written, 1.0) + 1.0
    own.net_updates += 1
    own.written = clock
    own.moves = 0


@page_history.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Record a relocation by garbage collection."""
    own = view.page_memory[lpn]
    own.moves += 1
    own.net_updates = max(own.net_updates - 1, 0)
    _note_in_stream(view, plane, page, log_age(view, own.written), 1.0)
