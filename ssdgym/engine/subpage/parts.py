"""Parts of requests: the sectors of one that are in one group, which are admitted together."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.subpage.buffer import group_of, is_full, trim_sector, waiting_of
from ssdgym.engine.subpage.pages import full_mask, lowest_of
from ssdgym.engine.subpage.state import GROUP_WRITE
from ssdgym.engine.subpage.writes import others_of
from ssdgym.requests import SYNC

#: The step has made room for the part of a request, which comes in the next one.
AGAIN = 201


@inlined
def part_of(dev, request):
    """Return the group of the next part of a request, its sectors as a mask, and their number."""
    slots = np.int64(dev.subpage[0].slots)
    offset = np.int64(dev.control[0].offset)
    lpn = np.int64(request.lpn) + offset
    group = group_of(dev, lpn)
    first = lpn - group * slots
    count = min(slots - first, np.int64(request.pages) - offset)
    return group, ((np.int64(1) << count) - 1) << first, count


@inlined
def needs_place(dev, request, group, mask):
    """Return whether a part of a write has to wait in a buffer that has no place for it."""
    waiting = waiting_of(dev, group)
    leaves = request.flags & SYNC or (waiting | mask) == full_mask(dev)
    return not leaves and waiting == 0 and is_full(dev)


@inlined
def count_reads(dev, group, mask):
    """Count the sectors of a read; return those that have to be read from flash."""
    counters = dev.counters[0]
    first = group * np.int64(dev.subpage[0].slots)
    waiting = waiting_of(dev, group)
    wanted = np.int64(0)
    for s in range(dev.subpage[0].slots):
        if not mask >> s & 1:
            continue
        counters.host_reads += 1
        if dev.promised[first + s] > 0:
            if waiting >> s & 1:
                dev.tally[0].buffer_hits += 1
            else:
                counters.queue_hits += 1
        elif dev.logical[first + s].ppn < 0:
            counters.unmapped_reads += 1
        else:
            wanted |= np.int64(1) << np.int64(s)
    return wanted


@inlined
def note_rmw(dev, number):
    """Count a write of a group that reads some of it first."""
    write = dev.transaction[number]
    if write.kind == GROUP_WRITE and others_of(dev, number) != 0:
        dev.tally[0].rmw_count += 1


@inlined
def trim_part(dev, group, mask):
    """Trim the sectors of a part."""
    while mask != 0:
        trim_sector(dev, group, lowest_of(mask))
        mask &= mask - 1
