"""A tracker that records the history of each page and of the pages in each stream, for features of agents.

The records of a page contain how often and when the host has written it and its neighbours (see `GROUP`).
"""

from math import log2

from ssdgym.engine.core.kernel import helper as kernel
from ssdgym.policy.decorators import tracker

#: A group is this number of consecutive logical pages. Its fields are in the record of its first page.
GROUP = 16
#: Each page programmed in a stream has the weight 1 / 64 in the moving means of the stream.
_LATELY = 64.0
#: The argument `halving` of `faded` for `slow_updates`.
SLOW = 8.0

page_history = tracker(
    "page_history",
    source="The intervals and counts that PHFTL, ML-DT and DOGI (FAST 2026) choose their features among",
    page=[
        ("written", "i8"),  # clock of the last host write of the page, from 1; 0 = never written
        ("grouped", "i8"),  # clock of the last host write to the group
        ("interval", "f4"),  # host pages between the last two host writes; 0 = fewer than two writes
        ("earlier", "f4"),  # `interval` before the last host write
        ("updates", "f4"),  # number of host writes, reduced by `faded` with `halving` 1
        ("slow_updates", "f4"),  # number of host writes, reduced by `faded` with `halving` `SLOW`
        ("net_updates", "i4"),  # host writes minus relocations; a relocation never lowers it below 0
        ("group_updates", "f4"),  # `updates` of the whole group
        ("moves", "i4"),  # relocations since the last host write
    ],
    stream=[
        ("age", "f4"),  # moving mean of the `log_age` of the pages programmed in the stream
        ("relocated", "f4"),  # moving share of these pages that were relocated pages
    ],
    memory=[
        ("interval", "f4"),  # moving mean of `log_pages(interval)` over all host writes
        ("surprise", "f4"),  # moving mean of abs(log_pages(interval) - log_pages(earlier))
    ],
)


@kernel
def faded(view, count, since, halving):
    """Return `count` reduced since clock `since`: to a half after `halving * logical_pages` host pages."""
    return count / (1.0 + (view.control[0].clock - since) / (halving * view.params[0].logical_pages))


@kernel
def log_pages(view, pages):
    """Return log4(10 * max(pages, 1) / logical pages) of a number of host pages."""
    return log2(10.0 * max(pages, 1.0) / view.params[0].logical_pages) / 2.0


@kernel
def _note_interval(view, own):
    """Update the moving means of `memory` with the last write interval of a page."""
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
