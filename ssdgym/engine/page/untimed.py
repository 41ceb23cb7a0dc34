"""How the page family carries out pages of requests without time, counting only."""

import numpy as np

from ssdgym.engine.allocation import allocate_die, emptiest_plane, pass_die, pass_plane
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import BY_RULE, STATIC
from ssdgym.engine.core.status import NO_WORK, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import PLACE, WRITTEN, is_external, status_of
from ssdgym.engine.erase.legality import gc_unfinished
from ssdgym.engine.page.buffer import (
    drop_page,
    hold_page,
    is_held_in_part,
    oldest_page,
    page_to_evict,
    serve_read,
)
from ssdgym.engine.page.gc_round import run_round
from ssdgym.engine.page.placement import by_request, host_stream, note_page, note_request, plane_for_host
from ssdgym.engine.page.writes import host_program, host_read, host_trim, prefetch_requests
from ssdgym.engine.rounds import ensure_round, gc_needed
from ssdgym.engine.time.transactions import is_partial, pass_request
from ssdgym.requests import FLUSH, READ, WRITE


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


@inlined
def _send_to_flash(dev, lpn, partial):
    """Program a page of the host, unless a decision about it is due first."""
    params = dev.params[0]
    control = dev.control[0]
    plane, die_number = _place_for(dev, lpn)
    named = control.request_stream if by_request(dev) and control.offset > 0 else -1
    stream = host_stream(dev, plane, lpn, named)
    if stream < 0:
        return status_of(dev, stream)
    if by_request(dev):
        control.request_stream = stream
    _pass(dev, plane, die_number)
    if partial and dev.logical[lpn].ppn >= 0:
        host_read(dev, lpn)
        dev.counters[0].rmw_reads += 1
    if host_program(dev, plane, stream, lpn, dev.logical[lpn].version + 1) < 0:
        return np.int64(OUT_OF_SPACE)
    if gc_needed(params, dev.plane[plane]):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
    return np.int64(OK)


@kernel
def _write_back(dev, lpn):
    """Let a page leave the write buffer, unless a decision about it is due first."""
    note_page(dev, lpn)
    status = np.int64(_send_to_flash(dev, lpn, is_held_in_part(dev, lpn)))
    if status == OK:
        drop_page(dev, lpn)
    return status


@inlined
def _write_page(dev, lpn, partial):
    status = np.int64(OK)
    if dev.params[0].buffer_pages == 0:
        status = _send_to_flash(dev, lpn, partial)
    else:
        leaving = page_to_evict(dev, lpn)
        if leaving >= 0:
            status = np.int64(_write_back(dev, leaving))
        if status == OK:
            hold_page(dev, lpn, np.int64(partial))
    if status == OK:
        dev.control[0].admitted_pages += 1
    return status


@inlined
def _flush(dev):
    """Let one page leave the write buffer; return whether the flush is over, and the status."""
    leaving = oldest_page(dev)
    return leaving < 0, np.int64(OK) if leaving < 0 else np.int64(_write_back(dev, leaving))


@inlined
def _read_page(dev, lpn):
    dev.counters[0].host_reads += 1
    if serve_read(dev, lpn):
        return
    if dev.logical[lpn].ppn >= 0:
        host_read(dev, lpn)
    else:
        dev.counters[0].unmapped_reads += 1


@inlined
def _do_page(dev, request):
    """Carry out the next page of a request."""
    control = dev.control[0]
    lpn = np.int64(request.lpn) + control.offset
    status = np.int64(OK)
    if request.op == WRITE:
        if dev.params[0].placement == BY_RULE or is_external(dev, PLACE) or dev.decider.hooks & WRITTEN:
            note_request(dev, request)
        status = _write_page(dev, lpn, is_partial(request, control.offset))
    elif request.op == READ:
        _read_page(dev, lpn)
    else:
        host_trim(dev, lpn)
    if status == OK:
        control.offset += 1
    return status


@inlined
def do_work(dev):
    """Carry out one round of foreground GC, or return the decision it needs; NO_WORK where none is due."""
    control = dev.control[0]
    number = np.int64(control.gc_plane)
    if number < 0:
        return np.int64(NO_WORK)
    status = ensure_round(dev, number)
    if status == OK:
        status = run_round(dev, number)
    if status == OK and not gc_unfinished(dev.params[0], dev.plane[number]):
        control.gc_plane = -1
    return status


@inlined
def do_next(dev, requests):
    """Carry out the next page of a request, or a flush."""
    control = dev.control[0]
    request = requests[control.cursor]
    prefetch_requests(dev, requests)
    if request.op == FLUSH:
        over, status = _flush(dev)
    else:
        status = _do_page(dev, request)
        over = control.offset == request.pages
    if over:
        pass_request(control)
    return status
