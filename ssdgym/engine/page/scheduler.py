"""What an idle die does next: host reads, host writes, foreground and background GC, by the device's rule."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.lists import fullest_block
from ssdgym.engine.blocks.manager import die_of, prefetch_holder, row_of
from ssdgym.engine.core.bits import quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel, merged
from ssdgym.engine.core.records import DYNAMIC, LATE, STATIC
from ssdgym.engine.core.status import OK, OUT_OF_SPACE
from ssdgym.engine.page.collecting import choose_victim, gc_needed
from ssdgym.engine.page.gc_round import finish_round, move_command
from ssdgym.engine.page.mapping import (
    bind_die,
    bind_plane,
    emptiest_plane,
    has_room,
    host_program,
    host_read,
    pass_plane,
    plane_from_cursor,
)
from ssdgym.engine.page.placement import host_stream
from ssdgym.engine.time.commands import (
    ERASE_SET,
    IDLE,
    MOVE_PAGE,
    READ_PAGE,
    WRITE_PAGE,
    charge,
    move_duration,
    read_duration,
    start_command,
    write_duration,
)
from ssdgym.engine.time.events import make_ready
from ssdgym.engine.time.transactions import pop_read, pop_write, push_read, push_write, transaction_done

#: Nothing was started, but the die's queues have changed: look again.
_LOOK_AGAIN = 100


@inlined
def wake(dev, geometry, run, die_number):
    """Work has been queued to a die: if it is idle, it is ready."""
    if dev.die[die_number].command == IDLE:
        make_ready(dev, geometry, run, die_number)


@inlined
def queue_read(dev, geometry, run, die_number, transaction):
    """Queue a page read to its die."""
    push_read(dev, die_number, transaction)
    charge(dev, geometry, run, die_number, read_duration(geometry))
    wake(dev, geometry, run, die_number)


@inlined
def queue_write(dev, geometry, run, transaction):
    """Queue a page write to the die it is bound to, or, if it is bound late, to the common queue."""
    if geometry.groups > 0:
        prefetch_holder(dev, geometry, np.int64(dev.transaction[transaction].lpn))
    if geometry.allocation == LATE:
        push_write(dev, run, transaction)
        return
    if geometry.allocation == DYNAMIC:
        die_number = bind_die(dev, geometry, run)
    else:
        die_number = remainder(dev.transaction[transaction].lpn, geometry.dies)
    push_write(dev, dev.die[die_number], transaction)
    charge(dev, geometry, run, die_number, write_duration(geometry))
    wake(dev, geometry, run, die_number)


@inlined
def read_ended(dev, geometry, run, transaction):
    """A page has been read: its request is told, or the write it was read for is queued."""
    if dev.transaction[transaction].rmw:
        queue_write(dev, geometry, run, transaction)
    else:
        transaction_done(dev, run, transaction)


@inlined
def _start_read(dev, geometry, run, die_number):
    number = pop_read(dev, die_number)
    lpn = np.int64(dev.transaction[number].lpn)
    ppn = np.int64(dev.logical[lpn].ppn)
    if ppn < 0:
        read_ended(dev, geometry, run, number)
        return _LOOK_AGAIN
    holder = die_of(geometry, ppn)
    if holder != die_number:
        queue_read(dev, geometry, run, holder, number)
        return _LOOK_AGAIN
    host_read(dev, run, lpn)
    start_command(dev, geometry, run, die_number, READ_PAGE, number, 1)
    return OK


@inlined
def _redirect_write(dev, geometry, run, die_number):
    """None of the die's planes has room: the write goes to the die of the plane with most."""
    number = pop_write(dev, dev.die[die_number])
    target = remainder(emptiest_plane(dev, geometry), geometry.dies)
    push_write(dev, dev.die[target], number)
    charge(dev, geometry, run, target, write_duration(geometry))
    wake(dev, geometry, run, target)


@merged
def _program(dev, geometry, run, plane_number, lpn, version):
    """The FTL's part of a write command, and the question whether GC is needed now."""
    behind = version - dev.logical[lpn].version
    if behind > 0:
        dev.ahead[lpn] -= behind
    ppn = host_program(dev, geometry, run, plane_number, lpn, version)
    plane = dev.plane[plane_number]
    if ppn >= 0 and gc_needed(geometry, plane):
        plane.collecting = 1
        run.gc_episodes += 1
    return np.int64(ppn)


