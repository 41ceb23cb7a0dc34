"""The scheduler: the choice of the next command of an idle die."""

import numpy as np

from ssdgym.engine.allocation import allocate_plane, pass_plane, redirect_write
from ssdgym.engine.cells import is_over
from ssdgym.engine.core.bits import lowest_of, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import AGAIN, END_OF_LIFE, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import PENDING, status_of
from ssdgym.engine.flash import erase_phases, read_phases, write_phases
from ssdgym.engine.rounds import collecting_plane, ensure_round, gc_needed, has_round, is_short
from ssdgym.engine.subpage import region
from ssdgym.engine.subpage.gc_round import finish_round, gather_phases, move_command
from ssdgym.engine.subpage.pages import count_sectors, die_of_page, mapped_of, page_of, read_page, together
from ssdgym.engine.subpage.passes import ADVANCE, COLLECT, prepare
from ssdgym.engine.subpage.queues import move_phases, queue_read, read_done, region_phases, write_done
from ssdgym.engine.subpage.region import ERASED, MOVED, WAITS
from ssdgym.engine.subpage.state import CHILD_READ, LIST_WRITE
from ssdgym.engine.subpage.writes import is_overtaken, is_void, program_write
from ssdgym.engine.time.events import (
    ERASE_SET,
    MOVE_PAGE,
    READ_PAGE,
    WRITE_PAGE,
    start_command,
    start_gc_command,
)
from ssdgym.engine.time.transactions import pop_read, pop_write

#: Result of `_collect_region`: the collection waits, and this call has queued no eviction.
_NOTHING_TO_DO = 101


@inlined
def _next_page(dev, number):
    """Drop trimmed sectors from a read; return the page of the lowest sector left, -1 if none is left."""
    read = dev.transaction[number]
    group = np.int64(read.group)
    wanted = np.int64(read.mask) & mapped_of(dev, group)
    if read.kind != CHILD_READ:
        dev.counters[0].unmapped_reads += count_sectors(np.int64(read.mask) & ~wanted)
    read.mask = wanted
    if wanted == 0:
        return np.int64(-1)
    first = group * dev.subpage[0].slots
    return page_of(dev, np.int64(dev.logical[first + lowest_of(wanted)].ppn))


@inlined
def read_ended(dev, number):
    """Finish a read, or queue it again for the sectors that are left to read."""
    page = _next_page(dev, number)
    if page < 0:
        read_done(dev, number)
    else:
        queue_read(dev, die_of_page(dev, page), number)


@inlined
def _start_read(dev, die_number):
    number = pop_read(dev, die_number)
    page = _next_page(dev, number)
    if page < 0:  # trimmed while the read was waiting
        read_done(dev, number)
        return np.int64(AGAIN)
    if die_of_page(dev, page) != die_number:
        queue_read(dev, die_of_page(dev, page), number)
        return np.int64(AGAIN)
    read = dev.transaction[number]
    group = np.int64(read.group)
    wanted = together(dev, group, np.int64(read.mask))
    read_page(dev, group, wanted)
    read.mask &= ~wanted
    dev.counters[0].rmw_reads += read.kind == CHILD_READ
    start_command(dev, die_number, READ_PAGE, number, 1, read_phases(dev.params[0]))
    return np.int64(OK)


@inlined
def _gc_command(dev, plane_number):
    """Start the next command of a plane's round, after starting a round if none runs; return a status."""
    params = dev.params[0]
    die_number = remainder(plane_number, params.dies)
    status = ensure_round(dev, plane_number)
    if status != OK:
        return status
    if not has_round(dev, plane_number):
        return np.int64(END_OF_LIFE if is_over(dev) else AGAIN)
    pages = np.int64(move_command(dev, plane_number))
    if pages < 0:
        return pages
    if pages > 0:
        start_gc_command(dev, die_number, MOVE_PAGE, np.int64(0), gather_phases(params, pages))
    else:
        finish_round(dev, plane_number)
        if is_over(dev):
            return np.int64(END_OF_LIFE)
        start_gc_command(dev, die_number, ERASE_SET, np.int64(0), erase_phases(params))
    return np.int64(OK)


@kernel
def _collect_region(dev, die_number, plane):
    """Start the next command of the collection of a region.

    Returns OK, _NOTHING_TO_DO if the collection waits, AGAIN if it waits after it has queued evictions, a
    decision that is due, or an error.
    """
    waits = np.int64(_NOTHING_TO_DO)
    while True:
        done = np.int64(region.collect_step(dev, plane))
        if done == PENDING:
            return status_of(dev, done)
        if done < 0:
            return done
        if done == WAITS:
            return waits
        waits = np.int64(AGAIN)
        if done == MOVED:
            start_gc_command(dev, die_number, MOVE_PAGE, np.int64(0), move_phases(dev))
            return np.int64(OK)
        if done == ERASED and is_over(dev):
            return np.int64(END_OF_LIFE)
        if done == ERASED:
            start_gc_command(dev, die_number, ERASE_SET, np.int64(0), erase_phases(dev.params[0]))
            return np.int64(OK)


