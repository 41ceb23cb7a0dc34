"""Writes of pages to the main area: the sectors that they carry, and their programs."""

import numpy as np

from ssdgym.engine.allocation import allocate_die, allocate_plane, emptiest_plane, pass_die, pass_plane
from ssdgym.engine.core.bits import lowest_of, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import OK, OUT_OF_SPACE
from ssdgym.engine.loop import lpn_of
from ssdgym.engine.rounds import gc_needed, is_short
from ssdgym.engine.subpage.buffer import carry_group, forget_sector, group_of, is_full, waiting_of
from ssdgym.engine.subpage.lifetime import ensure_page
from ssdgym.engine.subpage.pages import (
    accept,
    count_sectors,
    forget,
    full_mask,
    mapped_of,
    put,
    read_page,
    take_page,
    together,
    waste,
)
from ssdgym.engine.subpage.state import GROUP_WRITE
from ssdgym.requests import SYNC


@inlined
def begin_write(dev, number, kind, group, mask, slot, pages):
    """Fill in transaction `number`: a write that carries the sectors of a mask of a group.

    `pages` sectors of the request in `slot` are done when the write is done; `slot` -1: no request waits.
    """
    write = dev.transaction[number]
    write.group = group
    write.request = slot
    write.kind = kind
    write.mask = mask
    write.pages = pages
    write.waits = 0
    write.parent = write.plane = -1
    write.partial = write.evicts = 0
    carry_group(dev, number, group, mask)


@inlined
def begin_eviction(dev, number, group, plane):
    """Fill in transaction `number`: the eviction of a group from a plane's region to the main area."""
    begin_write(dev, number, GROUP_WRITE, group, np.int64(0), np.int64(-1), np.int64(0))
    dev.transaction[number].evicts = 1
    dev.transaction[number].plane = plane
    dev.tally[0].evictions += 1
    dev.tally[0].rmw_count += 1


@inlined
def is_overtaken(dev, number):
    """Return whether newer versions of all sectors that a write carries have been programmed."""
    slots = np.int64(dev.subpage[0].slots)
    for k in range(number * slots, (number + 1) * slots):
        sector = dev.carried[k]
        if sector.lpn >= 0 and sector.version > dev.logical[sector.lpn].version:
            return False
    return True


@inlined
def is_void(dev, number):
    """Return whether a write to the main area has nothing left to program."""
    if not is_overtaken(dev, number):
        return False
    write = dev.transaction[number]
    return write.kind != GROUP_WRITE or mapped_of(dev, np.int64(write.group)) == 0


@inlined
def accept_list(dev, number):
    """Accept those sectors of a write that are not overtaken, and move them to the front; return how many."""
    slots = np.int64(dev.subpage[0].slots)
    base = number * slots
    count = np.int64(0)
    for k in range(slots):
        lpn = np.int64(dev.carried[base + k].lpn)
        version = np.int64(dev.carried[base + k].version)
        if lpn >= 0 and accept(dev, lpn, version):
            dev.carried[base + count].lpn = lpn
            count += 1
    return count


@inlined
def put_list(dev, number, page, count):
    """Program the first `count` sectors that a write carries to the first slots of a page."""
    slots = np.int64(dev.subpage[0].slots)
    for k in range(slots):
        if k < count:
            put(dev, page * slots + k, np.int64(dev.carried[number * slots + k].lpn))
        else:
            waste(dev, page * slots + k)


@inlined
def forget_list(dev, number, count):
    """Invalidate the old copies of the first `count` sectors that a write carries."""
    base = number * np.int64(dev.subpage[0].slots)
    for k in range(count):
        forget(dev, np.int64(dev.carried[base + k].lpn))