@kernel
def _program_joined(dev, plane_number, lpn, version):
    return _program(dev, dev.geometry[0], dev.run[0], plane_number, lpn, version)


@inlined
def _next_write(dev, geometry, run, die_number):
    """The write a die would start next, -1 if there is none."""
    if geometry.allocation == LATE:
        return np.int64(run.write_head)
    return np.int64(dev.die[die_number].write_head)


@inlined
def _take_write(dev, geometry, run, die_number):
    if geometry.allocation == LATE:
        return pop_write(dev, run)
    return pop_write(dev, dev.die[die_number])


@inlined
def _plane_of_write(dev, geometry, die_number, number):
    """The plane a write of the die goes to; -1 if the die has none with room (not under static
    allocation).
    """
    if geometry.allocation == STATIC:
        return remainder(dev.transaction[number].lpn, geometry.planes)
    return bind_plane(dev, geometry, die_number)


@inlined
def _has_write(dev, geometry, run, die_number):
    """Is there a write for the die? One that is bound late is not, where no plane has room for it."""
    if _next_write(dev, geometry, run, die_number) < 0:
        return False
    return geometry.allocation != LATE or bind_plane(dev, geometry, die_number) >= 0


@inlined
def _plane_in_the_way(dev, geometry, run, die_number):
    """The plane of the die's next write if a (background) round is running in it: the write has to wait; else
    -1.
    """
    plane = _plane_of_write(dev, geometry, die_number, _next_write(dev, geometry, run, die_number))
    if plane >= 0 and dev.plane[plane].job_leader >= 0:
        return plane
    return np.int64(-1)


@inlined
def _bit_of(geometry, plane):
    return np.uint64(1) << np.uint64(quotient(plane, geometry.dies))


@inlined
def _can_join(dev, geometry, plane, members, lpn, row):
    """Can a write join a command in this plane?"""
    if members & _bit_of(geometry, plane) or dev.plane[plane].job_leader >= 0:
        return False
    if geometry.allocation != STATIC and not has_room(dev, geometry, plane):
        return False
    return row_of(dev, geometry, plane, host_stream(dev, geometry, lpn)) == row


@inlined
def _joining_plane(dev, geometry, die_number, members, lpn, row):
    """The plane in which a write joins a command, -1 if in none."""
    if geometry.allocation == STATIC:
        plane = remainder(lpn, geometry.planes)
        return plane if _can_join(dev, geometry, plane, members, lpn, row) else np.int64(-1)
    for k in range(geometry.planes_per_die):
        plane = np.int64(plane_from_cursor(dev, geometry, die_number, k))
        if _can_join(dev, geometry, plane, members, lpn, row):
            return plane
    return np.int64(-1)


@kernel
def _join_writes(dev, die_number, plane, row, first):
    """Let the writes behind the first one join its command, each in a plane of its own; the pages of the
    command, or a negative number when out of space.
    """
    geometry = dev.geometry[0]
    run = dev.run[0]
    members = _bit_of(geometry, plane)
    last = first
    for pages in range(1, geometry.planes_per_die):
        number = _next_write(dev, geometry, run, die_number)
        if number < 0:
            return pages
        lpn = np.int64(dev.transaction[number].lpn)
        joined = _joining_plane(dev, geometry, die_number, members, lpn, row)
        if joined < 0:
            return pages
        _take_write(dev, geometry, run, die_number)
        if _program_joined(dev, joined, lpn, np.int64(dev.transaction[number].version)) < 0:
            return -1
        run.joined_writes += 1
        members |= _bit_of(geometry, joined)
        dev.transaction[last].next = number
        last = number
    return np.int64(geometry.planes_per_die)


