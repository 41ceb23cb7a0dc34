"""What an idle die does next: host reads, host writes, foreground and background GC, by the device's rule."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.arithmetic import remainder
from ssdgym.engine.commands import (
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
from ssdgym.engine.events import make_ready
from ssdgym.engine.gc import (
    OK,
    OUT_OF_SPACE,
    choose_victim,
    finish_round,
    gc_needed,
    gc_unfinished,
    move_page,
    next_valid_page,
)
from ssdgym.engine.index import fullest_block
from ssdgym.engine.kernel import inlined, merged
from ssdgym.engine.nand import die_of, prefetch_holder
from ssdgym.engine.pagemap import bind_die, bind_plane, emptiest_plane, host_program, host_read, pass_plane
from ssdgym.engine.transactions import pop_read, pop_write, push_read, push_write, transaction_done

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
    """Queue a page write to the die it is bound to."""
    if geometry.dynamic:
        die_number = bind_die(dev, geometry, run)
    else:
        die_number = remainder(dev.transaction[transaction].lpn, geometry.dies)
    if geometry.groups > 0:
        prefetch_holder(dev, geometry, np.int64(dev.transaction[transaction].lpn))
    push_write(dev, die_number, transaction)
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
    start_command(dev, geometry, run, die_number, READ_PAGE, number)
    return OK


@inlined
def _redirect_write(dev, geometry, run, die_number):
    """None of the die's planes has room: the write goes to the die of the plane with most."""
    number = pop_write(dev, die_number)
    target = remainder(emptiest_plane(dev, geometry), geometry.dies)
    push_write(dev, target, number)
    charge(dev, geometry, run, target, write_duration(geometry))
    wake(dev, geometry, run, target)


@merged
def _program(dev, geometry, run, plane_number, lpn, version):
    """The FTL's part of a write command, and the question whether GC is needed now."""
    behind = version - dev.logical[lpn].version
    if behind > 0:
        dev.ahead[lpn] -= behind
    if host_program(dev, geometry, run, plane_number, lpn, version) < 0:
        return OUT_OF_SPACE
    plane = dev.plane[plane_number]
    if gc_needed(geometry, plane):
        plane.collecting = 1
        run.gc_episodes += 1
    return OK


@inlined
def _plane_of_write(dev, geometry, die_number):
    """The plane the die's next write goes to; -1 if it has none with room (dynamic allocation only)."""
    if geometry.dynamic:
        return bind_plane(dev, geometry, die_number)
    return remainder(dev.transaction[dev.die[die_number].write_head].lpn, geometry.planes)


@inlined
def _plane_in_the_way(dev, geometry, die_number):
    """The plane of the die's next write if a (background) round is running in it: the write has to wait; else
    -1.
    """
    plane = _plane_of_write(dev, geometry, die_number)
    if plane >= 0 and dev.plane[plane].job_block >= 0:
        return plane
    return -1


@merged
def _start_write(dev, geometry, run, die_number):
    plane = _plane_of_write(dev, geometry, die_number)
    if plane < 0:
        _redirect_write(dev, geometry, run, die_number)
        return _LOOK_AGAIN
    if geometry.dynamic:
        pass_plane(dev, geometry, plane)
    number = pop_write(dev, die_number)
    lpn = np.int64(dev.transaction[number].lpn)
    status = _program(dev, geometry, run, plane, lpn, np.int64(dev.transaction[number].version))
    start_command(dev, geometry, run, die_number, WRITE_PAGE, number)
    return status


@merged
def _gc_command(dev, geometry, run, plane_number, decider):
    """The next command of a plane's round; if none is running, one starts (or its victim is asked for)."""
    plane = dev.plane[plane_number]
    die_number = remainder(plane_number, geometry.dies)
    if plane.job_block < 0:
        status = choose_victim(dev, geometry, run, plane_number, decider)
        if status != OK:
            return status
    ppn = next_valid_page(dev, geometry, plane)
    if ppn >= 0:
        status = move_page(dev, geometry, run, plane_number, ppn)
        plane.job_page += 1
        charge(dev, geometry, run, die_number, move_duration(geometry))
        start_command(dev, geometry, run, die_number, MOVE_PAGE, -1)
        return status
    finish_round(dev, plane_number)
    if not gc_unfinished(geometry, plane):
        plane.collecting = 0
    charge(dev, geometry, run, die_number, geometry.erase_ns)
    start_command(dev, geometry, run, die_number, ERASE_SET, -1)
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
        if dev.plane[plane].job_block >= 0:
            return plane
        free = dev.plane[plane].free_pages
        scarcest = best < 0 or free < dev.plane[best].free_pages
        if free < geometry.background_free and scarcest and fullest_block(dev, geometry, plane) >= 0:
            best = plane
    return best


@inlined
def _plane_to_collect(dev, geometry, die_number):
    """The plane whose garbage the die should collect now, by its rule, or -1 if a host command goes first."""
    die = dev.die[die_number]
    if geometry.reads_first and die.read_head >= 0:
        return -1
    plane = _collecting_plane(dev, geometry, die_number)
    if plane >= 0 or die.read_head >= 0:
        return plane
    if die.write_head >= 0:
        return _plane_in_the_way(dev, geometry, die_number)
    if geometry.background_free > 0:
        return _background_plane(dev, geometry, die_number)
    return -1


@merged
def _dispatch_once(dev, geometry, run, die_number, decider):
    plane = _plane_to_collect(dev, geometry, die_number)
    if plane >= 0:
        return _gc_command(dev, geometry, run, plane, decider)
    die = dev.die[die_number]
    if die.read_head >= 0:
        return _start_read(dev, geometry, run, die_number)
    if die.write_head >= 0:
        return _start_write(dev, geometry, run, die_number)
    return OK


@merged
def dispatch(dev, geometry, run, die_number, decider):
    """Start what an idle die should do next, if anything; OK, a decision that is due, or an error."""
    while True:
        status = _dispatch_once(dev, geometry, run, die_number, decider)
        if status != _LOOK_AGAIN:
            return status
