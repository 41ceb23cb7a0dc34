"""Features of the page that is placed, whether the host writes it or garbage collection relocates it.

Ages and intervals are log4(10 * host pages / logical pages), as in `log_age_closed`.
"""

from __future__ import annotations

from math import log2

from ssdgym.engine.core.kernel import inlined
from ssdgym.envs.features.registry import Setting, always, clip, feature
from ssdgym.policy.page_history import GROUP, SLOW, faded, log_age, log_pages

_LOG = "factors of four"


def _host_and_relocated(setting: Setting) -> bool:
    """Return whether decisions are about both host pages and relocated pages, and nothing else."""
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
    """Return log4(10 * host pages since the host last wrote the page / logical pages).

    For a page that was never written, it is the age of the device.
    """
    return clip(log_age(view, view.page_memory[page.lpn].written), -16.0, 16.0)


@feature(unit=_LOG, low=-16.0, high=16.0, default=always)
def page_interval(view, page):
    """Return log4(10 * host pages between the page's last two host writes / logical pages), 8 if unknown."""
    interval = view.page_memory[page.lpn].interval
    return _log_pages(view, interval) if interval > 0.0 else 8.0


@feature(unit=_LOG, low=-16.0, high=16.0, default=always)
def page_interval_before(view, page):
    """Return `page_interval` between the third-last and second-last host write of the page, 8 if unknown."""
    interval = view.page_memory[page.lpn].earlier
    return _log_pages(view, interval) if interval > 0.0 else 8.0


@feature(unit="factors of two", high=32.0, default=always)
def page_updates(view, page):
    """Return log2(1 + host writes of the page), a count that halves in (logical pages) host pages."""
    own = view.page_memory[page.lpn]
    return clip(log2(1.0 + faded(view, own.updates, own.written, 1.0)), 0.0, 32.0)


@feature(unit="factors of two", high=32.0, default=always)
def page_group_updates(view, page):
    """Return `page_updates` for the mean count of the page's aligned group of 16 logical pages."""
    group = view.page_memory[page.lpn - page.lpn % GROUP]
    return clip(log2(1.0 + faded(view, group.group_updates, group.grouped, 1.0) / GROUP), 0.0, 32.0)


@feature(unit="factors of two", high=32.0, default=always)
def page_moves(view, page):
    """Return log2(1 + relocations of the page since the host last wrote it)."""
    return log2(1.0 + view.page_memory[page.lpn].moves)


@feature(unit=_LOG, low=-16.0, high=16.0, default=always)
def page_block_age(view, page):
    """Return log4(10 * host pages since the block that holds the page was closed / logical pages).

    It is the age of the device if no block holds the page.
    """
    closed = view.block[page.block].closed_at if page.block >= 0 else 0
    return _log_pages(view, view.control[0].clock - closed + 1.0)


@feature(unit="stream", low=-1.0, high=15.0, default=always)
def page_stream(view, page):
    """Return the number of the stream whose block holds the page; -1 if there is none."""
    return float(page.stream)


@feature()
def page_new(view, page):
    """Return 1 if the host has never written the page, else 0."""
    return 1.0 if view.page_memory[page.lpn].written == 0 else 0.0


@inlined
def _interval_or_age(view, own):
    if own.interval > 0.0:
        return _log_pages(view, own.interval)
    # A page that was written once is expected to live for twice the logical pages, or for its age if longer.
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
    """Return `page_updates` for a count that halves 8 times as slowly."""
    own = view.page_memory[page.lpn]
    return clip(log2(1.0 + faded(view, own.slow_updates, own.written, SLOW)), 0.0, 32.0)


@feature(unit="factors of two", high=32.0)
def page_net_updates(view, page):
    """Return log2(1 + d): a host write of the page adds 1 to d, a relocation subtracts 1, down to 0."""
    return log2(1.0 + view.page_memory[page.lpn].net_updates)


@feature(unit=_LOG, low=-16.0, high=16.0)
def page_group_age(view, page):
    """Return `page_age` of the most recently written page in the page's aligned group of 16 logical pages.

    It is the age of the device if the group was never written.
    """
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
    """Return log2 of the number of pages in the host's request; 0 for a relocated page."""
    return 0.0 if page.relocated else log2(max(view.control[0].request_pages, 1))