@merged
def _start_write(dev, geometry, run, die_number):
    plane = _plane_of_write(dev, geometry, die_number, _next_write(dev, geometry, run, die_number))
    if plane < 0:
        _redirect_write(dev, geometry, run, die_number)
        return _LOOK_AGAIN
    if geometry.allocation != STATIC:
        pass_plane(dev, geometry, plane)
    number = _take_write(dev, geometry, run, die_number)
    lpn = np.int64(dev.transaction[number].lpn)
    ppn = _program(dev, geometry, run, plane, lpn, np.int64(dev.transaction[number].version))
    pages = np.int64(1)
    if geometry.multi_plane_writes and ppn >= 0:
        pages = _join_writes(dev, die_number, plane, remainder(ppn, geometry.pages_per_block), number)
    if ppn < 0 or pages < 0:
        return OUT_OF_SPACE
    start_command(dev, geometry, run, die_number, WRITE_PAGE, number, pages)
    return OK


@merged
def _gc_command(dev, geometry, run, plane_number, decider):
    """The next command of the round that runs on a plane; if none does, one starts (or its victim is asked
    for).
    """
    die_number = remainder(plane_number, geometry.dies)
    if dev.plane[plane_number].job_leader < 0:
        status = choose_victim(dev, geometry, run, plane_number, decider)
        if status != OK:
            return status
    leader = np.int64(dev.plane[plane_number].job_leader)
    pages = move_command(dev, geometry, leader)
    if pages < 0:
        return OUT_OF_SPACE
    if pages > 0:
        charge(dev, geometry, run, die_number, move_duration(geometry, pages))
        start_command(dev, geometry, run, die_number, MOVE_PAGE, -1, pages)
        return OK
    finish_round(dev, leader)
    charge(dev, geometry, run, die_number, geometry.erase_ns)
    start_command(dev, geometry, run, die_number, ERASE_SET, -1, 0)
    return OK


@inlined
def _collecting_plane(dev, geometry, die_number):
    """The die's lowest-numbered plane in foreground GC, or -1."""
    for plane in range(die_number, geometry.planes, geometry.dies):
        if dev.plane[plane].collecting:
            return plane
    return -1


@inlined
def _background_plane(dev, geometry, die_number):
    """The plane whose background round goes on or should start, or -1."""
    best = -1
    for plane in range(die_number, geometry.planes, geometry.dies):
        if dev.plane[plane].job_leader >= 0:
            return plane
        free = dev.plane[plane].free_pages
        scarcest = best < 0 or free < dev.plane[best].free_pages
        if free < geometry.background_free and scarcest and fullest_block(dev, geometry, plane) >= 0:
            best = plane
    return best


@inlined
def _plane_to_collect(dev, geometry, run, die_number):
    """The plane whose garbage the die should collect now, by its rule, or -1 if a host command goes first."""
    die = dev.die[die_number]
    if geometry.reads_first and die.read_head >= 0:
        return -1
    plane = _collecting_plane(dev, geometry, die_number)
    if plane >= 0 or die.read_head >= 0:
        return plane
    if _has_write(dev, geometry, run, die_number):
        return _plane_in_the_way(dev, geometry, run, die_number)
    if geometry.background_free > 0:
        return _background_plane(dev, geometry, die_number)
    return -1


@merged
def _dispatch_once(dev, geometry, run, die_number, decider):
    plane = _plane_to_collect(dev, geometry, run, die_number)
    if plane >= 0:
        return _gc_command(dev, geometry, run, plane, decider)
    if dev.die[die_number].read_head >= 0:
        return _start_read(dev, geometry, run, die_number)
    if _has_write(dev, geometry, run, die_number):
        return _start_write(dev, geometry, run, die_number)
    return OK


@inlined
def offer_write(dev, geometry, run):
    """Late allocation: wake an idle die that can take the head of the common queue; is there one?"""
    if geometry.allocation != LATE or run.write_head < 0:
        return False
    for k in range(geometry.dies):
        die_number = remainder(run.die_cursor + k, geometry.dies)
        if dev.die[die_number].command == IDLE and bind_plane(dev, geometry, die_number) >= 0:
            run.die_cursor = remainder(die_number + 1, geometry.dies)
            make_ready(dev, geometry, run, die_number)
            return True
    return False


@merged
def dispatch(dev, geometry, run, die_number, decider):
    """Start what an idle die should do next, if anything; OK, a decision that is due, or an error."""
    while True:
        status = _dispatch_once(dev, geometry, run, die_number, decider)
        if status != _LOOK_AGAIN:
            return status
