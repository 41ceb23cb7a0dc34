"""Features of a write stream that a page can go to.

If the candidate is a sub-block of a block in the pool, the features describe this block as if it was open and
the only block of a stream.
"""

from __future__ import annotations

from math import log2

from ssdgym.envs.features.registry import Setting, always, clip, feature
from ssdgym.policy.on_device import beside_on
from ssdgym.policy.page_history import log_age


def _has_sub_blocks(setting: Setting) -> bool:
    """Return whether pages can go to sub-blocks of the pool."""
    return setting.has(lambda device: any(rule.targets for rule in beside_on(device).values()))


@feature(low=-1.0, default=always)
def stream_number(view, stream, page):
    """Return 2 k / (S - 1) - 1 for stream k of S streams, 0 to S - 1; 1 for a sub-block."""
    if stream.target > 0:
        return 1.0
    return 2.0 * stream.number / max(stream.streams - 1, 1) - 1.0


@feature(low=-1.0, default=always)
def stream_fill(view, stream, page):
    """Return 2 f - 1, where f is the written share of the stream's open block; -1 if none is open."""
    if stream.open == 0:
        return -1.0
    return clip(1.0 - 2.0 * stream.room / view.params[0].pages_per_block, -1.0, 1.0)


@feature(low=-1.0, default=always)
def stream_valid(view, stream, page):
    """Return 2 u - 1, where u is the valid share of the stream's written pages; 1 if there are none."""
    if stream.written <= 0:
        return 1.0
    return clip(2.0 * stream.valid / stream.written - 1.0, -1.0, 1.0)


@feature(low=-1.0, default=always)
def stream_blocks(view, stream, page):
    """Return 2 b - 1, where b is the share of the plane's blocks that belong to the stream."""
    return clip(2.0 * stream.blocks / view.params[0].blocks - 1.0, -1.0, 1.0)


@feature(unit="factors of four", low=-8.0, high=8.0, default=always)
def stream_age(view, stream, page):
    """Return log4(10 a / logical pages): a = mean host pages since its full blocks were closed; 0 if none."""
    full = stream.blocks - stream.open
    if full <= 0:
        return 0.0
    age = view.control[0].clock - view.stream[stream.slot].closed_sum / full + 1.0
    return clip(log2(max(10.0 * age / view.params[0].logical_pages, 1e-6)) / 2.0, -8.0, 8.0)


@feature(unit="factors of four", low=-16.0, high=16.0, default=always)
def stream_intake(view, stream, page):
    """Return the moving average of `page_age` of the pages that were written to the stream."""
    return clip(view.stream_memory[stream.own].age, -16.0, 16.0)


@feature(low=-1.0, default=always)
def stream_relocated(view, stream, page):
    """Return 2 r - 1, where r is the share of relocated pages among those lately written to the stream."""
    return clip(2.0 * view.stream_memory[stream.own].relocated - 1.0, -1.0, 1.0)


@feature(unit="factors of four", high=16.0, default=always)
def stream_gap(view, stream, page):
    """Return |`page_age` - `stream_intake`|: how far the page's age is from that of the stream's pages."""
    age = log_age(view, view.page_memory[page.lpn].written)
    return clip(abs(age - view.stream_memory[stream.own].age), 0.0, 16.0)


@feature(default=always)
def stream_holds_page(view, stream, page):
    """Return 1 if the present data of the page is in a block of the stream, else 0."""
    return 1.0 if stream.number == page.stream else 0.0


@feature(default=_has_sub_blocks)
def stream_pooled(view, stream, page):
    """Return 1 if the candidate is a sub-block of a block in the pool, 0 if it is a stream."""
    return 1.0 if stream.target > 0 else 0.0


@feature(default=_has_sub_blocks)
def stream_near_erase(view, stream, page):
    """Return the invalid pages of the sub-block's block / the most invalid pages of a block in the plane."""
    return clip(stream.near, 0.0, 1.0)


@feature(default=_has_sub_blocks)
def stream_in_best_set(view, stream, page):
    """Return 1 if the candidate is a sub-block in the erase set that is best for its block, else 0."""
    return 1.0 if stream.chosen else 0.0
