"""The event-driven loop: dispatch, admit, or go on to the next event."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.manager import die_of
from ssdgym.engine.core.kernel import inlined, merged
from ssdgym.engine.core.status import HORIZON, INPUT_ENDED, OK, OUT_OF_TIME, STUCK
from ssdgym.engine.page.mapping import host_trim
from ssdgym.engine.page.scheduler import dispatch, offer_write, queue_read, queue_write, read_ended
from ssdgym.engine.page.untimed_loop import is_partial
from ssdgym.engine.time.commands import READ_PAGE, WRITE_PAGE, channel_event, command_ended
from ssdgym.engine.time.events import NEVER, latest_ns, next_event_ns, take_event, take_ready
from ssdgym.engine.time.transactions import page_done, take_slot, take_transaction, writes_done
from ssdgym.requests import FLUSH, READ, WRITE


@inlined
def _admit_read(dev, geometry, run, lpn):
    run.host_reads += 1
    ppn = np.int64(dev.logical[lpn].ppn)
    if dev.ahead[lpn] > 0:
        run.queue_hits += 1
        page_done(dev, run, np.int64(run.slot))
    elif ppn < 0:
        run.unmapped_reads += 1
        page_done(dev, run, np.int64(run.slot))
    else:
        transaction = take_transaction(dev, run, lpn, 0, run.slot, 0)
        queue_read(dev, geometry, run, die_of(geometry, ppn), transaction)


@inlined
def _admit_write(dev, geometry, run, lpn, partial):
    run.admitted_pages += 1
    ppn = np.int64(dev.logical[lpn].ppn)
    read_first = partial and ppn >= 0 and dev.ahead[lpn] == 0
    dev.ahead[lpn] += 1
    version = dev.logical[lpn].version + dev.ahead[lpn]
    transaction = take_transaction(dev, run, lpn, version, run.slot, read_first)
    if read_first:
        run.rmw_reads += 1
        queue_read(dev, geometry, run, die_of(geometry, ppn), transaction)
    else:
        queue_write(dev, geometry, run, transaction)


@inlined
def _arrived(geometry, run, request):
    """May a request that has not been started be started now?"""
    if request.op == FLUSH and run.outstanding_writes > 0:
        return False
    if geometry.queue_depth > 0:
        return request.op == FLUSH or run.outstanding < geometry.queue_depth
    return request.arrival_ns <= run.now


@inlined
def _next_request(run):
    run.cursor += 1
    run.offset = 0
    run.slot = -1


@inlined
def _start_request(dev, geometry, run, request):
    """Give the request a slot; a flush that may start is over at once."""
    if request.op == FLUSH:
        run.serial += 1
        _next_request(run)
        return
    arrival_ns = run.now if geometry.queue_depth > 0 else request.arrival_ns
    run.slot = take_slot(dev, run, request.op, arrival_ns, request.pages)


@merged
def _admit_page(dev, geometry, run, request):
    """Admit the next page of the request in admission."""
    lpn = np.int64(request.lpn) + run.offset
    if request.op == WRITE:
        _admit_write(dev, geometry, run, lpn, is_partial(request, run.offset))
    elif request.op == READ:
        _admit_read(dev, geometry, run, lpn)
    else:
        host_trim(dev, geometry, run, lpn)
        page_done(dev, run, np.int64(run.slot))
    run.offset += 1
    if run.offset == request.pages:
        _next_request(run)


@merged
def _take_event(dev, geometry, run):
    """Carry out the first event."""
    run.now = next_event_ns(dev, geometry)
    resource = take_event(dev, geometry)
    if resource < geometry.channels:
        channel_event(dev, geometry, run, resource)
        return
    die_number = resource - geometry.channels
    transaction = np.int64(dev.die[die_number].transaction)
    pages = np.int64(dev.die[die_number].pages)
    command = command_ended(dev, geometry, run, die_number)
    if command == READ_PAGE:
        read_ended(dev, geometry, run, transaction)
    elif command == WRITE_PAGE:
        writes_done(dev, run, transaction, pages)


@inlined
def _next_arrival(geometry, run, requests):
    """When the next request arrives, if time alone is what it waits for."""
    blocked = run.slot >= 0 or run.free_transactions == 0 or geometry.queue_depth > 0
    if blocked or run.cursor >= requests.shape[0] or run.admitted_pages >= run.horizon:
        return NEVER
    arrival_ns = requests[run.cursor].arrival_ns
    return arrival_ns if arrival_ns > run.now else NEVER


@merged
def _admission(dev, geometry, run, requests):
    """Admit one page if that is possible now; was it?"""
    if run.free_transactions == 0 or run.cursor >= requests.shape[0] or run.admitted_pages >= run.horizon:
        return False
    request = requests[run.cursor]
    if run.slot < 0:
        if not _arrived(geometry, run, request):
            return False
        _start_request(dev, geometry, run, request)
        if run.slot < 0:
            return True
    _admit_page(dev, geometry, run, request)
    return True


@merged
def _pass_time(dev, geometry, run, requests):
    """Go on to the next event or arrival: OK, STUCK if there is neither, OUT_OF_TIME if it is too late."""
    arrival_ns = _next_arrival(geometry, run, requests)
    event_ns = next_event_ns(dev, geometry)
    if min(event_ns, arrival_ns) >= latest_ns(geometry):
        return STUCK if event_ns == NEVER and arrival_ns == NEVER else OUT_OF_TIME
    if event_ns <= arrival_ns:
        _take_event(dev, geometry, run)
    else:
        run.now = arrival_ns
    return OK


@inlined
def _ending(geometry, run, requests, last):
    """INPUT_ENDED or HORIZON where the run ends now, else OK."""
    ended = run.cursor >= requests.shape[0]
    at_horizon = run.admitted_pages >= run.horizon
    if ended and not last and not at_horizon:
        return INPUT_ENDED
    if (ended or at_horizon) and run.free_transactions == geometry.window_pages:
        return HORIZON if at_horizon else INPUT_ENDED
    return OK


@merged
def advance_timed(dev, requests, last, decider):
    """Run until input or horizon ends and nothing is outstanding, or until a decision is due outside.

    With ``last`` false, the end of ``requests`` stops the device at once: more input is to come.
    """
    geometry = dev.geometry[0]
    run = dev.run[0]
    while True:
        status = OK if run.resumes else _ending(geometry, run, requests, last)
        run.resumes = 0
        if status != OK:
            return status
        if run.ready_count > 0:
            status = dispatch(dev, geometry, run, np.int64(dev.ready[run.ready_head]), decider)
            if status != OK:
                return status
            take_ready(dev, geometry, run)
            continue
        if offer_write(dev, geometry, run):
            continue
        if _admission(dev, geometry, run, requests):
            continue
        status = _pass_time(dev, geometry, run, requests)
        if status != OK:
            return status
