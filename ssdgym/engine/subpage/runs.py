"""Runs of subFTL: consecutive sectors in a write and the buffer. A run's length says where its sectors go."""

import numpy as np

from ssdgym.engine.core.bits import lowest_of
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.decisions import ASK_FLUSHES, PENDING, REGION, request_action
from ssdgym.engine.subpage.buffer import group_of, waiting_of
from ssdgym.requests import SYNC


@inlined
def _waits(dev, lpn):
    """Return whether a sector waits in the buffer."""
    group = group_of(dev, lpn)
    return waiting_of(dev, group) >> (lpn - group * dev.subpage[0].slots) & 1


@inlined
def _own_end(dev, request, lpn):
    """Return the sector behind the last sector of a write request whose next sector is `lpn`."""
    params = dev.params[0]
    end = dev.life[0].capacity if params.shrinks else np.int64(params.logical_pages)
    return min(lpn + request.pages - dev.control[0].offset, end)


@kernel
def run_leaves(dev, request, lpn):
    """Find the run that contains the next sector of a write; return whether the run leaves the buffer now."""
    buffer, offset = dev.buffer[0], np.int64(dev.control[0].offset)
    if buffer.run_next == lpn and buffer.run_offset == offset:
        return True
    buffer.run_next = -1
    first, end = lpn, np.int64(_own_end(dev, request, lpn))
    while first > 0 and _waits(dev, first - 1):
        first -= 1
    while end < dev.params[0].logical_pages and _waits(dev, end):
        end += 1
    if not request.flags & SYNC and end - first < dev.subpage[0].slots:
        return False
    buffer.run_first, buffer.run_end = first, end
    buffer.run_next, buffer.run_offset = lpn, offset
    return True


@inlined
def _between(dev, group, first, end):
    """Return the mask of a group's sectors from `first` up to `end`, without `end`."""
    slots = np.int64(dev.subpage[0].slots)
    low = min(max(first - group * slots, 0), slots)
    high = max(min(end - group * slots, slots), low)
    return (np.int64(1) << high) - (np.int64(1) << low)


@inlined
def leaving_of(dev, group, brought):
    """Return the mask of a group's sectors, waiting or in mask `brought`, that belong to the leaving run."""
    buffer = dev.buffer[0]
    return (waiting_of(dev, group) | brought) & _between(dev, group, buffer.run_first, buffer.run_end)


@inlined
def group_beside(dev, request, lpn):
    """Return a group with waiting sectors of the leaving run but without sectors of the request, or -1."""
    buffer = dev.buffer[0]
    first, last = group_of(dev, np.int64(buffer.run_first)), group_of(dev, np.int64(buffer.run_end) - 1)
    if first < group_of(dev, lpn) and leaving_of(dev, first, np.int64(0)) != 0:
        return first
    own = group_of(dev, np.int64(_own_end(dev, request, lpn)) - 1)
    return last if last > own and leaving_of(dev, last, np.int64(0)) != 0 else np.int64(-1)


@inlined
def whole_pages_of(dev, group, mask):
    """Return the mask of the sectors of `mask` that belong to full pages of the leaving run."""
    buffer, slots = dev.buffer[0], np.int64(dev.subpage[0].slots)
    length = np.int64(buffer.run_end) - np.int64(buffer.run_first)
    return mask & _between(dev, group, np.int64(buffer.run_first), buffer.run_first + length // slots * slots)


@kernel
def region_part(dev, group, mask):
    """Decide whether the sectors of a mask, less than a page, go to the region.

    Returns the mask (the sectors go to the region), 0 (they do not), or PENDING if a decision is due outside.
    """
    if mask == 0 or dev.decider.external & ASK_FLUSHES == 0:
        return np.int64(mask)
    dev.buffer[0].collected_plane = -1
    dev.buffer[0].leaving = mask
    lpn = group * dev.subpage[0].slots + lowest_of(mask)
    answer = np.int64(request_action(dev, REGION, np.int64(dev.control[0].host_plane), lpn))
    return answer if answer == PENDING else answer * mask
