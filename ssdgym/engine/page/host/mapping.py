"""The page-mapping flash translation layer: what a host page does to the maps.

Everything here happens at one instant; time is the business of [`event_loop`][ssdgym.engine.page.event_loop].
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.books import ANYTHING, prefetch_holder
from ssdgym.engine.blocks.manager import count_invalid, count_valid, invalidate
from ssdgym.engine.core.kernel import inlined, kernel, prefetch
from ssdgym.engine.decisions import TRIMMED, WRITTEN, page_event
from ssdgym.engine.flash.addresses import plane_of
from ssdgym.engine.flash.cells import check_page
from ssdgym.engine.page.host.buffer import drop_page
from ssdgym.engine.page.host.placement import place_host, prefetch_host
from ssdgym.requests import WRITE

#: Requests in advance of which memory is fetched.
_AHEAD = 4


@inlined
def prefetch_requests(dev, requests):
    """Fetch the memory of the first pages of two requests that are still to come (a flush has none)."""
    cursor = dev.control[0].cursor
    if cursor + 2 * _AHEAD >= requests.shape[0]:
        return
    soon, later = requests[cursor + _AHEAD], requests[cursor + 2 * _AHEAD]
    prefetch(dev.logical, np.int64(later.lpn))
    if dev.params[0].timed:
        prefetch(dev.promised, np.int64(later.lpn))
    if soon.op == WRITE:
        prefetch_holder(dev, np.int64(soon.lpn))


@inlined
def host_program(dev, plane, stream, lpn, version):
    """Program a host page with the version it was admitted with.

    Returns:
        Its page number, -1 when out of space.
    """
    control = dev.control[0]
    prefetch_host(dev, plane)
    logical = dev.logical[lpn]
    old = np.int64(-1)
    newest = version > logical.version
    if newest:
        old = np.int64(logical.ppn)
        if old >= 0:
            invalidate(dev, control.clock, old)
        count_valid(dev, plane)
    ppn = np.int64(place_host(dev, plane, stream, lpn, version, newest))
    if ppn < 0:
        return -1
    if newest:
        logical.ppn = ppn
        logical.version = version
    else:
        count_invalid(dev, ppn, ANYTHING)
    control.clock += 1
    dev.counters[0].host_pages_written += 1
    control.host_plane = plane
    page_event(dev, WRITTEN, plane, lpn, old, ppn)
    return ppn


@inlined
def host_read(dev, lpn):
    """Read a mapped page of the host from flash."""
    check_page(dev, lpn, np.int64(dev.logical[lpn].ppn))


@kernel
def host_trim(dev, lpn):
    """Forget a logical page, and whatever versions of it are on their way."""
    control = dev.control[0]
    drop_page(dev, lpn)
    logical = dev.logical[lpn]
    old = np.int64(logical.ppn)
    if old >= 0:
        invalidate(dev, control.clock, old)
        logical.ppn = -1
        page_event(dev, TRIMMED, plane_of(dev.params[0], old), lpn, old, np.int64(-1))
    logical.version += dev.promised[lpn] + 1
    dev.promised[lpn] = 0
    dev.counters[0].host_pages_trimmed += 1
