"""How the page family carries out pages of requests without time, and admits them in time."""

import numpy as np

from ssdgym.engine.allocation import allocate_die, emptiest_plane, pass_die, pass_plane
from ssdgym.engine.blocks.manager import ensure_open
from ssdgym.engine.cells import is_over
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import IN_STREAMS, LEVELLING_DUE, LEVELLING_RUNS, MAX_STREAMS, STATIC
from ssdgym.engine.core.status import AGAIN, END_OF_LIFE, NO_WORK, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import PLACE, WRITTEN, is_external, status_of
from ssdgym.engine.loop import lpn_of
from ssdgym.engine.page.buffer import drop_page, hold_page, is_held_in_part, oldest_page, page_to_evict
from ssdgym.engine.page.gc_round import run_round
from ssdgym.engine.page.levelling import levels_next, start_levelling
from ssdgym.engine.page.placement import (
    by_request,
    host_stream,
    note_page,
    note_request,
    plane_for_host,
    replace_page,
    rule_of_host,
)
from ssdgym.engine.page.scheduler import queue_read, queue_write
from ssdgym.engine.page.writes import host_program, host_read, prefetch_requests
from ssdgym.engine.rounds import collect, gc_needed, has_round, is_short, unfinished_plane
from ssdgym.engine.time.transactions import (
    arrived,
    is_partial,
    page_done,
    start_request,
    take_flush_slot,
    take_transaction,
)
from ssdgym.requests import FLUSH

# -- without time


@inlined
def _place_for(dev, lpn):
    """Return the plane a page goes to and the die that is bound (-1: by its number); no cursor moves."""
    params = dev.params[0]
    if params.allocation == STATIC:
        return remainder(lpn, params.planes), np.int64(-1)
    die_number = np.int64(allocate_die(dev))
    plane = plane_for_host(dev, die_number)
    return (plane if plane >= 0 else np.int64(emptiest_plane(dev))), die_number


@inlined
def _pass(dev, plane, die_number):
    """Move the cursors behind the die that is bound, and behind the plane if it is one of that die's."""
    if die_number >= 0:
        pass_die(dev, die_number)
        if remainder(plane, dev.params[0].dies) == die_number:
            pass_plane(dev, plane)


@kernel
def _named_stream(dev, plane, lpn):
    """Return the stream that is named outside for a page, or was for the first one of its request."""
    control, whole = dev.control[0], by_request(dev)
    named = control.request_stream if whole and control.offset > 0 else -1
    stream = host_stream(dev, plane, lpn, named)
    if whole and stream >= 0:
        control.request_stream = stream
    return stream


@inlined
def _program(dev, lpn, partial):
    """Program a page of the host, unless a decision about it is due first."""
    params = dev.params[0]
    control = dev.control[0]
    plane, die_number = _place_for(dev, lpn)
    if is_short(dev, plane):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
        return np.int64(AGAIN)
    version = np.int64(dev.logical[lpn].version + 1)
    replace_page(dev, lpn, version)
    target = _named_stream(dev, plane, lpn) if is_external(dev, PLACE) else rule_of_host(dev, plane, lpn)
    if target < 0:
        return status_of(dev, target)
    status = np.int64(ensure_open(dev, plane, target)) if target < MAX_STREAMS else np.int64(OK)
    if status != OK:
        return status_of(dev, status)
    _pass(dev, plane, die_number)
    if partial and dev.logical[lpn].ppn >= 0:
        host_read(dev, lpn)
        dev.counters[0].rmw_reads += 1
    if host_program(dev, plane, target, lpn, version) < 0:
        return np.int64(OUT_OF_SPACE)
    if gc_needed(params, dev.plane[plane]):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
    return np.int64(OK)


@kernel
def _program_held(dev, lpn):
    """Let a page leave the write buffer, unless a decision about it is due first."""
    note_page(dev, lpn)
    status = np.int64(_program(dev, lpn, is_held_in_part(dev, lpn)))
    if status == OK:
        drop_page(dev, lpn)
    return status


@inlined
def do_write(dev, request):
    """Write the next page of a request, to flash or to the write buffer."""
    if dev.params[0].placement != IN_STREAMS or is_external(dev, PLACE) or dev.decider.hooks & WRITTEN:
        note_request(dev, request)
    lpn, partial = lpn_of(dev, request), is_partial(request, dev.control[0].offset)
    status = np.int64(OK)
    if dev.params[0].buffer_pages == 0:
        status = _program(dev, lpn, partial)
    else:
        leaving = page_to_evict(dev, lpn)
        if leaving >= 0:
            status = np.int64(_program_held(dev, leaving))
        if status == OK:
            hold_page(dev, lpn, np.int64(partial))
    if status == OK:
        dev.control[0].admitted_pages += 1
    return status


