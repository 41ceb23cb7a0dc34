"""Transactions of event-driven devices: how they are queued to dies, and how they complete."""

import numpy as np

from ssdgym.engine.allocation import allocate_die, pass_die, pass_plane, plane_from_cursor
from ssdgym.engine.core.bits import lowest_of, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.flash import NO_PHASE, Phases, read_phases, write_phases
from ssdgym.engine.subpage.pages import count_sectors, die_of_page, page_of, together, wake_collection
from ssdgym.engine.subpage.state import CHILD_READ, SUBFTL
from ssdgym.engine.time import transactions
from ssdgym.engine.time.events import wake


@inlined
def subpage_phases(dev):
    """Return the phases of a program of a subpage."""
    subpage = dev.subpage[0]
    return Phases(np.int64(NO_PHASE), np.int64(subpage.transfer_ns), np.int64(subpage.program_ns))


@inlined
def region_phases(dev):
    """Return the phases of a program in a region: of a subpage with `subftl`, of a page with `sector_log`."""
    if dev.subpage[0].kind == SUBFTL:
        return subpage_phases(dev)
    return write_phases(dev.params[0], 1)


@inlined
def move_phases(dev):
    """Return the phases of a command that reads a subpage and programs it to another slot."""
    subpage = dev.subpage[0]
    read_ns = np.int64(dev.params[0].read_ns)
    return Phases(read_ns, np.int64(2 * subpage.transfer_ns), np.int64(subpage.program_ns))


@inlined
def new_transaction(dev):
    """Take a free transaction, which has to exist; return its number."""
    buffer = dev.buffer[0]
    number = transactions.take_transaction(dev, 0, 0, 0, 0)
    dev.transaction[number].number = buffer.created
    buffer.created += 1
    return number


@inlined
def queue_read(dev, die_number, number):
    """Queue a read to a die."""
    transactions.queue_read(dev, die_number, number, read_phases(dev.params[0]))


@inlined
def queue_main_write(dev, number):
    """Queue a write to the main area to the die whose estimated end of work is earliest."""
    die_number = np.int64(allocate_die(dev))
    pass_die(dev, die_number)
    transactions.queue_write(dev, die_number, dev.die[die_number], number, write_phases(dev.params[0], 1))


@inlined
def bind_region(dev):
    """Bind a write to a region, of the next plane of the die whose work ends first; return plane and die."""
    die_number = np.int64(allocate_die(dev))
    plane = plane_from_cursor(dev, die_number, 0)
    pass_die(dev, die_number)
    pass_plane(dev, plane)
    return plane, die_number


@inlined
def queue_region_write(dev, number):
    """Bind a write to the region of a plane, and queue it there."""
    plane, die_number = bind_region(dev)
    dev.transaction[number].plane = plane
    transactions.queue_write(dev, die_number, dev.region[plane], number, region_phases(dev))


@kernel
def queue_reads(dev, group, mask, kind, slot, parent):
    """Queue a read for each flash page that holds sectors, all mapped, of a mask; return how many reads."""
    first = group * np.int64(dev.subpage[0].slots)
    reads = np.int64(0)
    while mask != 0:
        wanted = together(dev, group, mask)
        number = np.int64(new_transaction(dev))
        read = dev.transaction[number]
        read.group = group
        read.request = slot
        read.kind = kind
        read.mask = wanted
        read.parent = parent
        read.plane = -1
        read.pages = count_sectors(wanted)
        page = page_of(dev, np.int64(dev.logical[first + lowest_of(wanted)].ppn))
        queue_read(dev, die_of_page(dev, page), number)
        mask &= ~wanted
        reads += 1
    return reads


@inlined
def queue_after_reads(dev, number, group, others):
    """Queue reads of the sectors `others`, which write `number` does not carry; if none, queue the write."""
    reads = np.int64(queue_reads(dev, group, others, CHILD_READ, -1, number))
    dev.transaction[number].waits = reads
    if reads == 0:
        queue_main_write(dev, number)


@inlined
def read_done(dev, number):
    """Finish a read of a request, or of a write: after the last read of a write, queue the write."""
    read = dev.transaction[number]
    transactions.free_transaction(dev, number)
    if read.kind != CHILD_READ:
        transactions.pages_done(dev, np.int64(read.request), np.int64(read.pages))
        return
    parent = np.int64(read.parent)
    dev.transaction[parent].waits -= 1
    if dev.transaction[parent].waits == 0:
        queue_main_write(dev, parent)


@inlined
def write_done(dev, number):
    """Finish a write of host data, or an eviction of a collection."""
    write = dev.transaction[number]
    transactions.free_transaction(dev, number)
    if not write.evicts:
        dev.buffer[0].host_writes -= 1
        if write.request >= 0:
            transactions.pages_done(dev, np.int64(write.request), np.int64(write.pages))
        return
    plane = np.int64(write.plane)
    dev.region[plane].pending -= 1
    wake_collection(dev, plane)
    if dev.buffer[0].starved > 0:
        # Collections that wait for free transactions can continue.
        params = dev.params[0]
        for other in range(params.planes):
            if dev.region[other].starved:
                dev.region[other].starved = 0
                wake(dev, remainder(other, params.dies))
        dev.buffer[0].starved = 0
