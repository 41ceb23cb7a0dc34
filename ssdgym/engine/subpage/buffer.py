"""The write buffer: groups whose sectors wait, in order of arrival, and how sectors leave it."""

import numpy as np

from ssdgym.engine.core.bits import list_kernels, lowest_of, quotient
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.subpage.pages import count_sectors, forget

_append, _remove = list_kernels("head", "tail", "next", "previous")


@inlined
def group_of(dev, lpn):
    """Return the group of a sector: the sector's number divided by the number of sectors of a page."""
    return quotient(lpn, dev.subpage[0].slots)


@inlined
def waiting_of(dev, group):
    """Return the mask of the sectors of a group that wait in the buffer."""
    number = np.int64(dev.entry_of[group])
    return np.int64(dev.entry[number].dirty) if number >= 0 else np.int64(0)


@inlined
def is_full(dev):
    """Return whether the buffer has no room for another group."""
    return dev.buffer[0].count >= dev.subpage[0].buffer_groups


@inlined
def drop_entry(dev, group):
    """Remove a group from the buffer, if it has an entry."""
    number = np.int64(dev.entry_of[group])
    if number < 0:
        return
    buffer = dev.buffer[0]
    _remove(dev.entry, buffer, number)
    dev.entry_of[group] = -1
    dev.entry[number].next = buffer.free
    buffer.free = number
    buffer.count -= 1


@inlined
def set_waiting(dev, group, mask):
    """Set which sectors of a group wait in the buffer; a new group takes a free entry."""
    if mask == 0:
        drop_entry(dev, group)
        return
    buffer = dev.buffer[0]
    number = np.int64(dev.entry_of[group])
    if number < 0:
        number = np.int64(buffer.free)
        buffer.free = dev.entry[number].next
        buffer.count += 1
        dev.entry[number].group = group
        dev.entry_of[group] = number
        _append(dev.entry, buffer, number)
    dev.entry[number].dirty = mask


@inlined
def promise(dev, group, mask):
    """Admit the sectors of a part of a write request: count them, and raise `in_flight` of each."""
    control = dev.control[0]
    first = group * np.int64(dev.subpage[0].slots)
    sectors = count_sectors(mask)
    dev.tally[0].buffer_merges += count_sectors(mask & waiting_of(dev, group))
    while mask != 0:
        dev.in_flight[first + lowest_of(mask)] += 1
        mask &= mask - 1
    control.clock += sectors
    control.admitted_pages += sectors
    dev.counters[0].host_pages_written += sectors


@kernel
def forget_sector(dev, lpn):
    """Unmap a sector, and drop its versions that wait or are under way."""
    group = group_of(dev, lpn)
    s = lpn - group * dev.subpage[0].slots
    waiting = waiting_of(dev, group)
    if waiting >> s & 1:
        set_waiting(dev, group, waiting & ~(np.int64(1) << s))
    forget(dev, lpn)
    dev.logical[lpn].version += dev.in_flight[lpn] + 1
    dev.in_flight[lpn] = 0


@inlined
def _carry(dev, place, lpn):
    """Store at `place` of `carried` a sector that a write carries, in its newest admitted version."""
    sector = dev.carried[place]
    sector.lpn = lpn
    sector.version = dev.logical[lpn].version + dev.in_flight[lpn]


@inlined
def count_small(dev, sectors):
    """Count small sectors: those that leave the buffer as less than a page."""
    dev.tally[0].small_write_bytes += sectors * dev.subpage[0].subpage_bytes


@inlined
def carry_group(dev, number, group, mask):
    """Store the sectors of a mask of a group as those that write `number` carries, each at its slot."""
    slots = np.int64(dev.subpage[0].slots)
    for s in range(slots):
        dev.carried[number * slots + s].lpn = -1
        if mask >> s & 1:
            _carry(dev, number * slots + s, group * slots + s)


@kernel
def carry_oldest(dev, number):
    """Move the oldest buffered sectors, at most a page of them, to write `number`, in order of arrival."""
    slots = np.int64(dev.subpage[0].slots)
    buffer = dev.buffer[0]
    k = np.int64(0)
    while k < slots and buffer.head >= 0:
        group = np.int64(dev.entry[buffer.head].group)
        mask = waiting_of(dev, group)
        while mask != 0 and k < slots:
            _carry(dev, number * slots + k, group * slots + lowest_of(mask))
            mask &= mask - 1
            k += 1
        set_waiting(dev, group, mask)
    dev.transaction[number].partial = k < slots
    if k < slots:
        count_small(dev, k)
    for rest in range(k, slots):
        dev.carried[number * slots + rest].lpn = -1
