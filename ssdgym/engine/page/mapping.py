"""The page-mapping flash translation layer: what a host page does to the maps.

Everything here happens at one instant; time is the business of :mod:`ssdgym.engine.page.event_loop`.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.manager import check_page, count_invalid, invalidate
from ssdgym.engine.core.bits import quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel, merged
from ssdgym.engine.page.placement import place_host, prefetch_host
from ssdgym.engine.speedupgc.groups import ANYTHING


@merged
def host_program(dev, geometry, run, plane, lpn, version):
    """Program a host page with the version it was admitted with; returns its page number, -1 when out of
    space.
    """
    prefetch_host(dev, geometry, run, plane)
    logical = dev.logical[lpn]
    newest = version > logical.version
    if newest:
        if logical.ppn >= 0:
            invalidate(dev, geometry, run.clock, np.int64(logical.ppn))
        dev.plane[plane].valid += 1
    ppn = place_host(dev, geometry, run, plane, lpn, version, newest)
    if ppn < 0:
        return -1
    if newest:
        logical.ppn = ppn
        logical.version = version
    else:
        count_invalid(dev, geometry, ppn, ANYTHING)
    run.clock += 1
    run.host_pages_written += 1
    run.host_plane = plane
    return ppn


@inlined
def host_read(dev, run, lpn):
    """Read a mapped page of the host from flash."""
    check_page(dev, run, lpn, np.int64(dev.logical[lpn].ppn))


@kernel
def host_trim(dev, geometry, run, lpn):
    """Forget a logical page, and whatever versions of it are on their way."""
    logical = dev.logical[lpn]
    if logical.ppn >= 0:
        invalidate(dev, geometry, run.clock, np.int64(logical.ppn))
        logical.ppn = -1
    logical.version += dev.ahead[lpn] + 1
    dev.ahead[lpn] = 0
    run.host_pages_trimmed += 1


@inlined
def has_room(dev, geometry, plane):
    """Dynamic and late allocation: may one more valid page be written to this plane?"""
    return dev.plane[plane].valid < geometry.valid_limit


@inlined
def plane_from_cursor(dev, geometry, die_number, k):
    """The ``k``-th plane of a die from its plane cursor upwards, wrapping."""
    within = remainder(dev.die[die_number].plane_cursor + k, geometry.planes_per_die)
    return within * geometry.dies + die_number


@inlined
def bind_plane(dev, geometry, die_number):
    """Dynamic and late allocation: the die's next plane with room for a valid page, or -1."""
    for k in range(geometry.planes_per_die):
        plane = plane_from_cursor(dev, geometry, die_number, k)
        if has_room(dev, geometry, plane):
            return np.int64(plane)
    return np.int64(-1)


@inlined
def pass_plane(dev, geometry, plane):
    """Move the plane cursor of a die behind the plane that has been bound."""
    die = dev.die[remainder(plane, geometry.dies)]
    die.plane_cursor = remainder(quotient(plane, geometry.dies) + 1, geometry.planes_per_die)


@kernel
def bind_die(dev, geometry, run):
    """Dynamic allocation (late, where no time passes): the die that should be idle first; the cursor moves
    behind it.
    """
    best = np.int64(run.die_cursor)
    best_time = max(dev.die[best].estimate_ns, run.now)
    for k in range(1, geometry.dies):
        die = remainder(run.die_cursor + k, geometry.dies)
        time = max(dev.die[die].estimate_ns, run.now)
        if time < best_time:
            best, best_time = die, time
    run.die_cursor = remainder(best + 1, geometry.dies)
    return best


@kernel
def emptiest_plane(dev, geometry):
    """The plane with the fewest valid pages."""
    best = 0
    for plane in range(1, geometry.planes):
        if dev.plane[plane].valid < dev.plane[best].valid:
            best = plane
    return best
