"""Host writes: updates of the maps, and the writes of untimed devices.

All functions take zero simulated time; the scheduler adds the durations of commands.
"""

import numpy as np

from ssdgym.engine import allocation
from ssdgym.engine.blocks.index import prefetch_holder
from ssdgym.engine.blocks.manager import count_invalid, count_valid, ensure_open, invalidate, pad_page, row_of
from ssdgym.engine.cells import is_over
from ssdgym.engine.core.bits import quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel, prefetch
from ssdgym.engine.core.records import IN_STREAMS, LATE, LEVELLING_DUE, LEVELLING_RUNS, MAX_STREAMS, STATIC
from ssdgym.engine.core.status import AGAIN, END_OF_LIFE, NO_WORK, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import PLACE, TRIMMED, WRITTEN, is_external, page_event, status_of
from ssdgym.engine.flash import check_page, plane_of
from ssdgym.engine.loop import lpn_of
from ssdgym.engine.page import placement
from ssdgym.engine.page.collecting import takes_host_pages
from ssdgym.engine.page.gc_round import run_round
from ssdgym.engine.page.levelling import levelling_plane, levels_next, start_levelling
from ssdgym.engine.rounds import collect, gc_needed, has_round, is_short, unfinished_plane
from ssdgym.engine.time.transactions import is_partial, link_pages, mark_queued, pop_write
from ssdgym.requests import WRITE

#: Memory is prefetched for the request that is this number, and twice this number, behind the present one.
_AHEAD = 4


@inlined
def prefetch_requests(dev, requests):
    """Prefetch the memory that the first pages of two later requests need."""
    cursor = dev.control[0].cursor
    if cursor + 2 * _AHEAD >= requests.shape[0]:
        return
    soon, later = requests[cursor + _AHEAD], requests[cursor + 2 * _AHEAD]
    prefetch(dev.logical, np.int64(later.lpn))
    if dev.params[0].timed:
        prefetch(dev.in_flight, np.int64(later.lpn))
    if soon.op == WRITE:
        prefetch_holder(dev, np.int64(soon.lpn))


@inlined
def host_program(dev, plane, target, lpn, version):
    """Program a host page with its admitted version; return the physical page, -1 if no block is free."""
    control, logical = dev.control[0], dev.logical[lpn]
    old = np.int64(-1)
    newest = version > logical.version
    if newest:
        old = np.int64(logical.ppn)
        if old >= 0 and control.replaced_lpn == 0:
            invalidate(dev, control.clock, lpn, old)
        control.replaced_lpn = 0
        count_valid(dev, plane)
    ppn = np.int64(placement.place_page(dev, plane, target, lpn, version, False))
    if ppn < 0:
        return -1
    if newest:
        logical.ppn = ppn
        logical.version = version
    else:
        count_invalid(dev, ppn)
    control.clock += 1
    dev.counters[0].host_pages_written += 1
    control.host_plane = plane
    page_event(dev, WRITTEN, plane, lpn, old, ppn)
    return ppn


@inlined
def host_read(dev, lpn):
    """Read a mapped page from flash, for a read of the host or before a partial write."""
    check_page(dev, lpn, np.int64(dev.logical[lpn].ppn))