@kernel
def program_write(dev, plane, number):
    """Program the page of a write to the main area of a plane; return the page, -1 if no block is free.

    The write must have sectors left to program.
    """
    write, subpage = dev.transaction[number], dev.subpage[0]
    if dev.params[0].endures and not ensure_page(dev, plane):
        return np.int64(-1)
    if write.kind == GROUP_WRITE:
        group = np.int64(write.group)
        slots = np.int64(dev.subpage[0].slots)
        mask = np.int64(0)
        for s in range(slots):
            lpn = group * slots + s
            sector = dev.carried[number * slots + s]
            newer = sector.lpn >= 0 and accept(dev, lpn, np.int64(sector.version))
            if newer or dev.logical[lpn].ppn >= 0:
                mask |= np.int64(1) << s
        for s in range(slots):
            if mask >> s & 1:
                forget(dev, group * slots + s)
        page = take_page(dev, plane, count_sectors(mask), False)
        if page >= 0:
            for s in range(slots):
                if mask >> s & 1:
                    put(dev, page * slots + s, group * slots + s)
                else:
                    waste(dev, page * slots + s)
    else:
        count = accept_list(dev, number)
        forget_list(dev, number, count)
        page = take_page(dev, plane, count, False)
        if page >= 0:
            put_list(dev, number, page, count)
    if page >= 0:
        if write.evicts:
            dev.evicting[write.group] = 0
        dev.control[0].host_plane = plane
        if write.partial or write.evicts:
            dev.tally[0].small_flash_bytes += subpage.slots * subpage.subpage_bytes
    return page


@inlined
def others_of(dev, number):
    """Return the mask of the group's mapped sectors that a write does not carry and has to read first."""
    write = dev.transaction[number]
    group = np.int64(write.group)
    return mapped_of(dev, group) & ~np.int64(write.mask)


@inlined
def _plane_of(dev, die_number):
    """Return the plane of an untimed write that is bound to a die."""
    plane = allocate_plane(dev, die_number)
    return plane if plane >= 0 else np.int64(emptiest_plane(dev))


@kernel
def collects_first(dev):
    """If the plane of the next untimed write is short, start foreground GC there; return whether it is."""
    plane = np.int64(_plane_of(dev, np.int64(allocate_die(dev))))
    if not is_short(dev, plane):
        return False
    dev.control[0].gc_plane = plane
    dev.counters[0].gc_episodes += 1
    return True


@kernel
def write_now(dev, number):
    """Carry out a write to the main area in zero time, after its reads; return OK or OUT_OF_SPACE."""
    params = dev.params[0]
    if dev.transaction[number].kind == GROUP_WRITE:
        group = np.int64(dev.transaction[number].group)
        mask = others_of(dev, number)
        while mask != 0:
            read = together(dev, group, mask)
            read_page(dev, group, read)
            dev.counters[0].rmw_reads += 1
            mask &= ~read
    die_number = np.int64(allocate_die(dev))
    plane = _plane_of(dev, die_number)
    pass_die(dev, die_number)
    if remainder(plane, params.dies) == die_number:
        pass_plane(dev, plane)
    page = program_write(dev, plane, number)
    if page < 0:
        return np.int64(OUT_OF_SPACE)
    if gc_needed(params, dev.plane[plane]):
        dev.control[0].gc_plane = plane
        dev.counters[0].gc_episodes += 1
    return np.int64(OK)


@inlined
def part_of(dev, request):
    """Return the next part of a request: its group, the mask of its sectors, and their number."""
    slots = np.int64(dev.subpage[0].slots)
    offset = np.int64(dev.control[0].offset)
    lpn = np.int64(lpn_of(dev, request))
    group = group_of(dev, lpn)
    first = lpn - group * slots
    count = min(slots - first, np.int64(request.pages) - offset)
    return group, ((np.int64(1) << count) - 1) << first, count


@inlined
def needs_place(dev, request, group, mask):
    """Return whether a part of a write has to wait in the buffer, which has no free entry for it."""
    waiting = waiting_of(dev, group)
    leaves = request.flags & SYNC or (waiting | mask) == full_mask(dev)
    return not leaves and waiting == 0 and is_full(dev)


@inlined
def count_reads(dev, group, mask):
    """Count the sectors of a read; return the mask of those that have to be read from flash."""
    counters = dev.counters[0]
    first = group * np.int64(dev.subpage[0].slots)
    waiting = waiting_of(dev, group)
    wanted = np.int64(0)
    for s in range(dev.subpage[0].slots):
        if not mask >> s & 1:
            continue
        counters.host_reads += 1
        if dev.in_flight[first + s] > 0:
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
    """Count a write as a read-modify-write if it has to read other sectors of its group first."""
    write = dev.transaction[number]
    if write.kind == GROUP_WRITE and others_of(dev, number) != 0:
        dev.tally[0].rmw_count += 1


@inlined
def trim_part(dev, request):
    """Trim the sectors of the next part of a request."""
    group, mask, _ = part_of(dev, request)
    while mask != 0:
        forget_sector(dev, group * dev.subpage[0].slots + lowest_of(mask))
        dev.counters[0].host_pages_trimmed += 1
        mask &= mask - 1
