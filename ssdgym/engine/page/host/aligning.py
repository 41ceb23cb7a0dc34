"""Which plane of a die takes the next page of the host: the next one in turn, or the one whose row lags."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.binding import bind_plane, has_room, plane_from_cursor
from ssdgym.engine.blocks.manager import row_of
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.page.host.placement import HOST_STREAM


@inlined
def _lag(params, row, other):
    """Return by how many rows `row` lags behind another one, at most half a block either way."""
    half = np.int64(params.pages_per_block) // 2
    return (other - row + half) % np.int64(params.pages_per_block) - half


@kernel
def _lagging_plane(dev, die_number):
    """Return the plane of a die with room whose row lags most; -1 where none has a row."""
    params = dev.params[0]
    best, largest, first_row = np.int64(-1), np.int64(0), np.int64(-1)
    for k in range(params.planes_per_die):
        plane = np.int64(plane_from_cursor(dev, die_number, k))
        row = np.int64(row_of(dev, plane, HOST_STREAM)) if has_room(dev, plane) else np.int64(-1)
        if row < 0:
            continue
        if best < 0:
            best, first_row = plane, row
        lag = _lag(params, row, first_row)
        if lag > largest:
            best, largest = plane, lag
    return best


@inlined
def plane_for_host(dev, die_number):
    """Return the plane of a die for the next page of the host, -1 for none (dynamic and late allocation)."""
    plane = bind_plane(dev, die_number)
    if dev.params[0].aligned_rows and plane >= 0:
        lagging = np.int64(_lagging_plane(dev, die_number))
        return lagging if lagging >= 0 else plane
    return plane
