"""The event-driven loop: dispatch, admit, or go on to the next event."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.block.scheduler import dispatch, queue_read, queue_write, read_ended
from ssdgym.engine.block.writes import trim
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import OK
from ssdgym.engine.time.events import READ_PAGE, WRITE_PAGE, take_ready
from ssdgym.engine.time.transactions import (
    EVENT,
    arrived,
    carry_out_event,
    ending,
    is_partial,
    may_admit,
    next_request,
    note_parts,
    page_done,
    pass_time,
    start_request,
    take_transaction,
    transaction_done,
)
from ssdgym.requests import READ, WRITE


@inlined
def _admit_read(dev, lpn):
    control = dev.control[0]
    dev.counters[0].host_reads += 1
    if dev.promised[lpn] > 0:
        dev.counters[0].queue_hits += 1
        page_done(dev, np.int64(control.slot))
    elif dev.logical[lpn].ppn < 0:
        dev.counters[0].unmapped_reads += 1
        page_done(dev, np.int64(control.slot))
    else:
        queue_read(dev, take_transaction(dev, lpn, 0, control.slot, 0))


@inlined
def _admit_write(dev, lpn, partial):
    control = dev.control[0]
    control.admitted_pages += 1
    read_first = partial and dev.logical[lpn].ppn >= 0 and dev.promised[lpn] == 0
    dev.promised[lpn] += 1
    version = dev.logical[lpn].version + dev.promised[lpn]
    number = take_transaction(dev, lpn, version, control.slot, read_first)
    if read_first:
        queue_read(dev, number)
    else:
        queue_write(dev, number)


@inlined
def _admit_page(dev, request):
    """Admit the next page of the request in admission."""
    control = dev.control[0]
    lpn = np.int64(request.lpn) + control.offset
    if request.op == WRITE:
        _admit_write(dev, lpn, is_partial(request, control.offset))
    elif request.op == READ:
        _admit_read(dev, lpn)
    else:
        trim(dev, lpn)
        page_done(dev, np.int64(control.slot))
    control.offset += 1
    if control.offset == request.pages:
        next_request(control)


@inlined
def _take_event(dev):
    """Carry out the first event."""
    command, die_number = carry_out_event(dev)
    if command != READ_PAGE and command != WRITE_PAGE:
        return
    number = np.int64(dev.die[die_number].transaction)
    note_parts(dev, die_number, number, np.int64(dev.transaction[number].slot))
    if command == READ_PAGE:
        read_ended(dev, number)
    else:
        transaction_done(dev, number)


@inlined
def run_timed(dev, requests, last):
    """Run until input or horizon ends and nothing is outstanding, or until a decision is due outside.

    With `last` false, the end of `requests` stops the device at once: more input is to come.
    """
    params = dev.params[0]
    control = dev.control[0]
    while True:
        status = np.int64(OK if control.resumes else ending(params, control, requests, last))
        control.resumes = 0
        if status != OK:
            return status
        if control.slot >= 0 and may_admit(control, requests, 1):
            _admit_page(dev, requests[control.cursor])
            continue
        if control.ready_count > 0:
            status = dispatch(dev, np.int64(dev.ready[control.ready_head]))
            if status != OK:
                return status
            take_ready(dev)
            continue
        if may_admit(control, requests, 1) and arrived(params, control, requests[control.cursor]):
            start_request(dev, requests[control.cursor])
            continue
        status = np.int64(pass_time(dev, requests, 1))
        if status == EVENT:
            _take_event(dev)
        elif status != OK:
            return status
