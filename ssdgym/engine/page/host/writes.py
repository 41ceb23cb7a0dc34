"""Host writes as a die carries them out: the next one, its program, and those that join its command."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.binding import has_room, plane_from_cursor
from ssdgym.engine.blocks.manager import pad_page, row_of
from ssdgym.engine.core.bits import quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import LATE, STATIC
from ssdgym.engine.decisions import PLACE, is_external
from ssdgym.engine.page.collecting import takes_host_pages
from ssdgym.engine.page.host.mapping import host_program
from ssdgym.engine.page.host.placement import note_written, rule_of_host
from ssdgym.engine.rounds import gc_needed
from ssdgym.engine.time.transactions import link_pages, mark_queued, pop_write


@inlined
def program(dev, plane_number, stream, lpn, version):
    """Program the page of a write command, and switch GC on if it is needed now."""
    params = dev.params[0]
    behind = version - dev.logical[lpn].version
    if behind > 0:
        dev.promised[lpn] -= behind
    ppn = host_program(dev, plane_number, stream, lpn, version)
    plane = dev.plane[plane_number]
    if ppn >= 0 and gc_needed(params, plane):
        dev.counters[0].gc_episodes += 1 - plane.collecting
        plane.collecting = 1
    return np.int64(ppn)


@kernel
def _program_joined(dev, plane_number, stream, lpn, version):
    return program(dev, plane_number, stream, lpn, version)


@inlined
def next_write(dev, die_number):
    """Return the write a die would start next, -1 if there is none."""
    params = dev.params[0]
    control = dev.control[0]
    if params.allocation == LATE:
        return np.int64(control.write_head)
    return np.int64(dev.die[die_number].write_head)


@inlined
def take_write(dev, die_number):
    """Take the write that a die starts next from its queue."""
    params = dev.params[0]
    control = dev.control[0]
    if params.allocation == LATE:  # bound to the die only now
        number = pop_write(dev, control)
        mark_queued(dev, die_number, number)
        return number
    return pop_write(dev, dev.die[die_number])


@inlined
def _bit_of(params, plane):
    return np.uint64(1) << np.uint64(quotient(plane, params.dies))


@inlined
def _can_join(dev, plane, members, lpn, row):
    """Return whether a write can join a command in this plane."""
    params = dev.params[0]
    if members & _bit_of(params, plane) or not takes_host_pages(dev, plane):
        return False
    if params.allocation != STATIC and not has_room(dev, plane):
        return False
    if is_external(dev, PLACE):  # each page has a question of its own
        return False
    stream = rule_of_host(dev, plane, lpn)
    if stream < 0:
        return False
    own = row_of(dev, plane, stream)
    return own == row or (own >= 0 and own < row <= own + params.pad_limit)


@inlined
def _joining_plane(dev, die_number, members, lpn, row):
    """Return the plane in which a write joins a command, -1 for none."""
    params = dev.params[0]
    if params.allocation == STATIC:
        plane = remainder(lpn, params.planes)
        return plane if _can_join(dev, plane, members, lpn, row) else np.int64(-1)
    for k in range(params.planes_per_die):
        plane = np.int64(plane_from_cursor(dev, die_number, k))
        if _can_join(dev, plane, members, lpn, row):
            return plane
    return np.int64(-1)


@inlined
def _pad(dev, plane, stream, lpn, row):
    """Program pages with nothing until a plane that lags has come to a row."""
    for _ in range(row - row_of(dev, plane, stream)):
        pad_page(dev, plane, stream, lpn)
        dev.counters[0].padded_pages += 1


@kernel
def join_writes(dev, die_number, plane, row, first):
    """Let the writes behind the first one join its command, each in a plane of its own.

    Returns:
        The pages of the command, or a negative number when out of space.
    """
    params = dev.params[0]
    members = _bit_of(params, plane)
    last = first
    for pages in range(1, params.planes_per_die):
        number = next_write(dev, die_number)
        if number < 0:
            return pages
        lpn = np.int64(dev.transaction[number].lpn)
        note_written(dev, lpn, dev.slot[dev.transaction[number].slot])
        joined = _joining_plane(dev, die_number, members, lpn, row)
        if joined < 0:
            return pages
        take_write(dev, die_number)
        stream = rule_of_host(dev, joined, lpn)
        _pad(dev, joined, stream, lpn, row)
        if _program_joined(dev, joined, stream, lpn, np.int64(dev.transaction[number].version)) < 0:
            return -1
        dev.counters[0].joined_writes += 1
        members |= _bit_of(params, joined)
        link_pages(dev, last, number)
        last = number
    return np.int64(params.planes_per_die)
