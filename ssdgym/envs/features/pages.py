"""Features of the page that is placed ("the page"): the host writes it, or garbage collection relocates it.

Ages and intervals are counted in host pages, the pages that the host has written to the whole device. If an
age is p host pages, the feature is log4(10 p / logical pages). If a page or group was never written, or no
block holds the page, the age is the number of all host pages so far.
"""

from __future__ import annotations

from math import log2

from ssdgym.engine.core.kernel import inlined
from ssdgym.envs.features.registry import Setting, always, clip, feature
from ssdgym.policy.page_history import GROUP, SLOW, faded, log_age, log_pages

_LOG = "factors of four"


def _host_and_relocated(setting: Setting) -> bool:
    """Return whether the agent decides about host pages and relocated pages, and about nothing else."""
    return set(setting.kinds) == {"PLACE", "RELOCATE"}


@inlined
def _log_pages(view, pages):
    """Return log4(10 * pages / logical pages), clipped to -16 and 16; `pages` counts as at least 1."""
    return clip(log_pages(view, pages), -16.0, 16.0)


@feature(default=_host_and_relocated)
def page_relocated(view, page):
    """Return 1 if garbage collection relocates the page, 0 if the host writes it."""
    return float(page.relocated)


@feature(unit=_LOG, low=-16.0, high=16.0, default=always)
def page_age(view, page):
    """Return log4(10 * host pages since the host last wrote the page / logical pages)."""
    return clip(log_age(view, view.page_memory[page.lpn].written), -16.0, 16.0)


@feature(unit=_LOG, low=-16.0, high=16.0, default=always)
def page_interval(view, page):
    """Return log4(10 * host pages between the page's last two host writes / logical pages), 8 if unknown."""
    interval = view.page_memory[page.lpn].interval
    return _log_pages(view, interval) if interval > 0.0 else 8.0


@feature(unit=_LOG, low=-16.0, high=16.0, default=always)
def page_interval_before(view, page):
    """Return the `page_interval` from the third-last to the second-last host write; 8 if unknown."""
    interval = view.page_memory[page.lpn].earlier
    return _log_pages(view, interval) if interval > 0.0 else 8.0


@feature(unit="factors of two", high=32.0, default=always)
def page_updates(view, page):
    """Return log2(1 + c): c counts the page's host writes, and halves every (logical pages) host pages."""
    own = view.page_memory[page.lpn]
    return clip(log2(1.0 + faded(view, own.updates, own.written, 1.0)), 0.0, 32.0)


@feature(unit="factors of two", high=32.0, default=always)
def page_group_updates(view, page):
    """Return log2(1 + mean of c in the page's aligned group of 16 logical pages): c as in `page_updates`."""
    group = view.page_memory[page.lpn - page.lpn % GROUP]
    return clip(log2(1.0 + faded(view, group.group_updates, group.grouped, 1.0) / GROUP), 0.0, 32.0)


@feature(unit="factors of two", high=32.0, default=always)
def page_moves(view, page):
    """Return log2(1 + relocations of the page since the host last wrote it)."""
    return log2(1.0 + view.page_memory[page.lpn].moves)


@feature(unit=_LOG, low=-16.0, high=16.0, default=always)
def page_block_age(view, page):
    """Return log4(10 * host pages since the block that holds the page was closed / logical pages)."""
    closed = view.block[page.block].closed_at if page.block >= 0 else 0
    return _log_pages(view, view.control[0].clock - closed + 1.0)


@feature(unit="stream", low=-1.0, high=15.0, default=always)
def page_stream(view, page):
    """Return the number of the stream whose block holds the page; -1 if no block holds it."""
    return float(page.stream)


@feature()
def page_new(view, page):
    """Return 1 if the host has never written the page, else 0."""
    return 1.0 if view.page_memory[page.lpn].written == 0 else 0.0


@inlined
def _interval_or_age(view, own):
    if own.interval > 0.0:
        return _log_pages(view, own.interval)
    # Without an interval, the expected interval is the page's age, but at least 2 * logical pages.
    return _log_pages(
        view, max(view.control[0].clock - own.written + 1.0, 2.0 * view.params[0].logical_pages)
    )


@feature(unit=_LOG, low=-16.0, high=16.0)
def page_expected_interval(view, page):
    """Return `page_interval` if known, else log4(10 * max(age, 2 * logical pages) / logical pages)."""
    return _interval_or_age(view, view.page_memory[page.lpn])


@feature(unit=_LOG, low=-16.0, high=16.0)
def page_expected_before(view, page):
    """Return `page_interval_before` if known, else `page_expected_interval`."""
    own = view.page_memory[page.lpn]
    return _log_pages(view, own.earlier) if own.earlier > 0.0 else _interval_or_age(view, own)


@feature(unit="factors of two", high=32.0)
def page_slow_updates(view, page):
    """Return log2(1 + c) as `page_updates`, but c halves every (8 * logical pages) host pages."""
    own = view.page_memory[page.lpn]
    return clip(log2(1.0 + faded(view, own.slow_updates, own.written, SLOW)), 0.0, 32.0)


@feature(unit="factors of two", high=32.0)
def page_net_updates(view, page):
    """Return log2(1 + d): a host write of the page adds 1 to d, a relocation subtracts 1 if d is above 0."""
    return log2(1.0 + view.page_memory[page.lpn].net_updates)


@feature(unit=_LOG, low=-16.0, high=16.0)
def page_group_age(view, page):
    """Return `page_age` of the most recently written page in the page's aligned group of 16 logical pages."""
    return clip(log_age(view, view.page_memory[page.lpn - page.lpn % GROUP].grouped), -16.0, 16.0)


@feature(unit=_LOG, low=-16.0, high=16.0)
def intervals_mean(view, page):
    """Return the moving average of `page_interval` over the host writes of all pages."""
    return clip(view.memory[0].interval, -16.0, 16.0)


@feature(unit=_LOG, high=32.0)
def intervals_differ(view, page):
    """Return the moving average, over host writes, of |`page_interval` - `page_interval_before`|."""
    return clip(view.memory[0].surprise, 0.0, 32.0)


@feature(unit="factors of two", high=32.0)
def request_pages(view, page):
    """Return log2(number of pages in the request that writes the page); 0 for a relocated page."""
    return 0.0 if page.relocated else log2(max(view.control[0].request_pages, 1))