@inlined
def is_written(dev, ppn):
    """Return whether a page has been written since its erase."""
    per_sub_block = np.int64(dev.params[0].pages_per_sub_block)
    return ppn % per_sub_block < dev.sub_block[ppn // per_sub_block].written


@kernel
def forget(dev, lpn):
    """Unmap a logical page, and drop its versions under way."""
    logical = dev.logical[lpn]
    old = np.int64(logical.ppn)
    if old >= 0:
        invalidate(dev, dev.control[0].clock, lpn, old)
        logical.ppn = -1
        page_event(dev, TRIMMED, plane_of(dev.params[0], old), lpn, old, np.int64(-1))
    logical.version += dev.in_flight[lpn] + 1
    dev.in_flight[lpn] = 0


# -- untimed


@kernel
def _named_stream(dev, plane, lpn):
    """Return the target chosen outside the engine for a page, or for the first page of the page's request."""
    control, whole = dev.control[0], placement.by_request(dev)
    named = control.request_stream if whole and control.offset > 0 else -1
    stream = placement.host_stream(dev, plane, lpn, named)
    if whole and stream >= 0:
        control.request_stream = stream
    return stream


@inlined
def _write_page(dev, lpn, partial):
    """Program a host page; return OK, AGAIN if GC has to run first, a due decision, or an error."""
    control, params = dev.control[0], dev.params[0]
    if params.allocation == STATIC:
        plane, die_number = remainder(lpn, params.planes), np.int64(-1)
    else:
        die_number = np.int64(allocation.allocate_die(dev))
        plane = placement.plane_for_host(dev, die_number)
        plane = plane if plane >= 0 else np.int64(allocation.emptiest_plane(dev))
    if is_short(dev, plane):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
        return np.int64(AGAIN)
    version = np.int64(dev.logical[lpn].version + 1)
    placement.replace_page(dev, lpn, version)
    target = (
        _named_stream(dev, plane, lpn) if is_external(dev, PLACE) else placement.rule_of_host(dev, plane, lpn)
    )
    if target < 0:
        return status_of(dev, target)
    status = np.int64(ensure_open(dev, plane, target)) if target < MAX_STREAMS else np.int64(OK)
    if status != OK:
        return status_of(dev, status)
    if die_number >= 0:
        allocation.pass_die(dev, die_number)
        if remainder(plane, dev.params[0].dies) == die_number:
            allocation.pass_plane(dev, plane)
    if partial and dev.logical[lpn].ppn >= 0:
        host_read(dev, lpn)
        dev.counters[0].rmw_reads += 1
    if host_program(dev, plane, target, lpn, version) < 0:
        return np.int64(OUT_OF_SPACE)
    if gc_needed(dev.params[0], dev.plane[plane]):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
    return np.int64(OK)


@inlined
def do_write(dev, request):
    """Write the next page of a request; return a status, as `_write_page` does."""
    if dev.params[0].placement != IN_STREAMS or is_external(dev, PLACE) or dev.decider.hooks & WRITTEN:
        placement.note_request(dev, request)
    status = _write_page(dev, lpn_of(dev, request), is_partial(request, dev.control[0].offset))
    if status == OK:
        dev.control[0].admitted_pages += 1
    return status


@inlined
def do_work(dev):
    """Carry out one round of foreground GC; return OK, NO_WORK if none is due, a due decision, or an error.

    After the last GC round of a plane, a levelling round may follow.
    """
    control = dev.control[0]
    plane = np.int64(control.gc_plane)
    if plane < 0:
        return np.int64(NO_WORK)
    levelling = dev.plane[plane].levelling
    if levelling == LEVELLING_RUNS or (levelling == LEVELLING_DUE and not has_round(dev, plane)):
        return np.int64(_level(dev, plane))
    status = np.int64(collect(dev))
    if status == OK and control.gc_plane < 0 and dev.params[0].levels:
        control.gc_plane = levelling_plane(dev, np.int64(0), np.int64(1))
    return status


@kernel
def _level(dev, plane):
    """Decide about levelling in a plane, and carry out the levelling round, if any; return a status."""
    status = np.int64(OK)
    if levels_next(dev, plane):
        status = start_levelling(dev, plane)
    if status == OK:
        status = np.int64(run_round(dev, plane))
    if dev.plane[plane].levelling == 0:
        following = unfinished_plane(dev)
        dev.control[0].gc_plane = (
            following if following >= 0 else levelling_plane(dev, np.int64(0), np.int64(1))
        )
    return np.int64(END_OF_LIFE) if is_over(dev) else status


# -- event-driven


@inlined
def program(dev, plane_number, target, lpn, version):
    """Program a page of a write command; if needed, switch foreground GC on; return the page, or -1."""
    behind = version - dev.logical[lpn].version
    if behind > 0:
        dev.in_flight[lpn] -= behind
    ppn = host_program(dev, plane_number, target, lpn, version)
    plane = dev.plane[plane_number]
    if ppn >= 0 and gc_needed(dev.params[0], plane):
        dev.counters[0].gc_episodes += 1 - plane.collecting
        plane.collecting = 1
    return np.int64(ppn)


@inlined
def next_write(dev, die_number):
    """Return the transaction of the write that a die would start next, -1 if there is none."""
    if dev.params[0].allocation == LATE:
        return np.int64(dev.control[0].write_head)
    return np.int64(dev.die[die_number].write_head)


@inlined
def take_write(dev, die_number):
    """Remove the write that a die starts next from its queue; return its transaction."""
    if dev.params[0].allocation == LATE:  # bound to the die only now
        number = pop_write(dev, dev.control[0])
        mark_queued(dev, die_number, number)
    else:
        number = pop_write(dev, dev.die[die_number])
    return number


@inlined
def _bit_of(params, plane):
    return np.uint64(1) << np.uint64(quotient(plane, params.dies))


@inlined
def _can_join(dev, plane, members, lpn, row):
    """Return whether a write of page `lpn` can join a command, of planes `members`, with row `row`."""
    params = dev.params[0]
    if members & _bit_of(params, plane) or not takes_host_pages(dev, plane):
        return False
    if params.allocation != STATIC and (not allocation.has_room(dev, plane) or is_short(dev, plane)):
        return False
    if is_external(dev, PLACE):  # each page is a decision of its own
        return False
    stream = placement.rule_of_host(dev, plane, lpn)
    if stream < 0:
        return False
    own = row_of(dev, plane, stream)
    return own == row or (own >= 0 and own < row <= own + params.pad_limit)


@inlined
def _joining_plane(dev, die_number, members, lpn, row):
    """Return the plane in which a write of page `lpn` can join a command of row `row`, -1 for none."""
    params = dev.params[0]
    if params.allocation == STATIC:
        plane = remainder(lpn, params.planes)
        return plane if _can_join(dev, plane, members, lpn, row) else np.int64(-1)
    for k in range(params.planes_per_die):
        plane = np.int64(allocation.plane_from_cursor(dev, die_number, k))
        if _can_join(dev, plane, members, lpn, row):
            return plane
    return np.int64(-1)


@kernel
def join_writes(dev, die_number, plane, row, first):
    """Let the next writes, each in another plane, join the command of write `first`.

    Returns the number of pages of the command, or -1 if no block is free.
    """
    params = dev.params[0]
    members = _bit_of(params, plane)
    last = first
    for pages in range(1, params.planes_per_die):
        number = next_write(dev, die_number)
        if number < 0:
            return pages
        lpn = np.int64(dev.transaction[number].lpn)
        placement.note_request(dev, dev.slot[dev.transaction[number].slot])
        joined = _joining_plane(dev, die_number, members, lpn, row)
        if joined < 0:
            return pages
        stream = placement.rule_of_host(dev, joined, lpn)
        ensure_open(dev, joined, stream)  # cannot fail, since the plane has a row
        for _ in range(row - row_of(dev, joined, stream)):  # pad, since the plane lags
            pad_page(dev, joined, stream, lpn)
        if ensure_open(dev, joined, stream) != OK:
            return pages
        take_write(dev, die_number)
        ppn = program(dev, joined, stream, lpn, np.int64(dev.transaction[number].version))
        if ppn < 0:
            return -1
        dev.counters[0].joined_writes += 1
        members |= _bit_of(params, joined)
        link_pages(dev, last, number)
        last = number
    return np.int64(params.planes_per_die)