@inlined
def _start_main_write(dev, die_number):
    params = dev.params[0]
    number = np.int64(dev.die[die_number].write_head)
    if is_void(dev, number):
        pop_write(dev, dev.die[die_number])
        if dev.transaction[number].evicts:
            dev.evicting[dev.transaction[number].group] = 0
        write_done(dev, number)
        return np.int64(AGAIN)
    plane = allocate_plane(dev, die_number)
    if plane < 0:
        redirect_write(dev, die_number)
        return np.int64(AGAIN)
    if is_short(dev, plane):
        dev.plane[plane].collecting = 1
        dev.counters[0].gc_episodes += 1
        return np.int64(AGAIN)
    if program_write(dev, plane, number) < 0:
        return np.int64(OUT_OF_SPACE)
    pop_write(dev, dev.die[die_number])
    pass_plane(dev, plane)
    if gc_needed(params, dev.plane[plane]):
        dev.plane[plane].collecting = 1
        dev.counters[0].gc_episodes += 1
    start_command(dev, die_number, WRITE_PAGE, number, 1, write_phases(params, 1))
    return np.int64(OK)


@inlined
def _program_region(dev, die_number, plane):
    """Start the program of the first write in the queue of a region that is READY."""
    number = pop_write(dev, dev.region[plane])
    write = dev.transaction[number]
    status = np.int64(OK)
    if write.kind == LIST_WRITE:
        region.program_log_page(dev, plane, number)
    else:
        sector = dev.carried[number * np.int64(dev.subpage[0].slots) + lowest_of(np.int64(write.mask))]
        status = region.program_subpage(dev, plane, number, np.int64(sector.lpn), np.int64(sector.version))
    start_command(dev, die_number, WRITE_PAGE, number, 1, region_phases(dev))
    return status


@inlined
def _first_region(dev, die_number, number):
    """Return the die's plane whose region has the oldest write, if older than write `number`; or -1."""
    params = dev.params[0]
    best = np.int64(-1)
    before = dev.transaction[number].number if number >= 0 else np.int64(2**62)
    for plane in range(die_number, params.planes, params.dies):
        head = np.int64(dev.region[plane].write_head)
        if head >= 0 and dev.region[plane].victim < 0 and dev.transaction[head].number < before:
            best = np.int64(plane)
            before = dev.transaction[head].number
    return best


@inlined
def _start_write(dev, die_number):
    """Start the oldest write for the die, if there is one."""
    head = np.int64(dev.die[die_number].write_head)
    plane = _first_region(dev, die_number, head)
    if plane >= 0:
        number = np.int64(dev.region[plane].write_head)
        if is_overtaken(dev, number):
            pop_write(dev, dev.region[plane])
            write_done(dev, number)
            return np.int64(AGAIN)
        outcome = np.int64(prepare(dev, plane))
        if outcome == COLLECT:
            return np.int64(AGAIN)
        if outcome == ADVANCE:
            status = np.int64(region.advance(dev, plane))
            start_gc_command(dev, die_number, MOVE_PAGE, np.int64(0), move_phases(dev))
            return status
        return _program_region(dev, die_number, plane)
    if head >= 0:
        return _start_main_write(dev, die_number)
    return np.int64(OK)


@inlined
def is_answered(dev):
    """Return whether the decision that a collection waits for has been taken."""
    return dev.control[0].answer >= 0 and dev.buffer[0].collected_plane >= 0


@inlined
def dispatch_die(dev, die_number):
    """Start the next command of an idle die, if any."""
    if is_answered(dev):  # this collection continues before reads that its own evictions have queued
        status = _collect_region(dev, die_number, np.int64(dev.buffer[0].collected_plane))
        return status if status != _NOTHING_TO_DO else np.int64(AGAIN)
    reads = dev.die[die_number].read_head >= 0
    if reads and dev.params[0].reads_first:
        return _start_read(dev, die_number)
    plane = collecting_plane(dev, die_number)
    if plane >= 0:
        return _gc_command(dev, plane)
    if reads:
        return _start_read(dev, die_number)
    for plane in range(die_number, dev.params[0].planes, dev.params[0].dies):
        if dev.region[plane].victim >= 0:
            status = _collect_region(dev, die_number, np.int64(plane))
            if status != _NOTHING_TO_DO:
                return status
    return _start_write(dev, die_number)