@inlined
def do_flush(dev):
    """Let one page leave the write buffer; return whether the flush is over, and the status."""
    leaving = oldest_page(dev)
    return leaving < 0, np.int64(OK) if leaving < 0 else np.int64(_program_held(dev, leaving))


@inlined
def do_work(dev):
    """Carry out one round of foreground GC, or return the decision it needs; NO_WORK where none is due.

    Behind the last one of a plane a round may follow that levels wear.
    """
    control = dev.control[0]
    plane = np.int64(control.gc_plane)
    if plane < 0:
        return np.int64(NO_WORK)
    levelling = dev.plane[plane].levelling
    if levelling == LEVELLING_RUNS or (levelling == LEVELLING_DUE and not has_round(dev, plane)):
        return np.int64(_level(dev, plane))
    status = np.int64(collect(dev))
    if status == OK and control.gc_plane < 0:
        control.gc_plane = _plane_to_follow(dev)
    return status


@inlined
def _plane_to_follow(dev):
    """Return the plane in which wear is levelled behind collection, -1 for none."""
    params = dev.params[0]
    if not params.levels:
        return np.int64(-1)
    for plane in range(np.int64(params.planes)):
        if dev.plane[plane].levelling:
            return plane
    return np.int64(-1)


@kernel
def _level(dev, plane):
    """Carry out the round that levels wear in a plane, if one is wanted, or return the decision it needs."""
    status = np.int64(OK)
    if levels_next(dev, plane):
        status = start_levelling(dev, plane)
    if status == OK:
        status = np.int64(run_round(dev, plane))
    if dev.plane[plane].levelling == 0:
        following = unfinished_plane(dev)
        dev.control[0].gc_plane = following if following >= 0 else _plane_to_follow(dev)
    return np.int64(END_OF_LIFE) if is_over(dev) else status


# -- in time


@inlined
def _admit_for_flash(dev, lpn, partial):
    """Admit a page for flash, for the request in admission."""
    read_first = partial and dev.logical[lpn].ppn >= 0 and dev.in_flight[lpn] == 0
    dev.in_flight[lpn] += 1
    version = dev.logical[lpn].version + dev.in_flight[lpn]
    transaction = take_transaction(dev, lpn, version, dev.control[0].slot, read_first)
    if read_first:
        queue_read(dev, transaction)
    else:
        queue_write(dev, transaction)


@kernel
def _admit_held(dev, lpn):
    """Let a page leave the write buffer."""
    partial = is_held_in_part(dev, lpn)
    drop_page(dev, lpn)
    _admit_for_flash(dev, lpn, partial)


@inlined
def admit_write(dev, request):
    """Admit the next page of a write, for flash or to the write buffer."""
    control = dev.control[0]
    lpn, partial = lpn_of(dev, request), is_partial(request, control.offset)
    control.admitted_pages += 1
    if dev.params[0].buffer_pages == 0:
        _admit_for_flash(dev, lpn, partial)
        return np.int64(OK)
    leaving = page_to_evict(dev, lpn)
    if leaving >= 0:
        _admit_held(dev, leaving)
    hold_page(dev, lpn, np.int64(partial))
    if leaving < 0:
        page_done(dev, np.int64(control.slot))
    return np.int64(OK)


@inlined
def admit_flush(dev):
    """Let the next page of a flush leave the write buffer; behind the last one the flush itself starts."""
    _admit_held(dev, oldest_page(dev))
    if oldest_page(dev) < 0:
        dev.control[0].slot = -1


@kernel
def _start_write_back(dev, request):
    """Give a flush a slot for the pages that the write buffer holds; the flush itself starts after them."""
    dev.control[0].slot = take_flush_slot(dev, request, dev.buffer[0].held)


@inlined
def start_next(dev, requests):
    """Start the next request if it has arrived; a flush writes back what the buffer holds first."""
    control = dev.control[0]
    if not arrived(dev.params[0], control, requests[control.cursor]):
        return np.int64(AGAIN)
    prefetch_requests(dev, requests)
    request = requests[control.cursor]
    if request.op == FLUSH and oldest_page(dev) >= 0:
        _start_write_back(dev, request)
    else:
        start_request(dev, request)
    return np.int64(OK)
